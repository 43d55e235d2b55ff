/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The setting `reorder`. Without a fence, work requests that depend on each other give wrong
 * results. With the fence of the manual pages they give right results. Where the pages promise an
 * order without a fence, the adapter keeps this order.
 */
#include <signal.h>
#include <sys/mman.h>

#include "softhca_scribe.h"

#define ROUNDS 400
#define LEN    256 /* bytes of a copy, which moves in pieces */

enum {
	A = 0,
	B = 4096,
	C = 8192,
	RESULT = 12288
};

static struct pair p;

/* ---- posting to the client's queue: a batch between begin() and end() */

static uint64_t posted, polled;

static void
begin(void)
{
	pair_publish(&p.client);
	ibv_wr_start(p.client.qpx);
}

static void
end(void)
{
	CHECK_EQ(ibv_wr_complete(p.client.qpx), 0);
}

static void
flags(unsigned int more)
{
	p.client.qpx->wr_id = posted++;
	p.client.qpx->wr_flags = IBV_SEND_SIGNALED | more;
}

static void
local(uint32_t at, uint32_t len)
{
	ibv_wr_set_sge(p.client.qpx, p.client.mr->lkey, (uintptr_t)p.client.buf + at, len);
}

static void
put_memcpy(unsigned int more, uint32_t src, uint32_t dst)
{
	flags(more);
	mlx5dv_wr_memcpy(p.client.dvx, p.client.mr->lkey, (uintptr_t)p.client.buf + dst,
		p.client.mr->lkey, (uintptr_t)p.client.buf + src, LEN);
}

static void
put_write(unsigned int more, uint32_t src, uint32_t dst)
{
	flags(more);
	ibv_wr_rdma_write(p.client.qpx, p.server.mr->rkey, (uintptr_t)p.server.buf + dst);
	local(src, LEN);
}

static void
put_read(unsigned int more, uint32_t src, uint32_t dst)
{
	flags(more);
	ibv_wr_rdma_read(p.client.qpx, p.server.mr->rkey, (uintptr_t)p.server.buf + src);
	local(dst, LEN);
}

static void
put_add(unsigned int more, uint64_t add)
{
	flags(more);
	ibv_wr_atomic_fetch_add(p.client.qpx, p.server.mr->rkey, (uintptr_t)p.server.buf + A, add);
	local(RESULT, 8);
}

/*
 * Waits for all completions: each must be successful, and they must come in the order of posting.
 */
static void
wait_all(void)
{
	while (polled != posted) {
		struct ibv_wc wc = pair_wait(&p.client);

		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, polled++);
	}
}

static bool
is_all(const struct pair_end *e, uint32_t at, uint32_t len, int byte)
{
	for (uint32_t i = 0; i < len; i++)
		if (e->buf[at + i] != byte)
			return false;
	return true;
}

static void
open_pair(int access)
{
	pair_init(&p, &(struct pair_opts){.access = access, .own_uar = true});
	posted = polled = 0;
}

/* ---- operations that are not ordered without a fence */

/*
 * One round of two work requests. Returns true if the second work request used the result of the
 * first.
 */
typedef bool round_fn(unsigned int second_flags, uint8_t byte);

static bool
memcpy_then_memcpy(unsigned int second_flags, uint8_t byte)
{
	memset(p.client.buf + A, byte, LEN);
	begin();
	put_memcpy(0, A, B);
	put_memcpy(second_flags, B, C);
	end();
	wait_all();
	CHECK(is_all(&p.client, B, LEN, byte));
	return is_all(&p.client, C, LEN, byte);
}

static bool
memcpy_then_write(unsigned int second_flags, uint8_t byte)
{
	memset(p.client.buf + A, byte, LEN);
	begin();
	put_memcpy(0, A, B);
	put_write(second_flags, B, C);
	end();
	wait_all();
	return is_all(&p.server, C, LEN, byte);
}

