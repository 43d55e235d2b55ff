/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fuzzer of the connection manager: commands to /dev/infiniband/rdma_cm, and the records that
 * processes exchange (drivers/softhca/cm/cm_record.h). The program plays other processes, too: it
 * connects to ports of the device, and listens at ports to which the device connects. What must be
 * true:
 *
 * - an answer stays within the bytes that the program has announced (fuzz.h);
 * - events have known numbers, and private data of a possible length;
 * - a record that is malformed closes its connection, a command that is malformed changes nothing;
 * - two ids of the program still connect, whatever happens to others;
 * - when all files are closed, no descriptor and no id is left.
 *
 * usage: fuzz_cm [STEPS [SEED]]     usertools/fuzz.sh has the long form
 */
#include <stddef.h>
#include <sys/un.h>

#include "cm_record.h"
#include "softhca.h"

#include "softhca_cm.h"
#include "fuzz.h"

#define N_FILES     3
#define N_LINKS     12 /* connections of other processes that the program plays */
#define N_PORTS     3  /* ports at which the program listens as another process */
#define MAX_IDS     64 /* the program uses handles below this number */
#define WORLD_STEPS 2000
#define ROOM        512
#define LAST_EVENT  19

static int files[N_FILES];
/* Connections to ports of the device, and connections of the device to the program's ports. */
static int links[N_LINKS];
static struct cm_record last[N_LINKS]; /* the last record that came on a link */
static int name[N_PORTS];
static uint16_t name_port[N_PORTS];
static uint8_t *answer; /* guarded memory for answers */
static unsigned long n_commands, n_good, n_records, n_closed, n_events, n_came;

/* ---- other processes */

