/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults on demand: the list of faults that softhca_fault() and the control file have armed.
 *
 * One lock protects the list. It is taken only while faults are armed or the control file is read,
 * and its holder never blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "counters.h"
#include "dev.h"
#include "devices.h"
#include "fault_line.h"
#include "fault_notify.h"
#include "log.h"
#include "raw.h"
#include "softhca.h"
#include "timing.h"
#include "wake.h"

_Atomic unsigned int fault_watch_bits;

#define FAULTS_MAX   64
#define FILE_LOOK_NS 10000000 /* ns between two checks of the control file by lanes */

#define EVENT_DEVICE_FATAL 8 /* IBV_EVENT_DEVICE_FATAL; types of events are the numbers of verbs */
#define EVENT_PORT_ACTIVE  9
#define EVENT_PORT_ERR     10

struct device_faults {
	bool down[SOFTHCA_MAX_PORTS];
	/* Device time at which the port comes up; 0: only another fault brings it up. */
	uint64_t up_at[SOFTHCA_MAX_PORTS];
	_Atomic unsigned int down_bits;
	atomic_bool dead;
	struct {
		uint32_t type, port;
	} events[8]; /* events that are not delivered yet */
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
	int notify;   /* descriptor of fault_notify.h, or -1 */
	bool changed; /* inotify has reported a change */
} file = {.notify = -1};

/* ---- the list; lock held */

static bool
is_of_ops(const struct fault *f)
{
	return f->kind != FAULT_REFUSE && f->kind != FAULT_PORT_UP && f->op != 0;
}

static bool
is_of_receives(enum fault_kind kind)
{
	return kind == FAULT_RECV_COMPLETE || kind == FAULT_RECV_DROP || kind == FAULT_RECV_LATE;
}

/* True if a setting requires a check of each WQE before the WQE runs. */
static bool
watches_wqes(const struct softhca_config *cfg)
{
	return timing_is_on(cfg) || cfg->reorder != 0 || cfg->sig_stop != 0;
}

static void
update_bits(void)
{
	unsigned int bits = file.path != NULL ? WATCH_TURNS | WATCH_CALLS : 0;
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);

	for (unsigned int i = 0; i < n_faults; i++)
		bits |= faults[i].kind == FAULT_REFUSE ? WATCH_CALLS
						       : WATCH_WQES | WATCH_OPERATIONS;
	for (unsigned int d = 0; d < n; d++) {
		if (watches_wqes(devs[d].cfg))
			bits |= WATCH_WQES;
		if (devices[d].down_bits != 0)
			bits |= WATCH_WQES | WATCH_TURNS;
		if (devices[d].dead)
			bits |= WATCH_WQES | WATCH_CALLS;
		if (devices[d].n_events != 0)
			bits |= WATCH_TURNS;
	}
	atomic_store(&fault_watch_bits, bits);
}

static void
add_event(struct device_faults *d, uint32_t type, uint32_t port)
{
	if (d->n_events == sizeof(d->events) / sizeof(d->events[0]))
		return;
	d->events[d->n_events].type = type;
	d->events[d->n_events++].port = port;
}

/* Stops or revives an adapter. Other adapters look at dev->dead: key/alias.c. */
static void
dead_set(struct device_faults *d, bool dead)
{
	unsigned int n, device = (unsigned int)(d - devices);
	struct softhca_dev *devs = softhca_devices(&n);

	if (dead && !d->dead)
		add_event(d, EVENT_DEVICE_FATAL, 1);
	atomic_store(&d->dead, dead);
	if (device < n)
		atomic_store(&devs[device].dead, dead);
}

static void
port_set(struct device_faults *d, uint32_t port, bool down, uint64_t up_at)
{
	unsigned int n, device = (unsigned int)(d - devices);
	const struct softhca_dev *devs = softhca_devices(&n);

	if (down && !d->down[port - 1] && device < n)
		counters_add(&devs[device], port, COUNTER_LINK_DOWNED);
	if (d->down[port - 1] != down)
		add_event(d, down ? EVENT_PORT_ERR : EVENT_PORT_ACTIVE, port);
	d->down[port - 1] = down;
	d->up_at[port - 1] = up_at;
	if (down)
		atomic_fetch_or(&d->down_bits, 1u << (port - 1));
	else
		atomic_fetch_and(&d->down_bits, ~(1u << (port - 1)));
}

