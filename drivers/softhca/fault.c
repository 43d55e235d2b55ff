/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults on demand: a list of what shall go wrong, from softhca_fault() and from a control file.
 *
 * One lock guards the list. It is taken only while there are faults, and nothing waits under it.
 */
#include "fault.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "softhca.h"

_Atomic unsigned int machine_bits;

#define FAULTS_MAX   64
#define FILE_LOOK_NS 10000000 /* between looks at the control file, on the data path */
#define LINE_LEN     256

#define EVENT_DEVICE_FATAL 8 /* IBV_EVENT_DEVICE_FATAL and its neighbours */
#define EVENT_PORT_ACTIVE  9
#define EVENT_PORT_ERR     10

struct fault {
	enum fault_kind kind;
	uint64_t op;    /* the first operation that it hits, from 1; 0: at once */
	uint64_t times; /* how many it hits */
	uint64_t qp;    /* 0: any */
	uint64_t syndrome, vendor, ms, port, device, error;
	int call; /* index of calls[] */
	uint64_t seen;
	bool of_file;
};

struct device_faults {
	bool down[SOFTHCA_MAX_PORTS];
	uint64_t up_at[SOFTHCA_MAX_PORTS]; /* device time; 0: by a fault of its own */
	_Atomic unsigned int down_bits;
	atomic_bool dead;
	struct {
		uint32_t type, port;
	} events[8]; /* not delivered yet */
	unsigned int n_events;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fault faults[FAULTS_MAX];
static unsigned int n_faults;
static struct device_faults devices[SOFTHCA_MAX_DEVICES];
static struct {
	const char *path;
	struct timespec mtime;
	off_t size;
	ino_t ino;
	uint64_t looked_at;
} file;

/* ---- the language */

static const struct {
	const char *name;
	int object, method;
	int write_cmd, write_cmd2; /* of INVOKE_WRITE, or -1 */
	bool ends;                 /* ends an object: also where the device is dead */
} calls[] = {
	{"alloc_pd", -1, 0, IB_USER_VERBS_CMD_ALLOC_PD, -1, false},
	{"reg_mr", -1, 0, IB_USER_VERBS_CMD_REG_MR, -1, false},
	{"rereg_mr", -1, 0, IB_USER_VERBS_CMD_REREG_MR, -1, false},
	{"create_ah", -1, 0, IB_USER_VERBS_CMD_CREATE_AH, -1, false},
	{"modify_qp", -1, 0, IB_USER_VERBS_CMD_MODIFY_QP, IB_USER_VERBS_EX_CMD_MODIFY_QP, false},
	{"query_qp", -1, 0, IB_USER_VERBS_CMD_QUERY_QP, -1, false},
	{"create_cq", UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, -1, -1, false},
	{"create_qp", UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, -1, -1, false},
	{"alloc_uar", MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, -1, -1, false},
	{"devx", MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, -1, -1, false},
	{"destroy_cq", UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, -1, -1, true},
	{"destroy_qp", UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, -1, -1, true},
	{"dereg_mr", UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, -1, -1, true},
	{"dealloc_pd", UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, -1, -1, true},
};

#define N_CALLS ((int)(sizeof(calls) / sizeof(calls[0])))

enum fault_key {
	KEY_OP = 1 << 0,
	KEY_TIMES = 1 << 1,
	KEY_QP = 1 << 2,
	KEY_SYNDROME = 1 << 3,
	KEY_VENDOR = 1 << 4,
	KEY_MS = 1 << 5,
	KEY_PORT = 1 << 6,
	KEY_DEVICE = 1 << 7,
	KEY_ERRNO = 1 << 8,
	KEY_CALL = 1 << 9
};

#define KEYS_OF_OP (KEY_OP | KEY_TIMES | KEY_QP | KEY_DEVICE)

static const struct {
	const char *name;
	unsigned int may, must;
	const char *form; /* for the error that names a malformed line */
} kinds[FAULT_N_KINDS] = {
	[FAULT_COMPLETE] = {"complete", KEYS_OF_OP | KEY_SYNDROME | KEY_VENDOR, KEY_SYNDROME,
		"complete syndrome=1..255 [vendor=0..255] [op=N] [times=N] [qp=N]"},
	[FAULT_DROP] = {"drop", KEYS_OF_OP, 0, "drop [op=N] [times=N] [qp=N]"},
	[FAULT_LATE] = {"late", KEYS_OF_OP | KEY_MS, KEY_MS, "late ms=N [op=N] [times=N] [qp=N]"},
	[FAULT_QP_FATAL] = {"qp_fatal", KEYS_OF_OP, 0, "qp_fatal [op=N] [times=N] [qp=N]"},
	[FAULT_CQ_OVERRUN] = {"cq_overrun", KEYS_OF_OP, 0, "cq_overrun [op=N] [times=N] [qp=N]"},
	[FAULT_SQ_DRAINED] = {"sq_drained", KEYS_OF_OP, 0, "sq_drained [op=N] [times=N] [qp=N]"},
	[FAULT_PORT_DOWN] = {"port_down", KEY_OP | KEY_QP | KEY_MS | KEY_PORT | KEY_DEVICE, 0,
		"port_down [port=N] [ms=N] [op=N] [qp=N] [device=N]"},
	[FAULT_PORT_UP] = {"port_up", KEY_PORT | KEY_DEVICE, 0, "port_up [port=N] [device=N]"},
	[FAULT_DEVICE_FATAL] = {"device_fatal", KEY_OP | KEY_QP | KEY_DEVICE, 0,
		"device_fatal [op=N] [qp=N] [device=N]"},
	[FAULT_REFUSE] = {"refuse", KEY_CALL | KEY_ERRNO | KEY_OP | KEY_TIMES | KEY_DEVICE,
		KEY_CALL | KEY_ERRNO, "refuse call=NAME errno=1..133 [op=N] [times=N]"},
};

struct parser {
	struct fault fault;
	unsigned int given;
	char err[512];
};

static bool
parse_number(const char *text, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*out = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	return errno == 0 && *end == '\0';
}

static bool
parse_call(struct parser *p, const char *value)
{
	int n;

	for (p->fault.call = 0; p->fault.call < N_CALLS; p->fault.call++)
		if (strcmp(calls[p->fault.call].name, value) == 0)
			return true;
	n = snprintf(p->err, sizeof(p->err), "no call \"%s\"; there are:", value);
	for (int i = 0; i < N_CALLS && n < (int)sizeof(p->err); i++)
		n += snprintf(p->err + n, sizeof(p->err) - (size_t)n, " %s", calls[i].name);
	return false;
}

static bool
parse_pair(struct parser *p, const char *name, const char *value)
{
	struct fault *f = &p->fault;
	const struct {
		const char *name;
		enum fault_key key;
		uint64_t *to, min, max;
	} keys[] = {
		{"op", KEY_OP, &f->op, 1, UINT64_MAX},
		{"times", KEY_TIMES, &f->times, 1, UINT64_MAX},
		{"qp", KEY_QP, &f->qp, 1, 0xffffff},
		{"syndrome", KEY_SYNDROME, &f->syndrome, 1, 255},
		{"vendor", KEY_VENDOR, &f->vendor, 0, 255},
		{"ms", KEY_MS, &f->ms, 1, 3600000},
		{"port", KEY_PORT, &f->port, 1, SOFTHCA_MAX_PORTS},
		{"device", KEY_DEVICE, &f->device, 0, SOFTHCA_MAX_DEVICES - 1},
		{"errno", KEY_ERRNO, &f->error, 1, 133},
	};

	if (strcmp(name, "call") == 0 && (kinds[f->kind].may & KEY_CALL) != 0) {
		p->given |= KEY_CALL;
		return parse_call(p, value);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(keys[i].name, name) != 0 || (kinds[f->kind].may & keys[i].key) == 0)
			continue;
		p->given |= keys[i].key;
		if (parse_number(value, keys[i].to) && *keys[i].to >= keys[i].min &&
			*keys[i].to <= keys[i].max)
			return true;
		snprintf(p->err, sizeof(p->err), "%s=%s: not a number from %llu to %llu", name,
			value, (unsigned long long)keys[i].min, (unsigned long long)keys[i].max);
		return false;
	}
	snprintf(p->err, sizeof(p->err), "\"%s\" is not a part of: %s", name, kinds[f->kind].form);
	return false;
}

