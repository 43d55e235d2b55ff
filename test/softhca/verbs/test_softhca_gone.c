/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the program unmaps while it is registered, or whose file the program truncates. A
 * real adapter's driver has pinned the pages, so requests must continue to work (ibv_reg_mr(3),
 * mlock(2)). Each case runs in its own process, whose exit status is checked.
 */
#include <endian.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "softhca_pair.h"

#define INCREMENT 0 /* number of an operation on device memory: mlx5dv_dm_map_op_addr(3) */

#define PAGE   4096
#define LEN    (3 * PAGE)
#define REASON "is registered, and the program has"

/*
 * Three registered pages of the server. Their addresses are far below those at which the kernel
 * places other mappings.
 */
struct region {
	uint8_t *at;
	struct ibv_mr *mr;
};

static struct region
region_init(struct pair *p)
{
	uint8_t *here = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct region r;

	CHECK(here != MAP_FAILED && munmap(here, LEN) == 0);
	r.at = mmap(here - (UINT64_C(16) << 30), LEN, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	CHECK(r.at != MAP_FAILED);
	memset(r.at, 0x33, LEN);
	r.mr = ibv_reg_mr(p->pd, r.at, LEN, PAIR_ALL);
	CHECK(r.mr != NULL);
	return r;
}

static void
unmap_middle(const struct region *r)
{
	CHECK_EQ(munmap(r->at + PAGE, PAGE), 0);
}

/* Runs a request of the client over the whole region. The other end is the client's own buffer. */
static void
request(struct pair *p, const struct region *r, bool write)
{
	struct ibv_qp_ex *x = p->client.qpx;

	pair_publish(&p->client);
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	if (write)
		ibv_wr_rdma_write(x, r->mr->rkey, (uintptr_t)r->at);
	else
		ibv_wr_rdma_read(x, r->mr->rkey, (uintptr_t)r->at);
	ibv_wr_set_sge(x, p->client.mr->lkey, (uintptr_t)p->client.buf, LEN);
	CHECK_EQ(ibv_wr_complete(x), 0);
	CHECK_EQ(pair_wait(&p->client).status, IBV_WC_SUCCESS);
}

static void
expect_bytes(const uint8_t *at, uint8_t value)
{
	for (size_t i = 0; i < PAGE; i++)
		CHECK_EQ(at[i], value);
}

static void
write_and_read(struct pair *p, const struct region *r)
{
	unmap_middle(r);
	memset(p->client.buf, 0x11, LEN);
	request(p, r, false);
	expect_bytes(p->client.buf, 0x33);
	expect_bytes(p->client.buf + PAGE, 0);
	expect_bytes(p->client.buf + 2 * PAGE, 0x33);
	memset(p->client.buf, 0x44, LEN);
	request(p, r, true);
	expect_bytes(r->at, 0x44);
	expect_bytes(r->at + 2 * PAGE, 0x44);
}

static void
receive(struct pair *p, const struct region *r)
{
	struct ibv_sge here = {(uintptr_t)r->at, LEN, r->mr->lkey};
	struct ibv_sge there = {(uintptr_t)p->client.buf, LEN, p->client.mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &here, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr send = {.sg_list = &there,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED},
			   *bad_send;

	pair_publish(&p->server);
	CHECK_EQ(ibv_post_recv(p->server.qp, &recv, &bad_recv), 0);
	CHECK_EQ(munmap(r->at, LEN), 0);
	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &send, &bad_send), 0);
	CHECK_EQ(pair_wait(&p->client).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&p->server).status, IBV_WC_SUCCESS);
}

/*
 * Replaces the region's memory by a shared mapping of a file of three pages, and registers it
 * again.
 */
static struct ibv_mr *
replace_by_file(struct pair *p, const struct region *r, int *file)
{
	struct ibv_mr *mr;

	*file = memfd_create("file", 0);
	CHECK(*file >= 0 && ftruncate(*file, LEN) == 0);
	CHECK(mmap(r->at, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, *file, 0) == r->at);
	memset(r->at, 0x33, LEN);
	mr = ibv_reg_mr(p->pd, r->at, LEN, PAIR_ALL);
	CHECK(mr != NULL);
	return mr;
}