static bool
read_then_write(unsigned int second_flags, uint8_t byte)
{
	memset(p.server.buf + A, byte, LEN);
	begin();
	put_read(0, A, B);
	put_write(second_flags, B, C);
	end();
	wait_all();
	CHECK(is_all(&p.client, B, LEN, byte));
	return is_all(&p.server, C, LEN, byte);
}

static bool
atomic_then_write(unsigned int second_flags, uint8_t byte)
{
	memset(p.server.buf + A, byte, 8);
	memset(p.client.buf + RESULT, 0, LEN);
	begin();
	put_add(0, 0);
	put_write(second_flags, RESULT, C);
	end();
	wait_all();
	CHECK(is_all(&p.client, RESULT, 8, byte));
	return is_all(&p.server, C, 8, byte);
}

static void
check_needs_fence(round_fn *round)
{
	unsigned int late = 0;

	open_pair(0);
	for (unsigned int i = 0; i < ROUNDS; i++)
		late += !round(0, (uint8_t)(1 + i % 255));
	/* A message to another process is executed alone. */
	CHECK(late > 0 || pair_is_loop(), "%u of %u", late, ROUNDS);
	CHECK(late < ROUNDS, "%u of %u", late, ROUNDS);
	for (unsigned int i = 0; i < ROUNDS; i++)
		CHECK(round(IBV_SEND_FENCE, (uint8_t)(1 + i % 255)));
	pair_fini(&p);
}

static void
case_memcpy_memcpy(void)
{
	check_needs_fence(memcpy_then_memcpy);
}

static void
case_memcpy_write(void)
{
	check_needs_fence(memcpy_then_write);
}

static void
case_read_write(void)
{
	check_needs_fence(read_then_write);
}

static void
case_atomic_write(void)
{
	check_needs_fence(atomic_then_write);
}

/* ---- keys */

/* The modes of the fence in the control segment, MLX5_FENCE_MODE_* of Linux: mlx5/qp.h. */
enum {
	FENCE_MODE_FENCE = 2 << 5,
	FENCE_MODE_STRONG_ORDERING = 3 << 5
};

static struct mlx5dv_mkey *mkey;

static void
open_pair_with_key(void)
{
	struct mlx5dv_mkey_init_attr attr = {.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = 4};

	pair_init(&p, &(struct pair_opts){.own_uar = true, .keys = true});
	posted = polled = 0;
	scribe_init(&p);
	attr.pd = p.pd;
	mkey = mlx5dv_create_mkey(&attr);
	CHECK(mkey != NULL);
}

static void
close_pair_with_key(void)
{
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	pair_fini(&p);
}

/* Posts a UMR that gives the key a layout over LEN bytes of the client's memory at offset `at`. */
static void
put_layout_by(const struct pair_end *e, uint32_t at)
{
	struct ibv_sge sge = {(uintptr_t)p.client.buf + at, LEN, p.client.mr->lkey};

	mlx5dv_wr_mr_list(e->dvx, mkey, PAIR_ALL, 1, &sge);
}

static void
put_layout(uint32_t at)
{
	flags(IBV_SEND_INLINE);
	put_layout_by(&p.client, at);
}

/*
 * Returns a WQE with the fence `fence`. libmlx5 sets a fence in the WQE after a UMR; a WQE of the
 * scribe does not follow a UMR, so it has no such fence.
 */
static struct scribe_wqe
scribed(uint8_t opcode, uint16_t from, uint8_t fence)
{
	struct scribe_wqe w;

	CHECK_EQ(ibv_wr_complete(p.server.qpx), 0);
	w = scribe_take(&p.server, from, opcode, &p.client);
	w.bytes[offsetof(struct mlx5_wqe_ctrl_seg, fm_ce_se)] |= fence;
	return w;
}

static uint16_t
begin_scribed(unsigned int more)
{
	pair_publish(&p.server);
	ibv_wr_start(p.server.qpx);
	p.server.qpx->wr_flags = IBV_SEND_SIGNALED | more;
	return scribe_here(&p.server);
}