static bool
parse_kind(struct parser *p, const char *word)
{
	int n;

	for (int k = 1; k < FAULT_N_KINDS; k++) {
		if (strcmp(kinds[k].name, word) == 0) {
			p->fault.kind = (enum fault_kind)k;
			return true;
		}
	}
	n = snprintf(p->err, sizeof(p->err), "no fault \"%s\"; there are:", word);
	for (int k = 1; k < FAULT_N_KINDS && n < (int)sizeof(p->err); k++)
		n += snprintf(p->err + n, sizeof(p->err) - (size_t)n, " %s", kinds[k].name);
	return false;
}

/* 1: a fault; 0: an empty line or a comment; -EINVAL: p->err says what is wrong. */
static int
parse_line(struct parser *p, const char *text)
{
	char line[LINE_LEN], *save = NULL, *word;

	*p = (struct parser){.fault = {.times = 1, .port = 1, .call = -1}};
	if (strlen(text) >= sizeof(line)) {
		snprintf(p->err, sizeof(p->err), "longer than %d bytes", LINE_LEN - 1);
		return -EINVAL;
	}
	strcpy(line, text);
	line[strcspn(line, "#\n")] = '\0';
	for (word = strtok_r(line, " \t\r", &save); word != NULL;
		word = strtok_r(NULL, " \t\r", &save)) {
		char *eq = strchr(word, '=');

		if (p->fault.kind == FAULT_NONE) {
			if (!parse_kind(p, word))
				return -EINVAL;
			continue;
		}
		if (eq == NULL) {
			snprintf(p->err, sizeof(p->err), "\"%s\" is not NAME=VALUE", word);
			return -EINVAL;
		}
		*eq = '\0';
		if (!parse_pair(p, word, eq + 1))
			return -EINVAL;
	}
	if (p->fault.kind == FAULT_NONE)
		return 0;
	if ((kinds[p->fault.kind].must & ~p->given) != 0) {
		snprintf(p->err, sizeof(p->err), "incomplete; it is: %s",
			kinds[p->fault.kind].form);
		return -EINVAL;
	}
	return 1;
}

