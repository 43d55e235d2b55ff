/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP number belongs to one process of a network namespace. Processes claim blocks of numbers by
 * names of sockets. The test itself looks up these names. Each case runs in its own process.
 */
#include <dirent.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "softhca_node.h"

static bool
wire_is_on(void)
{
	const char *wire = getenv("SOFTHCA_WIRE");

	return wire == NULL || strcmp(wire, "off") != 0;
}

/* ---- names of sockets (unix(7)) */

/* Returns the number of names of QP blocks on which sockets of this process listen. */
static unsigned int
count_own(void)
{
	static const char start[] = "\0softhca/qpn/";
	DIR *fds = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned int n = 0;

	CHECK(fds != NULL);
	while ((entry = readdir(fds)) != NULL) {
		struct sockaddr_un name = {0};
		socklen_t len = sizeof(name), int_len = sizeof(int);
		int fd = atoi(entry->d_name), listens = 0;

		if (getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
			name.sun_family == AF_UNIX &&
			memcmp(name.sun_path, start, sizeof(start) - 1) == 0 &&
			getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_len) == 0)
			n += listens != 0;
	}
	closedir(fds);
	return n;
}

/* Returns the process that has the number, or 0. */
static pid_t
owner(uint32_t number)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "softhca/qpn/%u",
		number >> 12);

	CHECK(fd >= 0);
	if (connect(fd, (struct sockaddr *)&name,
		    offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n) != 0) {
		CHECK_EQ(errno, ECONNREFUSED);
		peer.pid = 0;
	} else {
		CHECK_EQ(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len), 0);
	}
	close(fd);
	return peer.pid;
}

static bool
is_own(uint32_t number)
{
	return owner(number) == getpid();
}

/* ---- adapters and queue pairs */

