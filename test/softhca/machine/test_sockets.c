/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sockets by which processes reach each other, at moments that are rare: fork(2) while another
 * process connects, too few file descriptors, a change of the user, and fork(2) with handlers of
 * other libraries. The test itself connects to
 * the name of the adapter's block of QP numbers, "\0softhca/qpn/BLOCK" (unix(7)). Each case runs in
 * its own process.
 */
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "softhca_node.h"

#define N_FORKS      500
#define N_CONNECTING 2
#define NOBODY_UID   65534
#define MAX_FDS      1024
#define FEW_FDS      1 /* below the number of the reserve, which is above stderr */
#define FREE_FDS     8

/* ---- names */

static struct sockaddr_un
name_of(uint32_t qpn, socklen_t *len)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "softhca/qpn/%u", qpn >> 12);

	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return name;
}

/* Returns the number of sockets of this process that have a name of a block of QP numbers. */
static unsigned int
count_named(void)
{
	static const char start[] = "\0softhca/qpn/";
	unsigned int n = 0;

	for (int fd = 0; fd < MAX_FDS; fd++) {
		struct sockaddr_un name = {0};
		socklen_t len = sizeof(name);

		if (getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
			name.sun_family == AF_UNIX &&
			memcmp(name.sun_path, start, sizeof(start) - 1) == 0)
			n++;
	}
	return n;
}

static uint32_t
open_number(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_qp *qp;

	CHECK(pd != NULL && cq != NULL);
	qp = ibv_create_qp(pd, &init);
	CHECK(qp != NULL);
	return qp->qp_num;
}

/* ---- fork(2) */

/* Connects to the adapter and closes the connection, again and again. */
static void __attribute__((noreturn)) connect_for_ever(uint32_t qpn)
{
	socklen_t len;
	const struct sockaddr_un name = name_of(qpn, &len);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		/* The pause lets the adapter accept the connection before it ends. */
		if (fd >= 0 && connect(fd, (const struct sockaddr *)&name, len) == 0)
			usleep(300);
		close(fd);
	}
}

/*
 * The adapter's threads accept connections while the program forks. An accepted socket has the name
 * of the socket on which the adapter listens.
 */
static void
case_fork(void)
{
	const uint32_t qpn = open_number();
	pid_t connecting[N_CONNECTING];
	int status;

	CHECK(count_named() >= 1);
	for (unsigned int i = 0; i < N_CONNECTING; i++) {
		connecting[i] = fork();
		CHECK(connecting[i] >= 0);
		if (connecting[i] == 0)
			connect_for_ever(qpn);
	}
	for (unsigned int i = 0; i < N_FORKS; i++) {
		const pid_t child = fork();

		CHECK(child >= 0);
		if (child == 0)
			_exit(count_named() == 0 ? 0 : 1);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0, "the sockets that a child has kept");
	}
	for (unsigned int i = 0; i < N_CONNECTING; i++) {
		CHECK_EQ(kill(connecting[i], SIGKILL), 0);
		CHECK_EQ(waitpid(connecting[i], &status, 0), connecting[i]);
	}
}

/* ---- handlers of other libraries */

static bool handlers_act;

/* Calls that the adapter answers, and calls for which it looks whether it has to answer. */
static void
use_files(void)
{
	const int netlink = handlers_act ? socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA) : -1;
	char path[64], text[256];
	struct stat st;
	void *page;
	FILE *f;

	if (!handlers_act)
		return;
	alarm(CHECK_PATIENCE_MS / 1000); /* a child of fork(2) has no alarm */
	for (int fd = 0; fd < MAX_FDS; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (fstat(fd, &st) == 0 && !S_ISCHR(st.st_mode))
			CHECK(readlink(path, text, sizeof(text)) > 0);
	}
	f = fopen("/sys/class/infiniband/mlx5_0/node_type", "r");
	CHECK(f != NULL && fgets(text, sizeof(text), f) != NULL && text[0] == '1');
	fclose(f);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page = mremap(page, 4096, 1 << 20, MREMAP_MAYMOVE);
	CHECK(page != MAP_FAILED && munmap(page, 1 << 20) == 0);
	CHECK(netlink >= 0 && close(netlink) == 0);
}

static void
add_handlers(int argc, char **argv, char **env)
{
	(void)pthread_atfork(use_files, use_files, use_files);
}

/*
 * These handlers are added before those of the adapter, as by a library whose constructor runs
 * earlier. So they run while the adapter has its locks (pthread_atfork(3)).
 */
__attribute__((section(".preinit_array"), used)) static void (*const add_early)(int, char **,
	char **) = add_handlers;

static void
case_handlers(void)
{
	pid_t child;
	int status;

	(void)open_number();
	handlers_act = true;
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		_exit(check_failures == 0 ? 0 : 1);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

/* ---- too few descriptors */

/* Opens descriptors until none is free. */
static void
fill(void)
{
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		;
	CHECK_EQ(errno, EMFILE);
}

static void
limit(rlim_t fds)
{
	struct rlimit r;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &r), 0);
	r.rlim_cur = fds;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
}