/* ---- the list; lock held */

static bool
is_of_ops(const struct fault *f)
{
	return f->kind != FAULT_REFUSE && f->kind != FAULT_PORT_UP && f->op != 0;
}

static void
update_bits(void)
{
	unsigned int bits = file.path != NULL ? MACHINE_TICK | MACHINE_CALLS : 0;
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);

	for (unsigned int i = 0; i < n_faults; i++)
		bits |= faults[i].kind == FAULT_REFUSE ? MACHINE_CALLS : MACHINE_OPS;
	for (unsigned int d = 0; d < n; d++) {
		if (timing_is_on(devs[d].cfg))
			bits |= MACHINE_OPS;
		if (devices[d].down_bits != 0)
			bits |= MACHINE_OPS | MACHINE_TICK;
		if (devices[d].dead)
			bits |= MACHINE_OPS | MACHINE_CALLS;
		if (devices[d].n_events != 0)
			bits |= MACHINE_TICK;
	}
	atomic_store(&machine_bits, bits);
}

static void
add_event(struct device_faults *d, uint32_t type, uint32_t port)
{
	if (d->n_events == sizeof(d->events) / sizeof(d->events[0]))
		return;
	d->events[d->n_events].type = type;
	d->events[d->n_events++].port = port;
}

static void
port_set(struct device_faults *d, uint32_t port, bool down, uint64_t up_at)
{
	if (d->down[port - 1] != down)
		add_event(d, down ? EVENT_PORT_ERR : EVENT_PORT_ACTIVE, port);
	d->down[port - 1] = down;
	d->up_at[port - 1] = up_at;
	if (down)
		atomic_fetch_or(&d->down_bits, 1u << (port - 1));
	else
		atomic_fetch_and(&d->down_bits, ~(1u << (port - 1)));
}