/*
 * Makes the adapter install a second SIGBUS handler, which it needs for operations on device
 * memory. This handler passes all other signals to the first handler. If the adapter has no such
 * operations, the first handler remains alone.
 */
static void
add_operation(struct pair *p)
{
	struct ibv_dm *dm = ibv_alloc_dm(p->ctx, &(struct ibv_alloc_dm_attr){.length = 64});
	volatile uint32_t *increment;

	CHECK(dm != NULL);
	increment = mlx5dv_dm_map_op_addr(dm, INCREMENT);
	if (increment == NULL) {
		CHECK_EQ(errno, EOPNOTSUPP);
		return;
	}
	*increment = htobe32(5);
	*increment = htobe32(6);
	CHECK_EQ(ibv_memcpy_from_dm(p->client.buf, dm, 0, 4), 0);
	CHECK_EQ(be32toh(*(uint32_t *)p->client.buf), 11);
}

static void
write_and_read_file(struct pair *p, const struct region *r)
{
	uint8_t byte = 0;
	struct region f = *r;
	int file;

	f.mr = replace_by_file(p, r, &file);
	add_operation(p);
	CHECK_EQ(ftruncate(file, 2 * PAGE), 0);
	memset(p->client.buf, 0x11, LEN);
	request(p, &f, false);
	expect_bytes(p->client.buf, 0x33);
	expect_bytes(p->client.buf + PAGE, 0x33);
	expect_bytes(p->client.buf + 2 * PAGE, 0);
	memset(p->client.buf, 0x44, LEN);
	request(p, &f, true);
	CHECK(pread(file, &byte, 1, 2 * PAGE - 1) == 1 && byte == 0x44);
	CHECK_EQ(lseek(file, 0, SEEK_END), 2 * PAGE);
}

/* The program itself accesses memory beyond the end of its file: it must get SIGBUS. */
static void
touch_file(struct pair *p, const struct region *r)
{
	int file;

	(void)replace_by_file(p, r, &file);
	CHECK_EQ(ftruncate(file, PAGE), 0);
	((volatile uint8_t *)r->at)[PAGE] = 1;
}

/*
 * The program itself accesses memory that it has unmapped. This is an error of the program: it
 * must get SIGSEGV, as without the adapter.
 */
static void
touch(struct pair *p, const struct region *r)
{
	request(p, r, true);
	unmap_middle(r);
	((volatile uint8_t *)r->at)[PAGE] = 1;
}

static void
touch_nothing(struct pair *p, const struct region *r)
{
	request(p, r, true);
	*(volatile uint8_t *)(r->at - PAGE) = 1;
}

static void
send_signal(struct pair *p, const struct region *r)
{
	request(p, r, true);
	CHECK_EQ(raise(SIGSEGV), 0);
}

/*
 * The adapter writes a completion to the CQ's memory, which is unmapped and in no region. Returns
 * only if there is a page at this address afterwards.
 */
static void
lose_cq(struct pair *p, const struct region *r)
{
	const size_t len = (size_t)p->client.n_cqe * p->client.cqe_len / PAGE * PAGE;
	const uint64_t end = pair_now_ms() + PAIR_PATIENCE_MS;
	struct ibv_qp_ex *x = p->client.qpx;
	uint8_t *const at = p->client.cqes;

	request(p, r, true);
	CHECK((uintptr_t)at % PAGE == 0 && len != 0);
	CHECK_EQ(munmap(at, len), 0);
	pair_publish(&p->client);
	ibv_wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(x, r->mr->rkey, (uintptr_t)r->at);
	ibv_wr_set_sge(x, p->client.mr->lkey, (uintptr_t)p->client.buf, LEN);
	CHECK_EQ(ibv_wr_complete(x), 0);
	while (msync(at, PAGE, MS_ASYNC) != 0 && pair_now_ms() < end)
		pair_run();
}

