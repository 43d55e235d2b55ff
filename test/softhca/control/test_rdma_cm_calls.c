/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands to /dev/infiniband/rdma_cm: the device, malformed commands, ids, ports, addresses and
 * options. Expected values: uapi rdma/rdma_user_cm.h, rdma_cma.h of librdmacm, and the errors of
 * the kernel's drivers/infiniband/core/ucma.c and cma.c.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "softhca_cm.h"

#define N(a)     (sizeof(a) / sizeof((a)[0]))
#define GID_IPV4 "198.51.100.11" /* the setting gid_ipv4: meson.build */
#define TCP      RDMA_PS_TCP
#define UDP      RDMA_PS_UDP
#define FEW_FDS  64

/* ---- the device */

static void
case_device(void)
{
	unsigned int major_number, minor_number;
	char line[32], link[40], target[64] = "";
	const int fd = cm_open_file(0);
	struct stat st, by_name;
	FILE *f = fopen("/sys/class/misc/rdma_cm/dev", "r");

	CHECK(f != NULL && fscanf(f, "%u:%u", &major_number, &minor_number) == 2);
	fclose(f);
	f = fopen("/sys/class/misc/rdma_cm/abi_version", "r");
	CHECK(f != NULL && fgets(line, sizeof(line), f) != NULL);
	CHECK(strcmp(line, "4\n") == 0);
	fclose(f);
	CHECK(fstat(fd, &st) == 0 && stat(CM_DEVICE, &by_name) == 0);
	CHECK(S_ISCHR(st.st_mode) && S_ISCHR(by_name.st_mode));
	CHECK(st.st_rdev == makedev(major_number, minor_number));
	CHECK(by_name.st_rdev == st.st_rdev);
	CHECK_EQ(access(CM_DEVICE, R_OK | W_OK), 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	CHECK(readlink(link, target, sizeof(target) - 1) > 0 && strcmp(target, CM_DEVICE) == 0);
	CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK(!cm_is_readable(fd));
	close(fd);
}

/* Other files' write(2) is the kernel's, while the device is open. */
static void
case_other_files(void)
{
	const int fd = cm_open_file(0);
	int pair[2], ends[2];
	char byte;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(pair[0], "a", 1), 1);
	CHECK(read(pair[1], &byte, 1) == 1 && byte == 'a');
	CHECK_EQ(write(ends[1], "b", 1), 1);
	CHECK(read(ends[0], &byte, 1) == 1 && byte == 'b');
	CHECK(write(-1, "c", 1) == -1 && errno == EBADF);
	for (int i = 0; i < 2; i++) {
		close(pair[i]);
		close(ends[i]);
	}
	close(fd);
}

/* ---- malformed commands */

/* Bytes of each command's struct, and of its answer; 0: the command has no answer. */
static const struct form {
	uint32_t cmd;
	uint16_t in, out;
} forms[] = {
	{RDMA_USER_CM_CMD_CREATE_ID, sizeof(struct rdma_ucm_create_id), 4},
	{RDMA_USER_CM_CMD_DESTROY_ID, sizeof(struct rdma_ucm_destroy_id), 4},
	{RDMA_USER_CM_CMD_BIND_IP, 40, 0},
	{RDMA_USER_CM_CMD_RESOLVE_IP, sizeof(struct rdma_ucm_resolve_ip), 0},
	{RDMA_USER_CM_CMD_RESOLVE_ROUTE, 8, 0},
	{RDMA_USER_CM_CMD_QUERY_ROUTE, 16, 200}, /* ibdev_index is newer */
	{RDMA_USER_CM_CMD_CONNECT, 280, 0},      /* ECE is newer */
	{RDMA_USER_CM_CMD_LISTEN, 8, 0},
	{RDMA_USER_CM_CMD_ACCEPT, 288, 0},
	{RDMA_USER_CM_CMD_REJECT, 264, 0},
	{RDMA_USER_CM_CMD_DISCONNECT, 4, 0},
	{RDMA_USER_CM_CMD_INIT_QP_ATTR, 16, sizeof(struct ib_uverbs_qp_attr)},
	{RDMA_USER_CM_CMD_GET_EVENT, 8, 324},
	{RDMA_USER_CM_CMD_SET_OPTION, 24, 0},
	{RDMA_USER_CM_CMD_NOTIFY, 8, 0},
	{RDMA_USER_CM_CMD_MIGRATE_ID, 16, 4},
	{24 /* WRITE_CM_EVENT */, 24, 0},
};