/* What a fault does to a whole adapter. */
static void
strike_device(const struct fault *f, unsigned int device)
{
	struct device_faults *d = &devices[device];

	switch (f->kind) {
	case FAULT_PORT_DOWN:
		port_set(d, (uint32_t)f->port, true,
			f->ms != 0 ? device_clock() + f->ms * 1000000 : 0);
		break;
	case FAULT_PORT_UP:
		port_set(d, (uint32_t)f->port, false, 0);
		break;
	case FAULT_DEVICE_FATAL:
		if (!atomic_exchange(&d->dead, true))
			add_event(d, EVENT_DEVICE_FATAL, 1);
		break;
	default:
		break;
	}
}

static bool
is_of_device(enum fault_kind kind)
{
	return kind == FAULT_PORT_DOWN || kind == FAULT_PORT_UP || kind == FAULT_DEVICE_FATAL;
}

static int
add_fault(const struct fault *f)
{
	struct fault armed = *f;

	if (is_of_device(f->kind) && f->op == 0) {
		strike_device(f, (unsigned int)f->device);
		return 0;
	}
	if (n_faults == FAULTS_MAX)
		return -ENOSPC;
	if (armed.op == 0)
		armed.op = 1;
	faults[n_faults++] = armed;
	return 0;
}

/* Counts what matches; true where it is this one's turn. A fault that is spent leaves the list. */
static bool
fault_counts(unsigned int i)
{
	struct fault *f = &faults[i];
	uint64_t seen = ++f->seen;

	if (seen < f->op)
		return false;
	if (seen - f->op + 1 >= f->times) {
		memmove(f, f + 1, (n_faults - i - 1) * sizeof(*f));
		n_faults--;
	}
	return true;
}

static void
drop_faults(bool of_file_only)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < n_faults; i++)
		if (of_file_only && !faults[i].of_file)
			faults[kept++] = faults[i];
	n_faults = kept;
}

/* ---- the control file; lock held */

/* All lines are good, or none counts. */
static void
file_read(void)
{
	static struct fault read[FAULTS_MAX];
	unsigned int n = 0, n_line = 0;
	char line[LINE_LEN + 2];
	struct parser p;
	FILE *f = fopen(file.path, "re");
	int rc = 0;

	drop_faults(true);
	while (f != NULL && rc >= 0 && fgets(line, sizeof(line), f) != NULL) {
		n_line++;
		rc = parse_line(&p, line);
		if (rc > 0 && n < FAULTS_MAX) {
			p.fault.of_file = true;
			read[n++] = p.fault;
		}
	}
	if (f != NULL)
		fclose(f);
	if (rc < 0) {
		softhca_log("%s:%u: %s; no fault of this file is armed", file.path, n_line, p.err);
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		if (add_fault(&read[i]) != 0)
			softhca_log("%s: more than %d faults are armed: some are not", file.path,
				FAULTS_MAX);
}

static void
file_look(void)
{
	struct statx st;

	if (statx(AT_FDCWD, file.path, 0, STATX_BASIC_STATS, &st) != 0)
		memset(&st, 0, sizeof(st));
	if (st.stx_mtime.tv_sec == file.mtime.tv_sec &&
		(long)st.stx_mtime.tv_nsec == file.mtime.tv_nsec &&
		(off_t)st.stx_size == file.size && (ino_t)st.stx_ino == file.ino)
		return;
	file.mtime.tv_sec = st.stx_mtime.tv_sec;
	file.mtime.tv_nsec = (long)st.stx_mtime.tv_nsec;
	file.size = (off_t)st.stx_size;
	file.ino = (ino_t)st.stx_ino;
	file_read();
}

static void __attribute__((constructor)) find_file(void)
{
	const char *path = getenv("SOFTHCA_FAULTS");

	if (path == NULL || *path == '\0')
		return;
	file.path = path;
	atomic_fetch_or(&machine_bits, MACHINE_TICK | MACHINE_CALLS);
}

/* ---- what the rest of the adapter asks */

static void
deliver_events(struct softhca_dev *dev, struct device_faults *d)
{
	/* The list of contexts may be busy: then again in the next turn. */
	while (d->n_events != 0 &&
		softhca_event_device(dev, d->events[0].type, d->events[0].port)) {
		d->n_events--;
		memmove(d->events, d->events + 1, d->n_events * sizeof(d->events[0]));
	}
}

void
fault_tick(struct softhca_dev *dev, bool from_call)
{
	struct device_faults *d = &devices[dev->index];
	uint64_t now = device_clock();

	if (pthread_mutex_trylock(&lock) != 0)
		return;
	if (file.path != NULL && (from_call || now - file.looked_at >= FILE_LOOK_NS)) {
		file.looked_at = now;
		file_look();
	}
	for (unsigned int port = 1; port <= SOFTHCA_MAX_PORTS; port++)
		if (d->up_at[port - 1] != 0 && now >= d->up_at[port - 1])
			port_set(d, port, false, 0);
	if (!from_call)
		deliver_events(dev, d);
	update_bits();
	pthread_mutex_unlock(&lock);
}

struct fault_hit
fault_next(struct softhca_qp *qp)
{
	struct fault_hit hit = {.kind = FAULT_NONE};

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < n_faults; i++) {
		const struct fault f = faults[i];

		if (!is_of_ops(&f) || (f.qp != 0 && f.qp != qp->number) ||
			f.device != qp->dev->index || !fault_counts(i))
			continue;
		if (is_of_device(f.kind)) {
			strike_device(&f, qp->dev->index);
		} else {
			hit = (struct fault_hit){f.kind, (uint8_t)f.syndrome, (uint8_t)f.vendor,
				f.ms * 1000000};
		}
		break;
	}
	update_bits();
	pthread_mutex_unlock(&lock);
	return hit;
}