static struct scribe_wqe
write_from_key(uint8_t fence)
{
	uint16_t from = begin_scribed(0);

	ibv_wr_rdma_write(p.server.qpx, p.server.mr->rkey, (uintptr_t)p.server.buf + C);
	ibv_wr_set_sge(p.server.qpx, mkey->lkey, 0, LEN);
	return scribed(MLX5_OPCODE_RDMA_WRITE, from, fence);
}

static void
put_scribed(const struct scribe_wqe *w)
{
	flags(0);
	mlx5dv_wr_raw_wqe(p.client.dvx, w->bytes);
}

/* Counts how often a write after a UMR used the old layout of the key. */
static unsigned int
early(const struct scribe_wqe *write)
{
	const uint32_t places[] = {A, B};
	unsigned int n = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint32_t was = places[i % 2], is = places[1 - i % 2];

		begin();
		put_layout(was);
		end();
		wait_all();
		memset(p.client.buf + was, 1, LEN);
		memset(p.client.buf + is, 2, LEN);
		begin();
		put_layout(is);
		put_scribed(write);
		end();
		wait_all();
		/* All bytes must be moved by one of the two layouts, never by a mixture. */
		CHECK(is_all(&p.server, C, LEN, 1) || is_all(&p.server, C, LEN, 2));
		n += is_all(&p.server, C, LEN, 1);
	}
	return n;
}

static void
case_layout(void)
{
	static const uint8_t wait[] = {MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE, MLX5_WQE_CTRL_FENCE,
		FENCE_MODE_STRONG_ORDERING};
	static const uint8_t do_not[] = {0, FENCE_MODE_FENCE};
	struct scribe_wqe write;

	open_pair_with_key();
	for (size_t i = 0; i < sizeof(wait); i++) {
		write = write_from_key(wait[i]);
		CHECK(early(&write) == 0, "fence mode %u", wait[i] >> 5);
	}
	for (size_t i = 0; i < sizeof(do_not); i++) {
		unsigned int n;

		write = write_from_key(do_not[i]);
		n = early(&write);
		CHECK(n > 0 && n < ROUNDS, "%u of %u with fence mode %u", n, ROUNDS,
			do_not[i] >> 5);
	}
	close_pair_with_key();
}

/* After two UMRs the key must have the second layout, even without a fence between them. */
static void
case_layouts_keep_order(void)
{
	struct scribe_wqe write, layout;
	uint16_t from;

	open_pair_with_key();
	write = write_from_key(MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE);
	memset(p.client.buf + B, 2, LEN);
	from = begin_scribed(IBV_SEND_INLINE);
	put_layout_by(&p.server, B);
	layout = scribed(MLX5_OPCODE_UMR, from, 0);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		begin();
		put_layout(A);
		put_scribed(&layout);
		put_scribed(&write);
		end();
		wait_all();
		CHECK(is_all(&p.server, C, LEN, 2));
	}
	close_pair_with_key();
}

/* ---- writes */

/*
 * Posts two writes to the same memory, and counts how often the bytes of the first write are there
 * at the end.
 */
static unsigned int
overtaken(void)
{
	unsigned int n = 0;

	memset(p.client.buf + A, 1, LEN);
	memset(p.client.buf + B, 2, LEN);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		begin();
		put_write(0, A, C);
		put_write(0, B, C);
		end();
		wait_all();
		n += !is_all(&p.server, C, LEN, 2);
	}
	return n;
}

static void
case_writes_keep_order(void)
{
	open_pair(0);
	CHECK_EQ(overtaken(), 0);
	pair_fini(&p);
}

static void
case_relaxed_writes(void)
{
	open_pair(PAIR_ALL | IBV_ACCESS_RELAXED_ORDERING);
	CHECK(overtaken() > 0 || pair_is_loop());
	pair_fini(&p);
}

/*
 * A write may read its source before an earlier write to this source has arrived: only a completion
 * shows that bytes have arrived.
 */