static void
case_sizes(void)
{
	const int fd = cm_open_file(O_NONBLOCK);
	const uint8_t zero[512] = {0};
	struct rdma_ucm_cmd_hdr head = {.cmd = RDMA_USER_CM_CMD_DISCONNECT, .in = 4};

	for (size_t i = 0; i < N(forms); i++) {
		const struct form *f = &forms[i];

		CHECK_EQ(cm_send(fd, f->cmd, zero, f->in - 1u, f->out), -EINVAL, "short struct");
		if (f->out != 0)
			CHECK_EQ(cm_send(fd, f->cmd, zero, f->in, f->out - 1u), -ENOSPC,
				"no room for the answer");
	}
	/* The header is incomplete, or announces more than the program writes. */
	CHECK(write(fd, &head, sizeof(head) - 1) == -1 && errno == EINVAL);
	CHECK(write(fd, &head, 0) == -1 && errno == EINVAL);
	CHECK(write(fd, &head, sizeof(head)) == -1 && errno == EINVAL);
	CHECK_EQ(cm_send(fd, 25, zero, 16, 16), -EINVAL, "no such command");
	CHECK_EQ(cm_send(fd, UINT32_MAX, zero, 16, 16), -EINVAL, "no such command");
	CHECK_EQ(cm_send(fd, RDMA_USER_CM_CMD_GET_OPTION, zero, 32, 0), -ENOSYS);
	/* Multicast is not emulated, and librdmacm needs no AF_IB. */
	CHECK_EQ(cm_send(fd, RDMA_USER_CM_CMD_JOIN_MCAST, zero, 152, 4), -EOPNOTSUPP);
	CHECK_EQ(cm_send(fd, RDMA_USER_CM_CMD_JOIN_IP_MCAST, zero, 48, 4), -EOPNOTSUPP);
	CHECK_EQ(cm_send(fd, RDMA_USER_CM_CMD_LEAVE_MCAST, zero, 16, 4), -EOPNOTSUPP);
	CHECK_EQ(cm_send(fd, RDMA_USER_CM_CMD_BIND, zero, 136, 0), -EOPNOTSUPP);
	close(fd);
}

static void
case_pointers(void)
{
	void *bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int fd = cm_open_file(O_NONBLOCK);
	const struct rdma_ucm_create_id create = {.response = (uintptr_t)bad, .ps = TCP};
	const struct rdma_ucm_get_event get = {.response = (uintptr_t)bad};
	const uint32_t id = cm_create(fd, 1, TCP);
	const struct rdma_ucm_query query = {.response = (uintptr_t)bad, .id = id};
	struct rdma_ucm_event_resp e;

	CHECK(bad != MAP_FAILED);
	CHECK(write(fd, bad, 40) == -1 && errno == EFAULT);
	CHECK_EQ(CM(fd, CREATE_ID, create, 4), -EFAULT);
	/* The id of the failed command is free again. */
	CHECK_EQ(cm_create(fd, 1, TCP), id + 1);
	CHECK_EQ(CM(fd, QUERY_ROUTE, query, 208), -EFAULT);
	CHECK_EQ(cm_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, bad, 1), -EFAULT);
	/* An event that could not be copied stays. */
	CHECK_EQ(cm_resolve(fd, id, NULL, "127.0.0.1", 1), 0);
	CHECK_EQ(CM(fd, GET_EVENT, get, sizeof(e)), -EFAULT);
	CHECK_EQ(cm_expect(fd, ADDR_RESOLVED).id, id);
	munmap(bad, 4096);
	close(fd);
}