int
fault_refuses(struct softhca_dev *dev, uint16_t object, uint16_t method, int64_t write_cmd)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	for (int c = 0; c < N_CALLS && rc == 0; c++) {
		bool is_write = calls[c].object < 0;

		if (is_write ? write_cmd < 0 || (calls[c].write_cmd != write_cmd &&
							calls[c].write_cmd2 != write_cmd)
			     : write_cmd >= 0 || calls[c].object != object ||
					calls[c].method != method)
			continue;
		for (unsigned int i = 0; i < n_faults && rc == 0; i++) {
			const struct fault f = faults[i];

			if (f.kind == FAULT_REFUSE && f.call == c && f.device == dev->index &&
				fault_counts(i))
				rc = -(int)f.error;
		}
		if (rc == 0 && devices[dev->index].dead && !calls[c].ends)
			rc = -EIO;
	}
	update_bits();
	pthread_mutex_unlock(&lock);
	return rc;
}

bool
fault_port_is_down(const struct softhca_dev *dev, unsigned int port)
{
	return port != 0 && (devices[dev->index].down_bits >> (port - 1) & 1) != 0;
}

bool
fault_device_is_dead(const struct softhca_dev *dev)
{
	return devices[dev->index].dead;
}

/* ---- the public calls */

int
softhca_fault(const char *line)
{
	struct parser p;
	int rc = parse_line(&p, line);

	if (rc < 0) {
		softhca_log("fault \"%s\": %s", line, p.err);
		return rc;
	}
	if (rc == 0)
		return 0;
	pthread_mutex_lock(&lock);
	rc = add_fault(&p.fault);
	update_bits();
	pthread_mutex_unlock(&lock);
	return rc;
}

unsigned int
softhca_faults_left(void)
{
	unsigned int n;

	pthread_mutex_lock(&lock);
	n = n_faults;
	pthread_mutex_unlock(&lock);
	return n;
}

void
softhca_faults_clear(void)
{
	pthread_mutex_lock(&lock);
	drop_faults(false);
	for (unsigned int d = 0; d < SOFTHCA_MAX_DEVICES; d++) {
		for (unsigned int port = 1; port <= SOFTHCA_MAX_PORTS; port++)
			port_set(&devices[d], port, false, 0);
		devices[d].n_events = 0;
		atomic_store(&devices[d].dead, false);
	}
	update_bits();
	pthread_mutex_unlock(&lock);
}