static void
case_write_of_what_was_written(void)
{
	unsigned int late = 0;
	uint8_t before = 0;

	open_pair(0);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint8_t byte = (uint8_t)(1 + i % 255);

		memset(p.client.buf + A, byte, LEN);
		begin();
		flags(0);
		ibv_wr_rdma_write(p.client.qpx, p.client.mr->rkey, (uintptr_t)p.client.buf + B);
		local(A, LEN);
		put_write(IBV_SEND_FENCE, B, C);
		end();
		wait_all();
		CHECK(is_all(&p.client, B, LEN, byte));
		late += !is_all(&p.server, C, LEN, byte);
		for (unsigned int n = 0; n < LEN; n++)
			CHECK(p.server.buf[C + n] == byte || p.server.buf[C + n] == before);
		before = byte;
	}
	CHECK((late > 0 || pair_is_loop()) && late < ROUNDS, "%u of %u", late, ROUNDS);
	pair_fini(&p);
}

/*
 * With the strong ordering fence, the source must be read after the bytes of the earlier write have
 * arrived.
 */
static void
case_strong_ordering_after_write(void)
{
	struct scribe_wqe write;
	uint16_t from;

	open_pair_with_key();
	from = begin_scribed(0);
	ibv_wr_rdma_write(p.server.qpx, p.server.mr->rkey, (uintptr_t)p.server.buf + C);
	ibv_wr_set_sge(p.server.qpx, p.client.mr->lkey, (uintptr_t)p.client.buf + B, LEN);
	write = scribed(MLX5_OPCODE_RDMA_WRITE, from, FENCE_MODE_STRONG_ORDERING);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint8_t byte = (uint8_t)(1 + i % 255);

		memset(p.client.buf + A, byte, LEN);
		begin();
		flags(0);
		ibv_wr_rdma_write(p.client.qpx, p.client.mr->rkey, (uintptr_t)p.client.buf + B);
		local(A, LEN);
		put_scribed(&write);
		end();
		wait_all();
		CHECK(is_all(&p.server, C, LEN, byte));
	}
	close_pair_with_key();
}

/*
 * The receive of a SEND must complete after the bytes of the write before it have arrived. If both
 * write to the same memory, the bytes of the SEND must stay.
 */
static void
case_send_after_write(void)
{
	open_pair(0);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint8_t byte = (uint8_t)(1 + i % 255);

		memset(p.client.buf + A, byte, LEN);
		memset(p.client.buf + B, byte + 1, 64);
		pair_post_recv(&p.server, i, C, 64);
		begin();
		put_write(0, A, C);
		flags(0);
		ibv_wr_send(p.client.qpx);
		local(B, 64);
		end();
		CHECK_EQ(pair_wait(&p.server).status, IBV_WC_SUCCESS);
		CHECK(is_all(&p.server, C, 64, (uint8_t)(byte + 1)));
		CHECK(is_all(&p.server, C + 64, LEN - 64, byte));
		wait_all();
	}
	pair_fini(&p);
}

/* A read after a write must read the written bytes; an atomic after a write must change them. */
static void
case_read_after_write(void)
{
	open_pair(0);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint8_t byte = (uint8_t)(1 + i % 255);
		uint64_t was, now;

		memset(p.client.buf + A, byte, LEN);
		memcpy(&was, p.client.buf + A, sizeof(was));
		begin();
		put_write(0, A, A);
		put_read(0, A, B);
		put_add(0, 3);
		end();
		wait_all();
		CHECK(is_all(&p.client, B, LEN, byte));
		memcpy(&now, p.client.buf + RESULT, sizeof(now));
		CHECK_EQ(now, was);
		memcpy(&now, p.server.buf + A, sizeof(now));
		CHECK_EQ(now, was + 3);
	}
	pair_fini(&p);
}

/* ---- errors */

/*
 * WQEs before a failed WQE must have moved all their bytes; WQEs after it must have moved no bytes.
 */