static void
case_ids(void)
{
	const int fd = cm_open_file(O_NONBLOCK), other = cm_open_file(O_NONBLOCK);
	const uint32_t id = cm_create(fd, 1, TCP);
	struct rdma_ucm_query_route_resp resp;
	struct rdma_ucm_create_id create = {.response = (uintptr_t)&resp, .ps = RDMA_PS_IB};

	CHECK_EQ(CM(fd, CREATE_ID, create, 4), -EINVAL, "RDMA_PS_IB");
	create.ps = 7;
	CHECK_EQ(CM(fd, CREATE_ID, create, 4), -EINVAL, "no port space");
	CHECK_EQ(cm_query(fd, 999, &resp), -ENOENT);
	CHECK_EQ(cm_query(other, id, &resp), -EINVAL, "an id of another file");
	CHECK_EQ(cm_query(fd, id, &resp), 0);
	CHECK_EQ(resp.node_guid, 0, "an id without port");
	CHECK_EQ(cm_route(fd, id), -EINVAL);
	CHECK_EQ(cm_disconnect(fd, id), -EINVAL);
	CHECK_EQ(cm_connect(fd, id, cm_param(1, 0)), -EINVAL);
	CHECK_EQ(cm_destroy(other, id), -EINVAL);
	CHECK_EQ(cm_destroy(fd, id), 0);
	CHECK_EQ(cm_destroy(fd, id), -ENOENT);
	close(other);
	close(fd);
}

/* ---- addresses */

static void
check_route(int fd, uint32_t id, const char *gid)
{
	struct rdma_ucm_query_route_resp resp;
	uint8_t want[16];

	CHECK_EQ(cm_query(fd, id, &resp), 0);
	CHECK_EQ(inet_pton(AF_INET6, gid, want), 1);
	CHECK(resp.node_guid != 0);
	CHECK_EQ(resp.ibdev_index, 0);
	CHECK_EQ(resp.port_num, 1);
	CHECK(memcmp(resp.ib_route[0].dgid, want, 16) == 0, "destination");
	CHECK(memcmp(resp.ib_route[0].sgid, want, 16) == 0, "source");
	CHECK_EQ(resp.ib_route[0].pkey, 0xffff);
}

static void
case_addresses(void)
{
	/* Addresses, and the GID for which each stands. */
	static const char *const ours[][2] = {
		{"127.0.0.1", "::ffff:" GID_IPV4},
		{"127.1.2.3", "::ffff:" GID_IPV4},
		{"0.0.0.0", "::ffff:" GID_IPV4},
		{"::1", "::ffff:" GID_IPV4},
		{GID_IPV4, "::ffff:" GID_IPV4},
	};
	static const char *const others[] = {"192.0.2.77", "2001:db8::5"};
	const int fd = cm_open_file(O_NONBLOCK);
	struct rdma_ucm_query_route_resp resp;

	for (size_t i = 0; i < N(ours); i++) {
		const uint32_t id = cm_resolved(fd, 1, TCP, ours[i][0], 7);

		check_route(fd, id, ours[i][1]);
		CHECK_EQ(cm_query(fd, id, &resp), 0);
		CHECK_EQ(resp.num_paths, 1);
		CHECK_EQ(resp.ib_route[0].mtu, 5, "4096 bytes");
		CHECK_EQ(ntohs(resp.dst_addr.sin6_port), 7);
		CHECK_EQ(cm_destroy(fd, id), 2, "events");
	}
	for (size_t i = 0; i < N(others); i++) {
		const uint32_t id = cm_create(fd, 1, TCP);
		struct rdma_ucm_event_resp e;

		CHECK_EQ(cm_resolve(fd, id, NULL, others[i], 7), 0);
		e = cm_expect(fd, ADDR_ERROR);
		CHECK_EQ((int)e.status, -EHOSTUNREACH);
		/* The id is still bound, so another address can be resolved. */
		CHECK_EQ(cm_resolve(fd, id, NULL,
				 strchr(others[i], ':') != NULL ? "::1" : "127.0.0.1", 7),
			0);
		CHECK_EQ(cm_expect(fd, ADDR_RESOLVED).id, id);
		CHECK_EQ(cm_bind(fd, cm_create(fd, 1, TCP), others[i], 0), -EADDRNOTAVAIL);
	}
	CHECK_EQ(cm_resolve(fd, cm_create(fd, 1, TCP), "192.0.2.77", "127.0.0.1", 7),
		-EADDRNOTAVAIL);
	CHECK_EQ(cm_resolve(fd, cm_create(fd, 1, TCP), "127.0.0.1", "::1", 7), -EINVAL);
	CHECK_EQ(cm_bind(fd, cm_create(fd, 1, TCP), NULL, 0), -EINVAL, "no address family");
	close(fd);
}