struct adapter {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

static struct adapter
open_adapter(unsigned int device)
{
	struct adapter a = {.ctx = pair_open(device)};

	a.pd = ibv_alloc_pd(a.ctx);
	a.cq = ibv_create_cq(a.ctx, 16, NULL, NULL, 0);
	CHECK(a.pd != NULL && a.cq != NULL);
	return a;
}

static struct ibv_qp *
try_qp(const struct adapter *a)
{
	struct ibv_qp_init_attr init = {.send_cq = a->cq,
		.recv_cq = a->cq,
		.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};

	return ibv_create_qp(a->pd, &init);
}

static uint32_t
new_number(const struct adapter *a)
{
	struct ibv_qp *qp = try_qp(a);

	CHECK(qp != NULL);
	return qp->qp_num;
}

/* ---- cases */

static void
two_adapters(void)
{
	struct adapter a, again, b;
	uint32_t of_a, of_b;

	CHECK_EQ(count_own(), 0);
	a = open_adapter(0);
	again = open_adapter(0);
	b = open_adapter(1);
	CHECK_EQ(count_own(), 0); /* no block may be claimed before a number is needed */
	of_a = new_number(&a);
	CHECK_EQ(count_own(), wire_is_on());
	CHECK_EQ(is_own(of_a), wire_is_on());
	of_b = new_number(&b);
	CHECK_EQ(count_own(), 2 * wire_is_on());
	CHECK_EQ(is_own(of_b), wire_is_on());
	if (wire_is_on())
		CHECK(of_a >> 12 != of_b >> 12);
	/* The block must belong to the adapter, not to a context. */
	CHECK_EQ(new_number(&again), (of_a & ~0xfffu) | ((of_a + 1) & 0xfff));
	CHECK_EQ(count_own(), 2 * wire_is_on());
}

/*
 * The numbers of DCTs, and numbers that the program reserves (mlx5dv_reserved_qpn_alloc(3)), must
 * be in claimed blocks, too.
 */
static void
other_numbers(void)
{
	struct node n = node_open(255);
	struct ibv_qp *dct = node_qp(&n, K_DCT);
	uint32_t reserved;

	CHECK_EQ(count_own(), 0);
	node_ready(&n, dct, K_DCT, 0, IBV_QPS_RTR);
	CHECK(dct->qp_num != 0 && is_own(dct->qp_num));
	CHECK_EQ(mlx5dv_reserved_qpn_alloc(n.ctx, &reserved), 0);
	CHECK(is_own(reserved));
	CHECK_EQ(count_own(), 1);
}

/* The first block has 4096 numbers. */
static void
next_block(void)
{
	struct adapter a = open_adapter(0);
	uint32_t first = new_number(&a), number = 0;

	for (unsigned int i = 1; i < 4096; i++) {
		struct ibv_qp *qp = try_qp(&a);

		CHECK(qp != NULL && qp->qp_num != first);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
	CHECK_EQ(count_own(), 1);
	number = new_number(&a);
	CHECK_EQ(count_own(), 2);
	CHECK(is_own(number) && number >> 12 != first >> 12);
}

static void
run(void (*in_child)(void))
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		in_child();
		_exit(check_failures == 0 ? 0 : 1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void
case_adapters(void)
{
	run(two_adapters);
}

static void
case_other_numbers(void)
{
	if (wire_is_on())
		run(other_numbers);
}

static void
case_next_block(void)
{
	if (wire_is_on())
		run(next_block);
}

/* ---- fork(2) */

/* A pipe to the test: the parent writes its QP number, then its child writes a report. */
static int to_test[2], child_to_test[2];

struct report {
	pid_t pid;
	uint32_t number;
};

static void
be_forked_child(uint32_t parents)
{
	struct report r = {.pid = getpid()};
	struct adapter a;

	CHECK_EQ(count_own(), 0);
	a = open_adapter(0);
	r.number = new_number(&a);
	CHECK(r.number >> 12 != parents >> 12 && is_own(r.number));
	CHECK_EQ(count_own(), 1);
	CHECK_EQ(write(child_to_test[1], &r, sizeof(r)), sizeof(r));
	pause();
}

static void
be_parent(void)
{
	struct adapter a = open_adapter(0);
	uint32_t number = new_number(&a);
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		be_forked_child(number);
		_exit(1);
	}
	CHECK(is_own(number));
	CHECK_EQ(write(to_test[1], &number, sizeof(number)), sizeof(number));
	pause();
}

/*
 * A child by fork(2) must close its parent's named sockets. Then the parent's numbers are free when
 * the parent dies, and no peer waits for a child that does not serve them.
 */
static void
case_fork(void)
{
	uint32_t number = 0;
	struct report child = {0};
	pid_t parent;
	int status;

	if (!wire_is_on())
		return;
	CHECK_EQ(pipe(to_test), 0);
	CHECK_EQ(pipe(child_to_test), 0);
	parent = fork();
	CHECK(parent >= 0);
	if (parent == 0) {
		be_parent();
		_exit(1);
	}
	CHECK_EQ(read(to_test[0], &number, sizeof(number)), sizeof(number));
	CHECK_EQ(read(child_to_test[0], &child, sizeof(child)), sizeof(child));
	CHECK_EQ(owner(number), parent);
	CHECK_EQ(owner(child.number), child.pid);
	CHECK_EQ(kill(parent, SIGKILL), 0);
	CHECK_EQ(waitpid(parent, &status, 0), parent);
	CHECK_EQ(owner(number), 0);
	CHECK_EQ(owner(child.number), child.pid);
	CHECK_EQ(kill(child.pid, SIGKILL), 0);
	/* The child's own parent is dead, so the test cannot wait for the child. */
	for (unsigned int ms = 0; owner(child.number) != 0; ms++) {
		CHECK(ms < CHECK_PATIENCE_MS);
		usleep(1000);
	}
}

static const struct check_case cases[] = {
	{"each adapter has a block of its own, from its first queue pair on", case_adapters},
	{"numbers of DCTs and reserved numbers are in the block", case_other_numbers},
	{"when the block is used up, another one is claimed", case_next_block},
	{"a child by fork has other numbers, and does not keep its parent's", case_fork},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