static socklen_t
name_of(struct sockaddr_un *addr, uint16_t ps, unsigned int port)
{
	int n;

	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	n = snprintf(addr->sun_path + 1, sizeof(addr->sun_path) - 1, "softhca/cm/%s/%u",
		ps == RDMA_PS_TCP ? "tcp" : "udp", port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int
new_socket(void)
{
	const int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (s < 0)
		FUZZ_DIE("socket: %s", strerror(errno));
	return s;
}

static void
listen_as_other(unsigned int i)
{
	struct sockaddr_un addr;
	socklen_t len;

	name[i] = new_socket();
	do {
		name_port[i] = (uint16_t)(20000 + rnd(10000));
		len = name_of(&addr, i % 2 == 0 ? RDMA_PS_TCP : RDMA_PS_UDP, name_port[i]);
	} while (bind(name[i], (const struct sockaddr *)&addr, len) != 0);
	if (listen(name[i], 64) != 0)
		FUZZ_DIE("listen: %s", strerror(errno));
}

/* The file of each handle, as far as the program knows; -1: no id. */
static int file_of_handle[MAX_IDS];
/* The handle and the file of the command that is being made. */
static uint32_t handle;
static int file;

/* Chooses an id of the program, most of the time. */
static void
choose_id(void)
{
	for (unsigned int i = 0; i < 8; i++) {
		handle = (uint32_t)rnd(MAX_IDS);
		if (file_of_handle[handle] >= 0)
			break;
	}
	file = files[file_of_handle[handle] >= 0 ? file_of_handle[handle] : (int)rnd(N_FILES)];
	if (one_in(20))
		file = files[rnd(N_FILES)];
	if (one_in(40))
		handle = (uint32_t)rnd_word();
}

static void
note_id(uint32_t id, unsigned int of_file)
{
	if (id < MAX_IDS)
		file_of_handle[id] = (int)of_file;
}

/* A port: of an id of the program, of another process that the program plays, or any. */
static uint16_t
some_port(void)
{
	struct rdma_ucm_query_route_resp resp;

	if (one_in(3))
		return name_port[rnd(N_PORTS)];
	choose_id();
	if (!one_in(8) && cm_query(file, handle, &resp) == 0)
		return ntohs(resp.src_addr.sin6_port);
	return (uint16_t)rnd_word();
}

static void
drop_link(unsigned int i)
{
	close(links[i]);
	links[i] = -1;
	memset(&last[i], 0, sizeof(last[i]));
}

static void
take_link(int fd)
{
	const unsigned int i = (unsigned int)rnd(N_LINKS);

	if (links[i] >= 0)
		drop_link(i);
	links[i] = fd;
}

static void
connect_as_other(void)
{
	const uint16_t port = some_port();
	struct sockaddr_un addr;
	const socklen_t len = name_of(&addr, one_in(3) ? RDMA_PS_UDP : RDMA_PS_TCP, port);
	int s;

	for (unsigned int i = 0; i < N_PORTS; i++)
		if (port == name_port[i])
			return; /* not to itself */
	s = new_socket();

	if (connect(s, (const struct sockaddr *)&addr, len) == 0)
		take_link(s);
	else
		close(s);
}

static void
accept_as_other(void)
{
	for (unsigned int i = 0; i < N_PORTS; i++) {
		const int fd = accept4(name[i], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			take_link(fd);
	}
}

static void
read_link(unsigned int i)
{
	struct cm_record r;
	ssize_t n;

	while (links[i] >= 0 && (n = recv(links[i], &r, sizeof(r), MSG_TRUNC)) != -1) {
		if (n == 0) {
			n_closed++;
			drop_link(i);
			return;
		}
		/* What the device sends must be right. */
		if (record_wrong(&r, (size_t)n) != NULL)
			FUZZ_DIE("the device sent a record of kind %u, %u to %u, reason %u: %s",
				r.message.kind, r.message.from, r.message.to, r.message.reason,
				record_wrong(&r, (size_t)n));
		last[i] = r;
		n_came++;
	}
}

static void
some_address(struct sockaddr_in6 *a)
{
	static const char *const texts[] = {"127.0.0.1", "127.0.0.1", "127.0.0.1", "198.51.100.11",
		"0.0.0.0", "::1", "::", "192.0.2.9", "fe80::1"};

	*a = cm_addr(texts[rnd(sizeof(texts) / sizeof(texts[0]))], some_port());
}

/* A record that is right, or nearly right. It often fits the last record that came. */
static void
send_record(unsigned int i)
{
	struct cm_record r = {.magic = CM_RECORD_MAGIC};
	struct cm_message *m = &r.message;
	size_t len = sizeof(r);

	m->kind = (uint8_t)(1 + rnd(CM_KINDS - 1));
	if (one_in(3))
		m->kind = one_in(2) ? CM_REQ : CM_REP;
	m->from = (uint32_t)rnd(1 << 30) + 1;
	if (m->kind == CM_REQ || m->kind == CM_SIDR_REQ) {
		m->ps = m->kind == CM_REQ ? RDMA_PS_TCP : RDMA_PS_UDP;
		m->src = cm_addr("127.0.0.1", 1);
		m->dst = cm_addr("127.0.0.1", some_port());
		if (one_in(6))
			some_address(&m->src);
		if (one_in(6))
			some_address(&m->dst);
		m->mtu = (uint8_t)(1 + rnd(5));
		m->again = one_in(4);
	} else {
		m->to = last[i].message.from;
		if (last[i].message.to != 0 && !one_in(4))
			m->from = last[i].message.to;
		if (one_in(8))
			m->to = (uint32_t)(rnd(1 << 12) << 20 | rnd(MAX_IDS));
	}
	m->qpn = (uint32_t)rnd(1 << 24);
	m->psn = (uint32_t)rnd(1 << 24);
	m->reason = (uint32_t)rnd(40);
	m->private_len = (uint8_t)rnd(cm_private_max(m->kind) + 1);
	rnd_bytes(m->private_data, m->private_len);
	if (one_in(12))
		mutate_field((uint8_t *)&r, sizeof(r));
	if (one_in(60))
		len = rnd(sizeof(r));
	n_records += send(links[i], &r, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static void
play_others(void)
{
	const unsigned int i = (unsigned int)rnd(N_LINKS);

	accept_as_other();
	if (one_in(6))
		connect_as_other();
	read_link(i);
	if (links[i] < 0)
		return;
	if (one_in(40))
		drop_link(i);
	else
		send_record(i);
}

/* ---- commands */

/* Bytes of each command's struct. */
static const uint16_t struct_len[] = {[RDMA_USER_CM_CMD_CREATE_ID] = 24,
	[RDMA_USER_CM_CMD_DESTROY_ID] = 16,
	[RDMA_USER_CM_CMD_BIND_IP] = 40,
	[RDMA_USER_CM_CMD_RESOLVE_IP] = 64,
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = 8,
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = 16,
	[RDMA_USER_CM_CMD_CONNECT] = 288,
	[RDMA_USER_CM_CMD_LISTEN] = 8,
	[RDMA_USER_CM_CMD_ACCEPT] = 296,
	[RDMA_USER_CM_CMD_REJECT] = 264,
	[RDMA_USER_CM_CMD_DISCONNECT] = 4,
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = 16,
	[RDMA_USER_CM_CMD_GET_EVENT] = 8,
	[RDMA_USER_CM_CMD_GET_OPTION] = 8,
	[RDMA_USER_CM_CMD_SET_OPTION] = 24,
	[RDMA_USER_CM_CMD_NOTIFY] = 8,
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = 48,
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = 16,
	[RDMA_USER_CM_CMD_MIGRATE_ID] = 16,
	[RDMA_USER_CM_CMD_JOIN_MCAST] = 152,
	[24] = 24};
#define N_COMMANDS (sizeof(struct_len) / sizeof(struct_len[0]))

static struct rdma_ucm_conn_param
some_param(void)
{
	return cm_param((uint32_t)rnd(1 << 24), (uint8_t)(one_in(3) ? rnd(256) : rnd(57)));
}

/* Fills the struct of a command with values that may be right. */
static void
fill(uint32_t cmd, uint8_t *in)
{
	struct rdma_ucm_create_id create = {.uid = rnd(4),
		.response = (uintptr_t)answer,
		.ps = one_in(3) ? RDMA_PS_UDP : RDMA_PS_TCP};
	struct rdma_ucm_bind_ip bind_ip = {.id = handle};
	struct rdma_ucm_resolve_ip resolve = {.id = handle, .timeout_ms = 1};
	struct rdma_ucm_connect connect_in = {.id = handle, .conn_param = some_param()};
	struct rdma_ucm_accept accept_in = {.uid = 1 + rnd(4),
		.id = handle,
		.conn_param = some_param()};
	struct rdma_ucm_reject reject = {.id = handle, .private_data_len = (uint8_t)rnd(256)};
	struct rdma_ucm_set_option option = {.optval = (uintptr_t)answer,
		.id = handle,
		.level = (uint32_t)rnd(2),
		.optname = (uint32_t)rnd(4),
		.optlen = one_in(3) ? 1 : 4};
	/* Most commands have the id first, or the address of the answer and the id. */
	struct rdma_ucm_listen id_first = {.id = handle, .backlog = (uint32_t)rnd(4)};
	struct rdma_ucm_query answer_first = {.response = (uintptr_t)answer,
		.id = handle,
		.option = (uint32_t)rnd(4)};

	some_address(&bind_ip.addr);
	some_address(&resolve.dst_addr);
	if (one_in(4))
		some_address(&resolve.src_addr);
	if (one_in(4))
		accept_in.conn_param.valid = 0;
	switch (cmd) {
	case RDMA_USER_CM_CMD_CREATE_ID:
		memcpy(in, &create, sizeof(create));
		break;
	case RDMA_USER_CM_CMD_BIND_IP:
		memcpy(in, &bind_ip, sizeof(bind_ip));
		break;
	case RDMA_USER_CM_CMD_RESOLVE_IP:
		memcpy(in, &resolve, sizeof(resolve));
		break;
	case RDMA_USER_CM_CMD_CONNECT:
		memcpy(in, &connect_in, sizeof(connect_in));
		break;
	case RDMA_USER_CM_CMD_ACCEPT:
		memcpy(in, &accept_in, sizeof(accept_in));
		break;
	case RDMA_USER_CM_CMD_REJECT:
		memcpy(in, &reject, sizeof(reject));
		break;
	case RDMA_USER_CM_CMD_SET_OPTION:
		memcpy(in, &option, sizeof(option));
		break;
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		answer_first.option = (uint32_t)(one_in(8) ? 1 : files[rnd(N_FILES)]);
		memcpy(in, &answer_first, sizeof(answer_first));
		break;
	case RDMA_USER_CM_CMD_DESTROY_ID:
	case RDMA_USER_CM_CMD_QUERY_ROUTE:
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
	case RDMA_USER_CM_CMD_GET_EVENT:
	case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
		memcpy(in, &answer_first, sizeof(answer_first));
		break;
	default:
		memcpy(in, &id_first, sizeof(id_first));
		break;
	}
}

static void
command(void)
{
	static const uint8_t often[] = {RDMA_USER_CM_CMD_CREATE_ID, RDMA_USER_CM_CMD_BIND_IP,
		RDMA_USER_CM_CMD_LISTEN, RDMA_USER_CM_CMD_RESOLVE_IP,
		RDMA_USER_CM_CMD_RESOLVE_ROUTE, RDMA_USER_CM_CMD_CONNECT, RDMA_USER_CM_CMD_ACCEPT,
		RDMA_USER_CM_CMD_INIT_QP_ATTR};
	const uint32_t cmd = one_in(2) ? often[rnd(sizeof(often))] : (uint32_t)rnd(N_COMMANDS + 1);
	uint8_t in[ROOM] = {0};
	size_t len = cmd < N_COMMANDS ? struct_len[cmd] : 8;
	size_t out = ROOM;
	bool is_good;

	choose_id();
	fill(cmd, in);
	/* The address of an answer, in the first 16 bytes, stays: another may be any memory. */
	if (one_in(10) && len >= 24)
		mutate_field(in + 16, len - 16);
	if (one_in(30))
		len = rnd(ROOM);
	if (one_in(10))
		out = rnd(ROOM);
	n_commands++;
	is_good = cm_send(file, cmd, in, len, out) == 0;
	n_good += is_good;
	if (is_good && cmd == RDMA_USER_CM_CMD_DESTROY_ID && handle < MAX_IDS)
		file_of_handle[handle] = -1;
}

/* A listener, or an id that connects: to the program's ids, or to another process. */
static void
begin_connection(void)
{
	const unsigned int f = (unsigned int)rnd(N_FILES);
	const uint16_t ps = one_in(3) ? RDMA_PS_UDP : RDMA_PS_TCP, port = some_port();
	uint32_t id;

	if (one_in(4)) {
		(void)cm_listen_at(files[f], 1, ps, one_in(2) ? "127.0.0.1" : "0.0.0.0",
			(uint32_t)rnd(3), &id);
		note_id(id, f);
		return;
	}
	id = cm_create(files[f], one_in(8) ? 0 : 2, ps);
	note_id(id, f);
	n_good += cm_resolve(files[f], id, NULL, "127.0.0.1", port) == 0 &&
		  cm_route(files[f], id) == 0 && cm_connect(files[f], id, some_param()) == 0;
}

static void
take_events(void)
{
	for (unsigned int i = 0; i < N_FILES; i++) {
		struct rdma_ucm_event_resp e;

		while (cm_get(files[i], &e) == 0) {
			n_events++;
			note_id(e.id, i);
			if (e.event > LAST_EVENT)
				FUZZ_DIE("event %u", e.event);
			if (e.event != USER && e.event != LAST_EVENT &&
				e.param.conn.private_data_len > CM_PRIVATE_MAX &&
				e.param.ud.private_data_len > CM_PRIVATE_MAX)
				FUZZ_DIE("event %u has %u bytes of private data", e.event,
					e.param.conn.private_data_len);
			if (one_in(3))
				break;
		}
	}
}

/* ---- what must work */

/* Waits for the next event. Returns false if it is of another kind. */
static bool
comes(int fd, uint32_t event, struct rdma_ucm_event_resp *e)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, CHECK_PATIENCE_MS) != 1 || cm_get(fd, e) != 0)
		FUZZ_DIE("no event %u comes", event);
	return e->event == event;
}

/* Connects two ids. On a slow machine a request may be given up before its answer. */
static bool
connects(int fd, int other)
{
	struct rdma_ucm_event_resp e;
	uint32_t listener, client, server;
	const uint16_t port = cm_listen_at(fd, 1, RDMA_PS_TCP, "127.0.0.1", 2, &listener);

	client = cm_resolved(other, 2, RDMA_PS_TCP, "127.0.0.1", port);
	CHECK_EQ(cm_connect(other, client, cm_param(1, 5)), 0);
	if (!comes(fd, CONNECT_REQUEST, &e))
		return false;
	server = e.id;
	return cm_accept(fd, server, 3, cm_param(2, 5)) == 0 &&
	       comes(other, CONNECT_RESPONSE, &e) && cm_ready(other, client) == 0 &&
	       comes(fd, ESTABLISHED, &e) && cm_destroy(other, client) >= 0 &&
	       comes(fd, DISCONNECTED, &e) && e.id == server;
}

static void
check_alive(void)
{
	bool alive = false;

	for (unsigned int tries = 0; !alive; tries++) {
		const int fd = cm_open_file(O_NONBLOCK), other = cm_open_file(O_NONBLOCK);

		alive = connects(fd, other);
		close(other);
		close(fd);
		if (tries == 1000)
			FUZZ_DIE("two ids do not connect");
	}
}

static void
begin_world(void)
{
	for (unsigned int i = 0; i < N_FILES; i++)
		files[i] = cm_open_file(O_NONBLOCK);
	for (unsigned int i = 0; i < N_PORTS; i++)
		listen_as_other(i);
	for (unsigned int i = 0; i < N_LINKS; i++)
		links[i] = -1;
	for (unsigned int i = 0; i < MAX_IDS; i++)
		file_of_handle[i] = -1;
}

/* Ends everything. The device's thread may need some time. Blocks of ports stay: blocks.h. */
static void
end_world(unsigned int n_fds)
{
	uint32_t id;

	for (unsigned int i = 0; i < N_FILES; i++)
		close(files[i]);
	for (unsigned int i = 0; i < N_PORTS; i++)
		close(name[i]);
	for (unsigned int i = 0; i < N_LINKS; i++)
		if (links[i] >= 0)
			drop_link(i);
	for (unsigned int ms = 0; cm_count_entries("/proc/self/fd") > n_fds; ms++) {
		if (ms == CHECK_PATIENCE_MS)
			FUZZ_DIE("%u descriptors are left, not %u",
				cm_count_entries("/proc/self/fd"), n_fds);
		usleep(1000);
	}
	/* Handles are the lowest free numbers. */
	files[0] = cm_open_file(0);
	for (unsigned int ms = 0; (id = cm_create(files[0], 1, RDMA_PS_TCP)) != 0; ms++) {
		if (ms == CHECK_PATIENCE_MS)
			FUZZ_DIE("an id is left: the first free handle is %u", id);
		CHECK_EQ(cm_destroy(files[0], id), 0);
		usleep(1000);
	}
	close(files[0]);
}

int
main(int argc, char **argv)
{
	const unsigned long steps = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
	const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	unsigned int n_fds;

	if (!softhca_active()) {
		printf("skipped: the emulated adapter is not active in this process\n");
		return CHECK_SKIP;
	}
	fuzz_begin(seed, 600);
	answer = fuzz_guarded(ROOM);
	/* The thread, its descriptors, and some blocks of ports. */
	check_alive();
	n_fds = cm_count_entries("/proc/self/fd") + 8;
	for (unsigned long i = 0; i < steps; i++) {
		if (i % WORLD_STEPS == 0)
			begin_world();
		command();
		if (one_in(6))
			begin_connection();
		if (!one_in(3))
			play_others();
		if (one_in(4))
			take_events();
		if (one_in(300)) {
			const unsigned int f = (unsigned int)rnd(N_FILES);

			close(files[f]);
			files[f] = cm_open_file(O_NONBLOCK);
		}
		if (i % 500 == 0) {
			fuzz_check_guards();
			check_alive();
		}
		if ((i + 1) % WORLD_STEPS == 0 || i + 1 == steps)
			end_world(n_fds);
	}
	printf("%lu commands, %lu of them good, %lu events; %lu records sent, %lu came, %lu "
	       "connections closed\n",
		n_commands, n_good, n_events, n_records, n_came, n_closed);
	/* If some of these never happen, the fuzzer has tested nothing. */
	return n_good != 0 && n_events != 0 && n_records != 0 && n_came != 0 && n_closed != 0
		       ? EXIT_SUCCESS
		       : EXIT_FAILURE;
}