/* Applies a fault that concerns a whole adapter. */
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
		dead_set(d, true);
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

/*
 * If the setting log_faults is 1, logs that a fault was applied. If qpn is 0, the fault concerns no
 * queue pair.
 */
static void
say_strike(const struct softhca_dev *dev, const struct fault *f, uint32_t qpn)
{
	const char *what = is_of_receives(f->kind) ? "a receive" : "an operation";

	if (f->kind == FAULT_NONE || dev->cfg->log_faults == 0)
		return;
	if (qpn == 0)
		softhca_log("mlx5_%u: the fault \"%s\" strikes", dev->index, f->text);
	else
		softhca_log("mlx5_%u: the fault \"%s\" strikes %s of QP 0x%x", dev->index, f->text,
			what, qpn);
}

static int
add_fault(const struct fault *f)
{
	struct fault armed = *f;
	unsigned int n;
	const struct softhca_dev *devs = softhca_devices(&n);

	if (is_of_device(f->kind) && f->op == 0) {
		strike_device(f, (unsigned int)f->device);
		if (f->device < n)
			say_strike(&devs[f->device], f, 0);
		return 0;
	}
	if (n_faults == FAULTS_MAX)
		return -ENOSPC;
	if (armed.op == 0)
		armed.op = 1;
	faults[n_faults++] = armed;
	return 0;
}

/*
 * Counts an operation that matches fault i. Returns true if the fault is applied to the operation.
 * A fault that has been applied as often as its line says is removed from the list.
 */
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

/* Reads a line, as fault_parse(). Refuses a line whose adapter or port does not exist. */
static int
parse_line(struct fault_parser *p, const char *line)
{
	unsigned int n;
	const struct softhca_dev *devs = softhca_devices(&n);
	int rc = fault_parse(p, line), missing = 0;

	if (rc > 0)
		missing = fault_check_place(p, n, n != 0 ? devs[0].cfg->ports : 0);
	return missing != 0 ? missing : rc;
}

/* ---- the control file; lock held */

/*
 * Reads the faults of the file into list[0..n). Returns 0, or -errno if the file cannot be opened
 * or has a bad line. A bad line makes the whole file invalid. err is the reason.
 */
static int
file_parse(struct fault list[FAULTS_MAX], unsigned int *n, char err[FAULT_FILE_ERR_LEN])
{
	char line[FAULT_LINE_LEN + 2];
	unsigned int n_line = 0;
	struct fault_parser p;
	FILE *f = raw_fopen(file.path);
	int rc = 0;

	*n = 0;
	if (f == NULL) {
		rc = -errno;
		snprintf(err, FAULT_FILE_ERR_LEN, "%s: %s", file.path, strerror(-rc));
		return rc;
	}
	while (rc >= 0 && fgets(line, sizeof(line), f) != NULL) {
		n_line++;
		rc = parse_line(&p, line);
		if (rc > 0 && *n == FAULTS_MAX) {
			snprintf(p.err, sizeof(p.err), "more than %d faults", FAULTS_MAX);
			rc = -ENOSPC;
		}
		if (rc < 0)
			snprintf(err, FAULT_FILE_ERR_LEN, "%s:%u: %s", file.path, n_line, p.err);
		if (rc <= 0)
			continue;
		p.fault.of_file = true;
		list[(*n)++] = p.fault;
	}
	fclose(f);
	return rc < 0 ? rc : 0;
}