/* ---- ports */

static void
case_ports(void)
{
	const int fd = cm_open_file(O_NONBLOCK), on = 1;
	uint32_t a = cm_create(fd, 1, TCP), b = cm_create(fd, 1, TCP), c;
	unsigned int low, high;
	uint16_t port;
	FILE *f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");

	CHECK(f != NULL && fscanf(f, "%u %u", &low, &high) == 2);
	fclose(f);
	CHECK_EQ(cm_bind(fd, a, "127.0.0.1", 0), 0);
	CHECK_EQ(cm_bind(fd, a, "127.0.0.1", 0), -EINVAL, "bound twice");
	port = cm_port_of(fd, a);
	CHECK(port >= low && port <= high, "%u", port);
	CHECK_EQ(cm_bind(fd, b, "127.0.0.1", port), -EADDRINUSE);
	CHECK_EQ(cm_bind(fd, b, "0.0.0.0", port), -EADDRNOTAVAIL, "a wildcard beside an address");
	/* Another address, another port space, and another family with AFONLY are free. */
	CHECK_EQ(cm_bind(fd, b, "127.0.0.2", port), 0);
	c = cm_create(fd, 1, UDP);
	CHECK_EQ(cm_bind(fd, c, "127.0.0.1", port), 0);
	c = cm_create(fd, 1, TCP);
	CHECK_EQ(cm_bind(fd, c, "::1", port), 0);
	/* Both with REUSEADDR share the port; only one of them may listen. */
	a = cm_create(fd, 1, TCP);
	b = cm_create(fd, 1, TCP);
	CHECK_EQ(cm_option(fd, a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	CHECK_EQ(cm_bind(fd, a, "127.0.0.1", 0), 0);
	port = cm_port_of(fd, a);
	CHECK_EQ(cm_bind(fd, b, "127.0.0.1", port), -EADDRINUSE);
	CHECK_EQ(cm_option(fd, b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	CHECK_EQ(cm_bind(fd, b, "127.0.0.1", port), 0);
	CHECK_EQ(cm_listen(fd, b, 5), -EADDRINUSE);
	CHECK_EQ(cm_destroy(fd, a), 0);
	CHECK_EQ(cm_listen(fd, b, 5), 0);
	CHECK_EQ(cm_listen(fd, b, 5), -EINVAL, "listens already");
	/* close(2) without DESTROY_ID gives the port back. */
	close(fd);
	{
		const int again = cm_open_file(0);
		const uint32_t id = cm_create(again, 1, TCP);

		CHECK_EQ(cm_bind(again, id, "127.0.0.1", port), 0);
		close(again);
	}
}

/* Runs `child` in another process, which must exit with 0. */
static void
in_child(void (*child)(void))
{
	const pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child();
		fflush(NULL);
		_exit(check_failures != 0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0, "status of the child");
}

static uint16_t taken, shared;

static void
other_process_binds(void)
{
	const int fd = cm_open_file(0), on = 1;
	uint32_t id = cm_create(fd, 1, TCP);

	CHECK_EQ(cm_bind(fd, id, "127.0.0.1", taken), -EADDRINUSE);
	CHECK_EQ(cm_bind(fd, id, "0.0.0.0", taken), -EADDRNOTAVAIL);
	CHECK_EQ(cm_bind(fd, id, "127.0.0.1", shared), -EADDRINUSE);
	CHECK_EQ(cm_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	CHECK_EQ(cm_bind(fd, id, "127.0.0.1", taken), -EADDRINUSE, "the owner does not share it");
	CHECK_EQ(cm_bind(fd, id, "127.0.0.1", shared), 0);
	CHECK_EQ(cm_listen(fd, id, 1), -EADDRINUSE);
	CHECK_EQ(cm_bind(fd, cm_create(fd, 1, UDP), "127.0.0.1", taken), 0);
	/* Numbers of asking ends differ between processes. */
	for (int i = 0; i < 200; i++) {
		id = cm_create(fd, 1, TCP);
		CHECK_EQ(cm_resolve(fd, id, NULL, "127.0.0.1", 7), 0);
		CHECK(cm_port_of(fd, id) != taken && cm_port_of(fd, id) != shared);
	}
}

static void
user_binds(void)
{
	int fd;
	uint32_t id;

	if (geteuid() == 0)
		CHECK(setgid(65534) == 0 && setuid(65534) == 0);
	fd = cm_open_file(0);
	id = cm_create(fd, 1, TCP);
	CHECK_EQ(cm_bind(fd, id, "127.0.0.1", 999), -EACCES);
}

__attribute__((unused)) static void
case_ports_of_processes(void)
{
	const int fd = cm_open_file(0), on = 1;
	uint32_t id = cm_create(fd, 1, TCP);

	CHECK_EQ(cm_bind(fd, id, "127.0.0.1", 0), 0);
	taken = cm_port_of(fd, id);
	id = cm_create(fd, 1, TCP);
	CHECK_EQ(cm_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	CHECK_EQ(cm_bind(fd, id, "127.0.0.1", 0), 0);
	shared = cm_port_of(fd, id);
	CHECK_EQ(cm_listen(fd, id, 1), 0);
	in_child(other_process_binds);
	in_child(user_binds);
	close(fd);
}

/* ---- options and events */

static void
case_options(void)
{
	const int fd = cm_open_file(O_NONBLOCK), on = 1, off = 0;
	const uint8_t tos = 0x20;
	uint32_t id = cm_create(fd, 1, TCP), ud = cm_create(fd, 1, UDP), c;
	struct rdma_ucm_query_route_resp resp;
	uint16_t port;

	CHECK_EQ(cm_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	CHECK_EQ(cm_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 2), -EINVAL);
	CHECK_EQ(cm_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 1), -EINVAL);
	CHECK_EQ(cm_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &tos, 1), 0);
	CHECK_EQ(cm_option(fd, ud, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &tos, 1), -EINVAL);
	CHECK_EQ(cm_option(fd, id, RDMA_OPTION_ID, 9, &tos, 1), -ENOSYS);
	CHECK_EQ(cm_option(fd, id, 9, 0, &tos, 1), -ENOSYS);
	CHECK_EQ(cm_option(fd, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &tos, 1), -EINVAL);
	CHECK_EQ(cm_option(fd, 999, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), -ENOENT);
	CHECK_EQ(cm_resolve(fd, id, NULL, "127.0.0.1", 7), 0);
	CHECK_EQ(cm_expect(fd, ADDR_RESOLVED).id, id);
	CHECK_EQ(cm_route(fd, id), 0);
	CHECK_EQ(cm_query(fd, id, &resp), 0);
	CHECK_EQ(resp.ib_route[0].traffic_class, tos);
	/* A wildcard of IPv6 also covers IPv4, unless the option says otherwise. */
	id = cm_create(fd, 1, TCP);
	CHECK_EQ(cm_bind(fd, id, "::", 0), 0);
	port = cm_port_of(fd, id);
	c = cm_create(fd, 1, TCP);
	CHECK_EQ(cm_bind(fd, c, "0.0.0.0", port), -EADDRNOTAVAIL);
	CHECK_EQ(cm_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 4), 0);
	CHECK_EQ(cm_bind(fd, c, "0.0.0.0", port), 0);
	CHECK_EQ(cm_option(fd, id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &off, 4), 0);
	close(fd);
}

static void
case_own_events(void)
{
	/* uapi of Linux 6.18: id, event, status and the program's value. */
	struct {
		uint32_t id, reserved, event, status;
		uint64_t arg;
	} in = {.event = USER, .status = 5, .arg = UINT64_C(0x1122334455667788)};
	const int fd = cm_open_file(O_NONBLOCK);
	struct rdma_ucm_event_resp e;
	uint64_t arg;

	in.id = cm_create(fd, 0x77, TCP);
	CHECK_EQ(cm_send(fd, 24, &in, sizeof(in), 0), 0);
	e = cm_expect(fd, USER);
	memcpy(&arg, &e.param, sizeof(arg));
	CHECK(e.uid == 0x77 && e.id == in.id && e.status == 5 && arg == in.arg);
	in.event = ESTABLISHED;
	CHECK_EQ(cm_send(fd, 24, &in, sizeof(in), 0), -EINVAL);
	close(fd);
}

static void
nothing(int number)
{
	(void)number;
}

struct waiting {
	int fd, err;
	struct rdma_ucm_event_resp e;
};

static void *
wait_for_event(void *arg)
{
	struct waiting *w = arg;

	w->err = cm_get(w->fd, &w->e);
	return NULL;
}

static void
case_waiting(void)
{
	const struct sigaction act = {.sa_handler = nothing}; /* without SA_RESTART */
	struct waiting w = {.fd = cm_open_file(0)};
	const uint32_t id = cm_create(w.fd, 3, TCP);
	struct rdma_ucm_event_resp e;
	pthread_t thread;

	/* GET_EVENT blocks until another thread causes an event. */
	CHECK_EQ(pthread_create(&thread, NULL, wait_for_event, &w), 0);
	usleep(20000);
	CHECK_EQ(cm_resolve(w.fd, id, NULL, "127.0.0.1", 7), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(w.err == 0 && w.e.event == ADDR_RESOLVED && w.e.uid == 3);
	/* A signal ends the wait. The signal is repeated, in case it comes before the wait. */
	CHECK_EQ(sigaction(SIGUSR1, &act, NULL), 0);
	CHECK_EQ(pthread_create(&thread, NULL, wait_for_event, &w), 0);
	for (int i = 0; pthread_tryjoin_np(thread, NULL) != 0; i++) {
		CHECK(i < CHECK_PATIENCE_MS);
		pthread_kill(thread, SIGUSR1);
		usleep(1000);
	}
	CHECK_EQ(w.err, -EINTR);
#ifndef __SANITIZE_ADDRESS__ /* ASan does not know that the stack of a cancelled thread is free */
	/* The wait is a cancellation point. */
	CHECK_EQ(pthread_create(&thread, NULL, wait_for_event, &w), 0);
	usleep(20000);
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
#endif
	CHECK_EQ(fcntl(w.fd, F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(cm_get(w.fd, &e), -EAGAIN);
	close(w.fd);
}

/* ---- no port is left */

#define FEW_PORTS "40000 40127" /* two blocks of 64 ports: rdma-cm.md */
#define N_PORTS   128

/* Binds ids to all ports, and then tries to bind one more id. Returns the result of this try. */
static int
take_all_ports(int fd)
{
	for (unsigned int i = 0; i < N_PORTS; i++)
		CHECK_EQ(cm_bind(fd, cm_create(fd, i, TCP), "0.0.0.0", 0), 0);
	return cm_bind(fd, cm_create(fd, N_PORTS, TCP), "0.0.0.0", 0);
}

static void
takes_all_ports(void)
{
	const int fd = cm_open_file(0), log = memfd_create("stderr", 0), err = dup(STDERR_FILENO);
	char text[1024] = "";

	CHECK(log >= 0 && dup2(log, STDERR_FILENO) >= 0);
	CHECK_EQ(take_all_ports(fd), -EADDRNOTAVAIL);
	CHECK_EQ(cm_bind(fd, cm_create(fd, 2, TCP), "0.0.0.0", 0), -EADDRNOTAVAIL);
	CHECK(dup2(err, STDERR_FILENO) >= 0 && pread(log, text, sizeof(text) - 1, 0) >= 0);
	CHECK(strstr(text, "no port is free") != NULL, "%s", text);
	CHECK(strstr(text, "all 2 blocks of 64 ports") != NULL, "%s", text);
	/* A port of a number that the program chooses needs no block. */
	CHECK_EQ(cm_bind(fd, cm_create(fd, 1, TCP), "0.0.0.0", 7471), 0);
}

/* In a network namespace of its own, where no other process has ports. */
static void
few_ports(void)
{
	FILE *f;

	if (unshare(CLONE_NEWNET) != 0) {
		printf("no network namespace ");
		return;
	}
	f = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
	CHECK(f != NULL && fputs(FEW_PORTS, f) >= 0 && fclose(f) == 0);
	/* The blocks of a process are free again when it has ended. */
	in_child(takes_all_ports);
	in_child(takes_all_ports);
}

__attribute__((unused)) static void
case_no_port(void)
{
	in_child(few_ports);
}

/* ---- fork(2) */

static int inherited;
static uint32_t inherited_id;

static void
child_of_fork(void)
{
	struct rdma_ucm_event_resp e;
	int fd;

	CHECK_EQ(cm_destroy(inherited, inherited_id), -EIO, "the parent's file");
	CHECK_EQ(cm_get(inherited, &e), -EIO);
	fd = cm_open_file(O_NONBLOCK);
	CHECK_EQ(cm_create(fd, 1, TCP), 0, "the child's first id");
	CHECK_EQ(cm_get(fd, &e), -EAGAIN);
}

/* Only the call on the inherited file needs no descriptor. */
__attribute__((unused)) static void
full_child_of_fork(void)
{
	CHECK_EQ(cm_destroy(inherited, inherited_id), -EIO, "the parent's file");
}

__attribute__((unused)) static void
case_fork(void)
{
	inherited = cm_open_file(0);
	inherited_id = cm_create(inherited, 1, TCP);
	in_child(child_of_fork);
	CHECK_EQ(cm_destroy(inherited, inherited_id), 0, "the parent goes on");
	close(inherited);
}

/* The parent has no free descriptor when it forks. */
__attribute__((unused)) static void
case_fork_full(void)
{
	struct rlimit was, few;
	int fds[FEW_FDS], n = 0;

	inherited = cm_open_file(0);
	inherited_id = cm_create(inherited, 1, TCP);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = was;
	few.rlim_cur = FEW_FDS;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (n < FEW_FDS && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	CHECK_EQ(errno, EMFILE);
	in_child(full_child_of_fork);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &was), 0);
	while (n > 0)
		close(fds[--n]);
	CHECK_EQ(cm_destroy(inherited, inherited_id), 0, "the parent goes on");
	close(inherited);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"the device looks like the kernel's", case_device},
		{"write(2) to other files is the kernel's", case_other_files},
		{"a command of a wrong size is refused", case_sizes},
		{"a bad pointer is refused and changes nothing", case_pointers},
		{"an id of no file, or of another file, is refused", case_ids},
		{"an address stands for a port and a GID", case_addresses},
		{"an id gets a port, or the error of the kernel", case_ports},
#ifndef __SANITIZE_THREAD__ /* TSan allows no new thread in the child of a process with threads */
		{"processes share the port spaces", case_ports_of_processes},
		{"an id gets no port when processes have all blocks of ports", case_no_port},
		{"a child of fork(2) has none of its parent's ids", case_fork},
		{"so it is when no descriptor was free", case_fork_full},
#endif
		{"options have their values and states", case_options},
		{"a program sends itself an event", case_own_events},
		{"GET_EVENT waits", case_waiting},
	};

	return check_main(cases, N(cases), argc, argv);
}
