/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many processes that share the adapters of one machine: their QP numbers must differ, each process
 * must be able to write to the next process, and no name and no connection may be left of a process
 * that has ended.
 *
 * A process owns blocks of 4096 numbers. Each block is the name of a listening socket of the
 * process, "@softhca/qpn/<block>" in /proc/net/unix.
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "softhca_node.h"

#define N_PROCESSES 64
#define N_ROUNDS    2
#define BLOCK_SHIFT 12
#define MAX_NAMES   1024
#define MAX_BLOCKS  4

enum {
	OUT, /* a QP that writes to the next process */
	IN,  /* a QP that the previous process uses to write to this process */
	DATAGRAMS,
	TARGET, /* a DCT */
	RESERVED,
	N_NUMBERS
};

/* A process begins a step when all processes have ended the previous step. */
enum {
	CREATE,
	CONNECT,
	WRITE,
	WRITE_AGAIN,
	GO,
	N_STEPS
};

/* A named socket. */
struct name {
	unsigned int block;
	unsigned long inode;
};

struct member {
	uint32_t number[N_NUMBERS];
	uint64_t addr;
	uint32_t rkey;
	struct name names[MAX_BLOCKS];
	unsigned int n_names;
};

/* The memory that all processes share. */
static struct {
	_Atomic unsigned int ended[N_STEPS];
	_Atomic bool failed;       /* a process has failed: no process waits any longer */
	_Atomic bool children_end; /* the children of the processes may end */
	struct member member[N_PROCESSES];
} * shared;

/*
 * True if no other program is in this network namespace, so that all names are those of this
 * program's processes.
 */
static bool alone;

static void
expect_no_failure(void)
{
	if (shared->failed)
		_exit(1);
}

static void
end_step(unsigned int step)
{
	uint64_t end = pair_now_ms() + PAIR_PATIENCE_MS;

	shared->ended[step]++;
	while (shared->ended[step] < N_PROCESSES) {
		expect_no_failure();
		CHECK(pair_now_ms() < end, "step %u: %u processes", step, shared->ended[step]);
		pair_run();
		usleep(500);
	}
}

/* Reads the names of all processes of this network namespace. */
static unsigned int
read_names(struct name *names)
{
	FILE *f = fopen("/proc/net/unix", "r");
	unsigned int n = 0;
	char line[256];

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		CHECK(n < MAX_NAMES);
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu @softhca/qpn/%u", &names[n].inode,
			    &names[n].block) == 2)
			n++;
	}
	fclose(f);
	return n;
}

/* True if the address is the name of a block of QP numbers. Then *block is the block's number. */
static bool
is_name(const struct sockaddr_un *addr, unsigned int *block)
{
	return addr->sun_family == AF_UNIX && addr->sun_path[0] == '\0' &&
	       sscanf(addr->sun_path + 1, "softhca/qpn/%u", block) == 1;
}

/*
 * Returns the number of this process's sockets that have a name, or are connected to a socket with
 * a name. Stores the names in `m`, if it is not NULL.
 */
static unsigned int
count_sockets(struct member *m)
{
	unsigned int block, n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		struct sockaddr_un own = {0}, peer = {0};
		socklen_t own_len = sizeof(own) - 1, peer_len = sizeof(peer) - 1;
		struct stat st;

		if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0)
			n += is_name(&peer, &block);
		if (getsockname(fd, (struct sockaddr *)&own, &own_len) != 0 ||
			!is_name(&own, &block))
			continue;
		n++;
		if (m == NULL)
			continue;
		CHECK_EQ(fstat(fd, &st), 0);
		CHECK(m->n_names < MAX_BLOCKS);
		m->names[m->n_names++] = (struct name){block, st.st_ino};
	}
	return n;
}

static bool
owns(const struct member *m, uint32_t number)
{
	for (unsigned int i = 0; i < m->n_names; i++) {
		if (m->names[i].block == number >> BLOCK_SHIFT)
			return true;
	}
	return false;
}

/* ---- one of the processes */

static void
write_to(struct node *n, struct ibv_qp *qp, const struct member *to, unsigned int word,
	uint64_t value)
{
	struct ibv_sge sge = {(uintptr_t)n->buf, sizeof(value), n->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_RDMA_WRITE,
				   .send_flags = IBV_SEND_SIGNALED,
				   .wr.rdma = {.remote_addr = to->addr + word * sizeof(value),
					   .rkey = to->rkey}},
			   *bad;

	memcpy(n->buf, &value, sizeof(value));
	pair_publish_to(qp, NULL);
	CHECK_EQ(ibv_post_send(qp, &wr, &bad), 0);
	CHECK_EQ(node_wait(n->scq).status, IBV_WC_SUCCESS);
}

/*
 * The child of a process must have no name and no connection of its parent. It lives longer than
 * its parent.
 */
static void
run_child(void)
{
	uint64_t end = pair_now_ms() + PAIR_PATIENCE_MS;

	CHECK_EQ(count_sockets(NULL), 0);
	while (!shared->children_end && pair_now_ms() < end) {
		expect_no_failure();
		usleep(2000);
	}
	_exit(0);
}