/* Reads the control file. A file that was removed while the adapter runs counts as empty. */
static void
file_read(void)
{
	static struct fault read[FAULTS_MAX];
	char err[FAULT_FILE_ERR_LEN];
	unsigned int n;
	int rc = file_parse(read, &n, err);

	drop_faults(true);
	if (rc < 0) {
		if (rc != -ENOENT)
			softhca_log("%s; no fault of this file is armed", err);
		return;
	}
	for (unsigned int i = 0; i < n; i++)
		if (add_fault(&read[i]) != 0)
			softhca_log("%s: only %d faults can be armed: some are not", file.path,
				FAULTS_MAX);
}

static void
file_look(void)
{
	struct statx st;

	if (raw_statx(AT_FDCWD, file.path, 0, STATX_BASIC_STATS, &st) != 0)
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
	lanes_wake_all(); /* a new fault may concern an adapter whose threads sleep */
}

static void
fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

static void
fork_done(void)
{
	pthread_mutex_unlock(&lock);
}

/* In the child, the watched file's descriptor is closed, because it belongs to the parent. */
static void
fork_child(void)
{
	if (file.notify >= 0)
		close(file.notify);
	file.notify = -1;
	fork_done();
}

/*
 * Makes a path absolute, from the directory in which the program was started. Returns NULL if
 * memory is short or if this directory does not exist.
 */
static const char *
absolute(const char *path)
{
	char dir[PATH_MAX], *whole;

	return raw_getcwd(dir, sizeof(dir)) && asprintf(&whole, "%s/%s", dir, path) >= 0 ? whole
											 : NULL;
}

static void
find_file(void)
{
	const char *path = getenv("SOFTHCA_FAULTS"), *whole;

	/*
	 * A lane may hold the lock when another thread forks, and in the child the lock would then
	 * stay locked. So fork_prepare() takes the lock first.
	 */
	pthread_atfork(fork_prepare, fork_done, fork_child);
	if (path == NULL || *path == '\0')
		return;
	whole = *path == '/' ? path : absolute(path);
	file.path = whole != NULL ? whole : path;
	atomic_fetch_or(&fault_watch_bits, WATCH_TURNS | WATCH_CALLS);
}

static void __attribute__((constructor)) find_file_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_file);
}

/* ---- for the other folders of the adapter */

int
fault_file_check(char err[FAULT_FILE_ERR_LEN])
{
	static struct fault list[FAULTS_MAX];
	unsigned int n;
	int rc;

	find_file_once();
	if (file.path == NULL)
		return 0;
	pthread_mutex_lock(&lock);
	rc = file_parse(list, &n, err);
	pthread_mutex_unlock(&lock);
	return rc < 0 ? rc : (int)n;
}

void
fault_init(const struct softhca_config *cfg)
{
	if (watches_wqes(cfg))
		atomic_fetch_or(&fault_watch_bits, WATCH_WQES);
}

static void
deliver_events(struct softhca_dev *dev, struct device_faults *d, softhca_dev_event_fn *deliver)
{
	/* If another thread holds the lock of the list of contexts, the next turn tries again. */
	while (d->n_events != 0 && deliver(dev, d->events[0].type, d->events[0].port)) {
		d->n_events--;
		memmove(d->events, d->events + 1, d->n_events * sizeof(d->events[0]));
	}
}

/* Brings up each port that was down for a limited time, if that time is over. */
static void
raise_ports(struct device_faults *d, uint64_t now)
{
	for (unsigned int port = 1; port <= SOFTHCA_MAX_PORTS; port++)
		if (d->up_at[port - 1] != 0 && now >= d->up_at[port - 1])
			port_set(d, port, false, 0);
}

void
fault_tick(struct softhca_dev *dev, softhca_dev_event_fn *deliver)
{
	struct device_faults *d = &devices[dev->index];
	uint64_t now = device_clock();

	if (pthread_mutex_trylock(&lock) != 0)
		return;
	if (file.path != NULL && (file.changed || now - file.looked_at >= FILE_LOOK_NS)) {
		file.changed = false;
		file.looked_at = now;
		file_look();
	}
	raise_ports(d, now);
	deliver_events(dev, d, deliver);
	update_bits();
	pthread_mutex_unlock(&lock);
}