static void
case_errors(void)
{
	for (unsigned int i = 0; i < 40; i++) {
		enum ibv_wc_status want[4] = {IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_REM_ACCESS_ERR,
			IBV_WC_WR_FLUSH_ERR};

		open_pair(0);
		memset(p.client.buf + A, 5, LEN);
		/* Each round starts at another position in the sequence of random numbers. */
		for (unsigned int n = 0; n < i; n++) {
			begin();
			put_memcpy(0, A, RESULT);
			end();
		}
		wait_all();
		begin();
		put_memcpy(0, A, B);
		put_write(0, A, B);
		flags(0);
		ibv_wr_rdma_write(p.client.qpx, p.server.mr->rkey ^ 0x5500,
			(uintptr_t)p.server.buf + B);
		local(A, LEN);
		put_memcpy(0, A, C);
		end();
		for (unsigned int n = 0; n < 4; n++) {
			struct ibv_wc wc = pair_wait(&p.client);

			CHECK_EQ(wc.wr_id, i + n);
			CHECK_EQ(wc.status, want[n]);
		}
		CHECK(is_all(&p.client, B, LEN, 5));
		CHECK(is_all(&p.server, B, LEN, 5));
		CHECK(is_all(&p.client, C, LEN, 0));
		pair_fini(&p);
	}
}

/* ---- completions */

#define PAGE    4096u
#define N_BATCH 4
/* bytes of each work request: pages of the server's memory */
#define BATCH_LEN (PAIR_BUF / N_BATCH)

/*
 * The server's memory is read-only, so the first write to each of its pages causes a signal, whose
 * handler counts.
 */
static struct {
	uint64_t first; /* number of the first CQE of the batch */
	/*
	 * n: number of pages that were written to. early: number of those pages whose write had
	 * already completed when the page was written to.
	 */
	unsigned int n, early;
} trap;

static bool
cqe_is_there(uint64_t i)
{
	size_t slot = i % p.client.n_cqe;
	uint8_t op_own = *(volatile uint8_t *)(p.client.cqes + (slot + 1) * p.client.cqe_len - 1);

	return op_own >> 4 != MLX5_CQE_INVALID &&
	       (op_own & MLX5_CQE_OWNER_MASK) == (i / p.client.n_cqe & 1);
}