static void
create(struct node *n, struct ibv_qp **qps, struct member *m)
{
	static const enum kind kinds[] =
		{[OUT] = K_RC, [IN] = K_RC, [DATAGRAMS] = K_UD, [TARGET] = K_DCT};

	for (unsigned int i = OUT; i <= TARGET; i++)
		qps[i] = node_qp(n, kinds[i]);
	/* A DCT gets its number in RTR. */
	node_ready(n, qps[TARGET], K_DCT, 0, IBV_QPS_RTR);
	for (unsigned int i = OUT; i <= TARGET; i++)
		m->number[i] = qps[i]->qp_num;
	CHECK_EQ(mlx5dv_reserved_qpn_alloc(n->ctx, &m->number[RESERVED]), 0);
	m->addr = (uintptr_t)n->buf + NODE_BUF / 2;
	m->rkey = n->mr->rkey;
	CHECK(count_sockets(m) >= 1);
	for (unsigned int i = 0; i < N_NUMBERS; i++)
		CHECK(owns(m, m->number[i]), "number 0x%x", m->number[i]);
}

static void
expect_written(const struct member *m, unsigned int word, uint64_t value)
{
	uint64_t got;

	memcpy(&got, (void *)(uintptr_t)(m->addr + word * sizeof(got)), sizeof(got));
	CHECK_EQ(got, value);
}

static void
run_member(unsigned int me)
{
	const unsigned int before = (me + N_PROCESSES - 1) % N_PROCESSES;
	const struct member *next = &shared->member[(me + 1) % N_PROCESSES];
	struct member *m = &shared->member[me];
	struct node n = node_open(255);
	struct ibv_qp *qps[TARGET + 1];
	pid_t child;

	create(&n, qps, m);
	end_step(CREATE);
	node_ready(&n, qps[OUT], K_RC, next->number[IN], IBV_QPS_RTS);
	node_ready(&n, qps[IN], K_RC, shared->member[before].number[OUT], IBV_QPS_RTS);
	end_step(CONNECT);
	write_to(&n, qps[OUT], next, 0, me + 1);
	end_step(WRITE);
	expect_written(m, 0, before + 1);
	/*
	 * The process has a socket with a name, a connection to the next process, and a connection
	 * from the previous one.
	 */
	CHECK(count_sockets(NULL) >= 3);
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		run_child();
	write_to(&n, qps[OUT], next, 1, me + 1001);
	end_step(WRITE_AGAIN);
	expect_written(m, 1, before + 1001);
	end_step(GO);
	/* Every second process ends without closing its adapter. */
	if (me % 2 == 0) {
		for (unsigned int i = OUT; i <= TARGET; i++)
			CHECK_EQ(ibv_destroy_qp(qps[i]), 0);
		CHECK_EQ(mlx5dv_reserved_qpn_dealloc(n.ctx, m->number[RESERVED]), 0);
		node_close(&n);
	}
	_exit(0);
}

/* ---- the program */

static int
compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
expect_different_numbers(void)
{
	uint32_t all[N_PROCESSES * N_NUMBERS];

	for (unsigned int i = 0; i < N_PROCESSES; i++)
		memcpy(all + (size_t)i * N_NUMBERS, shared->member[i].number,
			sizeof(shared->member[i].number));
	qsort(all, N_PROCESSES * N_NUMBERS, sizeof(all[0]), compare_numbers);
	for (unsigned int i = 1; i < N_PROCESSES * N_NUMBERS; i++)
		CHECK(all[i] != all[i - 1], "number 0x%x", all[i]);
}

static bool
was_of_member(const struct name *name)
{
	for (unsigned int i = 0; i < N_PROCESSES; i++) {
		for (unsigned int j = 0; j < shared->member[i].n_names; j++) {
			if (shared->member[i].names[j].inode == name->inode)
				return true;
		}
	}
	return false;
}

static void
expect_no_names(void)
{
	static struct name names[MAX_NAMES];
	unsigned int n = read_names(names);

	for (unsigned int i = 0; i < n; i++)
		CHECK(!alone && !was_of_member(&names[i]), "block %u", names[i].block);
}

/* Waits until `n` children have ended. */
static void
wait_for(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		int status;

		CHECK(waitpid(-1, &status, 0) > 0);
		if (status != 0)
			shared->failed = true;
	}
	CHECK(!shared->failed);
}

static void
case_ring(void)
{
	for (unsigned int round = 0; round < N_ROUNDS; round++) {
		memset(shared, 0, sizeof(*shared));
		for (unsigned int i = 0; i < N_PROCESSES; i++) {
			pid_t pid = fork();

			CHECK(pid >= 0);
			if (pid == 0)
				run_member(i);
		}
		/*
		 * The processes have ended, but their children still run. The children now belong
		 * to this program.
		 */
		wait_for(N_PROCESSES);
		expect_different_numbers();
		expect_no_names();
		shared->children_end = true;
		wait_for(N_PROCESSES);
		expect_no_names();
	}
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"64 processes have different numbers, write in a ring, and leave no name",
			case_ring},
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	CHECK(shared != MAP_FAILED);
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	alone = unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