/* Connects a socket to the adapter, and lets the adapter run. */
static void
connect_and_run(int fd, uint32_t qpn)
{
	socklen_t len;
	const struct sockaddr_un name = name_of(qpn, &len);

	CHECK_EQ(connect(fd, (const struct sockaddr *)&name, len), 0);
	/* The adapter looks for connections in some of its turns: lane.c. */
	for (unsigned int turns = 0; turns < 1024; turns++)
		(void)softhca_pump();
}

/* True if the other end has closed the connection. */
static bool
has_ended(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/*
 * A connection comes when no descriptor is free. The adapter must close it by means of a reserved
 * descriptor, because a connection that waits keeps the adapter awake. The reserve is lost here in
 * the same way as when another thread takes the descriptor while the adapter has given it up: a
 * lower limit makes the number of the reserve unusable.
 */
static void
case_reserve(void)
{
	const uint32_t qpn = open_number();
	int fds[4];

	limit(MAX_FDS / 4);
	for (unsigned int i = 0; i < 4; i++) {
		fds[i] = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		CHECK(fds[i] >= 0);
	}
	fill();
	connect_and_run(fds[0], qpn);
	CHECK(has_ended(fds[0]), "the reserve is there");
	limit(FEW_FDS);
	connect_and_run(fds[1], qpn);
	CHECK(!has_ended(fds[1]), "the reserve is lost");
	/* Descriptors are free again. So the adapter accepts connections, and makes a reserve. */
	limit(MAX_FDS / 4 + FREE_FDS);
	connect_and_run(fds[2], qpn);
	CHECK(!has_ended(fds[1]) && !has_ended(fds[2]));
	fill();
	connect_and_run(fds[3], qpn);
	CHECK(has_ended(fds[3]), "the reserve is there again");
}

/* ---- the user of the process */

/* Returns the user that a process sees which connects to the adapter. */
static uid_t
seen_user(uint32_t qpn)
{
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct ucred peer = {.pid = 0};
	socklen_t name_len, len = sizeof(peer);
	const struct sockaddr_un name = name_of(qpn, &name_len);

	CHECK(fd >= 0);
	CHECK_EQ(connect(fd, (const struct sockaddr *)&name, name_len), 0);
	CHECK_EQ(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len), 0);
	CHECK_EQ(peer.pid, getpid());
	close(fd);
	return peer.uid;
}

static int
to_effective(uid_t user)
{
	return seteuid(user);
}

static int
to_real_and_effective(uid_t user)
{
	return setreuid((uid_t)-1, user);
}

static int
to_three(uid_t user)
{
	return setresuid((uid_t)-1, user, (uid_t)-1);
}

static int
to_user(uid_t user)
{
	return setuid(user);
}

static void
vfork_as_nobody(void)
{
	const pid_t child = vfork();
	int status;

	CHECK(child >= 0);
	if (child == 0)
		_exit(setuid(NOBODY_UID) == 0 ? 0 : 1);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

/* The adapter claims its numbers as root. Then the process changes its effective user. */
static void
case_user(void)
{
	static int (*const change[])(uid_t) = {to_effective, to_real_and_effective, to_three};
	const uint32_t qpn = open_number();

	CHECK_EQ(seen_user(qpn), 0);
	for (size_t i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
		CHECK_EQ(change[i](NOBODY_UID), 0);
		CHECK_EQ(seen_user(qpn), NOBODY_UID);
		CHECK_EQ(setuid(NOBODY_UID + 1), -1);
		CHECK_EQ(seen_user(qpn), NOBODY_UID);
		CHECK_EQ(change[i](0), 0);
		CHECK_EQ(seen_user(qpn), 0);
	}
	/* A child of vfork(2) has the memory and the sockets of its parent. */
	vfork_as_nobody();
	CHECK_EQ(seen_user(qpn), 0);
	CHECK_EQ(to_user(NOBODY_UID), 0);
	CHECK_EQ(seen_user(qpn), NOBODY_UID);
}

/* ---- */

static void
run(void (*body)(void))
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		body();
		_exit(check_failures == 0 ? 0 : 1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void
run_fork(void)
{
	run(case_fork);
}

static void
run_handlers(void)
{
	run(case_handlers);
}

static void
run_reserve(void)
{
	run(case_reserve);
}

static void
run_user(void)
{
	if (geteuid() == 0)
		run(case_user);
	else
		printf("not as root: no other user ");
}

int
main(int argc, char **argv)
{
	static const struct check_case pumped[] = {
		{"the reserved descriptor is made again after it was lost", run_reserve},
		{"peers see the user that the process has now", run_user},
		{"other libraries' handlers of fork(2) may use the adapter's files", run_handlers},
	};
	static const struct check_case threaded[] = {
		{"a child of fork(2) has no socket that its parent's adapter had just accepted",
			run_fork},
		{"other libraries' handlers of fork(2) may use the adapter's files", run_handlers},
	};

	if (pair_is_pumped())
		return check_main(pumped, sizeof(pumped) / sizeof(pumped[0]), argc, argv);
	return check_main(threaded, sizeof(threaded) / sizeof(threaded[0]), argc, argv);
}