bool
fault_is_due(struct softhca_dev *dev)
{
	const struct device_faults *d = &devices[dev->index];
	bool due;

	if ((atomic_load(&fault_watch_bits) & WATCH_TURNS) == 0)
		return false;
	if (pthread_mutex_trylock(&lock) != 0)
		return true;
	due = d->n_events != 0 || (file.path != NULL && (file.notify < 0 || file.changed));
	for (unsigned int port = 0; port < SOFTHCA_MAX_PORTS; port++)
		due |= d->up_at[port] != 0;
	pthread_mutex_unlock(&lock);
	return due;
}

int
fault_file_watch(void)
{
	int fd;

	pthread_mutex_lock(&lock);
	if (file.path != NULL)
		file.notify = notify_open(file.path);
	file.changed = file.notify >= 0; /* the file may have changed before the watch began */
	fd = file.notify;
	pthread_mutex_unlock(&lock);
	return fd;
}

bool
fault_file_event(void)
{
	enum notify found;

	pthread_mutex_lock(&lock);
	found = notify_read(file.notify, file.path);
	file.changed |= found == NOTIFY_CHANGED;
	if (found == NOTIFY_LOST) {
		close(file.notify);
		file.notify = -1;
	}
	pthread_mutex_unlock(&lock);
	if (found != NOTIFY_NOTHING)
		lanes_wake_all();
	return found != NOTIFY_LOST;
}

void
fault_look(struct softhca_dev *dev)
{
	uint64_t now = device_clock();

	/*
	 * If a lane is reading the file now, the control call waits for the lane. So new faults of
	 * the file apply to this call.
	 */
	pthread_mutex_lock(&lock);
	if (file.path != NULL) {
		file.looked_at = now;
		file_look();
	}
	raise_ports(&devices[dev->index], now);
	update_bits();
	pthread_mutex_unlock(&lock);
}

static struct fault_hit
next_hit(const struct softhca_dev *dev, uint32_t qpn, bool receives)
{
	struct fault_hit hit = {.kind = FAULT_NONE};
	struct fault struck = {.kind = FAULT_NONE};

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < n_faults; i++) {
		const struct fault f = faults[i];

		if (!is_of_ops(&f) || is_of_receives(f.kind) != receives ||
			(f.qp != 0 && f.qp != qpn) || f.device != dev->index || !fault_counts(i))
			continue;
		if (is_of_device(f.kind)) {
			strike_device(&f, dev->index);
		} else {
			hit = (struct fault_hit){f.kind, (uint8_t)f.syndrome, (uint8_t)f.vendor,
				f.ms * 1000000};
		}
		struck = f;
		break;
	}
	update_bits();
	pthread_mutex_unlock(&lock);
	say_strike(dev, &struck, qpn);
	return hit;
}

struct fault_hit
fault_next(const struct softhca_dev *dev, uint32_t qpn)
{
	return next_hit(dev, qpn, false);
}

struct fault_hit
fault_next_receive(const struct softhca_dev *dev, uint32_t qpn)
{
	return next_hit(dev, qpn, true);
}

int
fault_refuses(struct softhca_dev *dev, const struct fault_call *call)
{
	struct fault struck = {.kind = FAULT_NONE};
	int rc = 0;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < n_faults && rc == 0; i++) {
		const struct fault f = faults[i];

		if (f.device != dev->index || !fault_is_of_call(&f, call) || !fault_counts(i))
			continue;
		rc = -(int)f.error;
		struck = f;
	}
	if (rc == 0 && devices[dev->index].dead && !fault_call_ends(call))
		rc = -EIO;
	update_bits();
	pthread_mutex_unlock(&lock);
	say_strike(dev, &struck, 0);
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
	struct fault_parser p;
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
	lanes_wake_all(); /* only a lane that is awake delivers the event of a port or an adapter */
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
		dead_set(&devices[d], false);
	}
	update_bits();
	pthread_mutex_unlock(&lock);
}