static void
on_write(int sig, siginfo_t *info, void *context)
{
	uintptr_t off = (uintptr_t)info->si_addr - (uintptr_t)p.server.buf;

	(void)context;
	if (off >= PAIR_BUF) {
		signal(sig, SIG_DFL);
		return;
	}
	trap.n++;
	trap.early += cqe_is_there(trap.first + off / BATCH_LEN);
	CHECK_EQ(mprotect(p.server.buf + off / PAGE * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
}

/*
 * Posts work request i of the batch, from the client's memory to the server's memory, with one of
 * several opcodes.
 */
static void
put_any(unsigned int kind, unsigned int i)
{
	uintptr_t from = (uintptr_t)p.client.buf + i * BATCH_LEN;
	uintptr_t to = (uintptr_t)p.server.buf + i * BATCH_LEN;

	flags(0);
	if (kind == 0) {
		mlx5dv_wr_memcpy(p.client.dvx, p.server.mr->lkey, to, p.client.mr->lkey, from,
			BATCH_LEN);
	} else if (kind == 1) {
		ibv_wr_rdma_write(p.client.qpx, p.server.mr->rkey, to);
		ibv_wr_set_sge(p.client.qpx, p.client.mr->lkey, from, BATCH_LEN);
	} else {
		ibv_wr_rdma_read(p.client.qpx, p.client.mr->rkey, from);
		ibv_wr_set_sge(p.client.qpx, p.server.mr->lkey, to, BATCH_LEN);
	}
}

static void
case_completions(void)
{
	struct sigaction trapping = {.sa_sigaction = on_write, .sa_flags = SA_SIGINFO}, before;

	if (!pair_is_pumped())
		return; /* another thread uses the CQ's memory */
	open_pair(0);
	CHECK_EQ(sigaction(SIGSEGV, &trapping, &before), 0);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		trap.first = posted;
		trap.n = trap.early = 0;
		memset(p.client.buf, (int)(1 + i % 255), PAIR_BUF);
		CHECK_EQ(mprotect(p.server.buf, PAIR_BUF, PROT_READ), 0);
		begin();
		for (unsigned int n = 0; n < N_BATCH; n++)
			put_any(i % 3, n);
		end();
		wait_all();
		CHECK_EQ(trap.n, PAIR_BUF / PAGE);
		CHECK_EQ(trap.early, 0);
	}
	CHECK_EQ(sigaction(SIGSEGV, &before, NULL), 0);
	pair_fini(&p);
}

/* ---- the seed */

/*
 * Posts copies that overwrite each other, runs the adapter, and returns a hash of the resulting
 * bytes.
 */
static uint64_t
outcome(void)
{
	uint64_t hash = 14695981039346656037u, seed = 1;

	open_pair(0);
	for (uint32_t i = 0; i < PAIR_BUF; i++)
		p.client.buf[i] = (uint8_t)check_random(&seed);
	for (unsigned int i = 0; i < 50; i++) {
		begin();
		for (unsigned int n = 0; n < 8; n++)
			put_memcpy(0, check_random(&seed) % 1024,
				2048 + check_random(&seed) % 1024);
		for (unsigned int n = 0; n < 8; n++)
			put_memcpy(0, 2048 + check_random(&seed) % 1024,
				check_random(&seed) % 1024);
		end();
		wait_all();
	}
	for (uint32_t i = 0; i < PAIR_BUF; i++)
		hash = (hash ^ p.client.buf[i]) * 1099511628211u;
	pair_fini(&p);
	return hash;
}

/* Runs this program again with another seed and returns its result. */
static uint64_t
outcome_of(const char *seed)
{
	char command[256], self[200] = {0}, line[64] = {0};
	FILE *f;

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(command, sizeof(command), "SOFTHCA_REORDER=%s '%s' --outcome", seed, self);
	f = popen(command, "r");
	CHECK(f != NULL);
	CHECK(fgets(line, sizeof(line), f) != NULL);
	CHECK_EQ(pclose(f), 0);
	return strtoull(line, NULL, 16);
}

static void
case_seed(void)
{
	uint64_t first;

	if (!pair_is_pumped())
		return; /* with threads, the times at which a thread reads the memory vary */
	first = outcome_of("1");
	CHECK_EQ(outcome_of("1"), first);
	CHECK(outcome_of("2") != first);
	CHECK_EQ(outcome_of("0"), outcome_of("0"));
	CHECK(outcome_of("0") != first);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a memcpy after a memcpy needs a fence", case_memcpy_memcpy},
		{"a write after a memcpy needs a fence", case_memcpy_write},
		{"a write after a read needs a fence", case_read_write},
		{"a write after an atomic needs a fence", case_atomic_write},
		{"a write after a UMR needs the small fence", case_layout},
		{"UMRs keep their order", case_layouts_keep_order},
		{"writes arrive in order", case_writes_keep_order},
		{"writes to relaxed memory overtake each other", case_relaxed_writes},
		{"a write may read its source before an earlier write has arrived there",
			case_write_of_what_was_written},
		{"a write with strong ordering reads the bytes of an earlier write",
			case_strong_ordering_after_write},
		{"a message arrives after the writes before it", case_send_after_write},
		{"reads and atomics see the writes before them", case_read_after_write},
		{"a failed WQE stops those after it, and none before it", case_errors},
		{"no completion comes before its bytes", case_completions},
		{"one seed gives one order", case_seed},
	};

	if (argc > 1 && strcmp(argv[1], "--outcome") == 0) {
		printf("%llx\n", (unsigned long long)outcome());
		return check_failures != 0;
	}
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