/* A handler that the program installs before it uses the adapter. */
static void
leave(int sig)
{
	_exit(sig == SIGSEGV ? 33 : 34);
}

static void
leave_with_address(int sig, siginfo_t *info, void *context)
{
	_exit(sig == SIGSEGV && context != NULL && ((uintptr_t)info->si_addr & (PAGE - 1)) == 0
			? 35
			: 36);
}

static unsigned int adapter; /* index of the adapter that the children use */

/*
 * Runs a case in a child with this handler. Returns the child's exit status, and sets *lines to the
 * number of lines that it wrote.
 */
static int
end_of(void (*run)(struct pair *p, const struct region *r), const struct sigaction *handler,
	unsigned int *lines)
{
	int err = memfd_create("stderr", 0), status;
	char text[8192] = "";
	pid_t child = fork();

	CHECK(err >= 0 && child >= 0);
	if (child == 0) {
		struct region r;
		struct pair p;

		CHECK_EQ(dup2(err, STDERR_FILENO), STDERR_FILENO);
		CHECK_EQ(sigaction(SIGSEGV, handler, NULL), 0);
		CHECK_EQ(sigaction(SIGBUS, handler, NULL), 0);
		pair_init(&p, &(struct pair_opts){.device = adapter});
		r = region_init(&p);
		run(&p, &r);
		_exit(check_failures == 0 ? 0 : 1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(pread(err, text, sizeof(text) - 1, 0) >= 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		fputs(text, stderr);
	*lines = 0;
	for (const char *at = text; (at = strstr(at, REASON)) != NULL; at++)
		++*lines;
	close(err);
	return status;
}

static const struct sigaction by_default = {.sa_handler = SIG_DFL};

static void
case_requests(void)
{
	unsigned int lines;

	for (adapter = 0; adapter < 2; adapter++) {
		CHECK_EQ(end_of(write_and_read, &by_default, &lines), 0);
		CHECK_EQ(lines, 1);
	}
	adapter = 0;
}

static void
case_files(void)
{
	unsigned int lines;
	int status;

	CHECK_EQ(end_of(write_and_read_file, &by_default, &lines), 0);
	CHECK_EQ(lines, 1);
	status = end_of(touch_file, &by_default, &lines);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	CHECK_EQ(lines, 0);
}

static void
case_receives(void)
{
	unsigned int lines;

	CHECK_EQ(end_of(receive, &by_default, &lines), 0);
	CHECK_EQ(lines, 1);
}

static void
case_own_faults(void)
{
	void (*const runs[])(struct pair * p, const struct region *r) = {touch, touch_nothing,
		send_signal};
	const struct sigaction plain = {.sa_handler = leave};
	const struct sigaction full = {.sa_sigaction = leave_with_address, .sa_flags = SA_SIGINFO};
	unsigned int lines;
	int status;

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		status = end_of(runs[i], &by_default, &lines);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
		CHECK_EQ(lines, 0);
		status = end_of(runs[i], &plain, &lines);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 33);
		CHECK_EQ(lines, 0);
	}
	status = end_of(touch, &full, &lines);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 35);
}

static void
case_queue(void)
{
	const struct sigaction plain = {.sa_handler = leave};
	unsigned int lines;
	int status;

	status = end_of(lose_cq, &by_default, &lines);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "status 0x%x", status);
	CHECK_EQ(lines, 0);
	status = end_of(lose_cq, &plain, &lines);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 33, "status 0x%x", status);
	CHECK_EQ(lines, 0);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"requests continue over memory that was unmapped", case_requests},
		{"requests continue beyond the end of a file that was made shorter", case_files},
		{"a receive whose memory was unmapped completes", case_receives},
		{"the program's own faults end it, or go to its handler", case_own_faults},
		{"a queue whose memory was unmapped ends the program, or its handler is called",
			case_queue},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
