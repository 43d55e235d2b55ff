/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing model: each completion must be made at the nanosecond that the settings define. This
 * test has its own computation of the times.
 */
#include <stdlib.h>

#include "softhca_clock.h"

/* In ns. meson.build gives this test settings with the same values. */
#define LATENCY    UINT64_C(1000000)
#define ROUND_TRIP UINT64_C(20000000)
#define BYTE       UINT64_C(100) /* ns for one byte: 80 Mbit/s are 10 bytes a microsecond */

/* The time from when an operation of 10 bytes leaves its queue until it completes. */
#define TRIP (10 * BYTE + ROUND_TRIP)

static struct pair p;
static uint64_t doorbell; /* the setting `doorbell` in ns; 0 by default */

/* Returns the time at which the adapter first reads a doorbell that is rung now. */
static uint64_t
ready(void)
{
	return clock_ns + doorbell;
}

static void
post_write(struct pair_end *from, struct pair_end *to, uint32_t len, unsigned int n)
{
	struct ibv_sge sge = {(uintptr_t)from->buf, len, from->mr->lkey};
	struct ibv_send_wr wr[32], *bad;

	for (unsigned int i = 0; i < n; i++) {
		wr[i] = (struct ibv_send_wr){.wr_id = i,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.wr.rdma = {(uintptr_t)to->buf + 32768, to->mr->rkey}};
	}
	pair_publish(from);
	CHECK_EQ(ibv_post_send(from->qp, wr, &bad), 0);
	clock_settle();
}

static void
expect_at(struct pair_end *e, uint64_t at)
{
	CHECK_EQ(clock_expect_at(e, at).status, IBV_WC_SUCCESS);
}

/*
 * If n operations are posted at once, operation i must complete after i latencies, the time of its
 * bytes, and one round trip.
 */
static void
case_burst(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	start = ready();
	post_write(&p.client, &p.server, 10, 30);
	for (unsigned int i = 1; i <= 30; i++)
		expect_at(&p.client, start + i * LATENCY + 10 * BYTE + ROUND_TRIP);
	clock_pass(10 * ROUND_TRIP);
	clock_expect_none(&p.client);
	pair_fini(&p);
}

/*
 * Data must take their time on the port: 20,000 bytes take 2 ms. This is longer than the latency,
 * which passes at the same time.
 */
static void
case_bandwidth(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	start = ready();
	post_write(&p.client, &p.server, 20000, 20);
	for (unsigned int i = 1; i <= 20; i++)
		expect_at(&p.client, start + LATENCY + i * 20000 * BYTE + ROUND_TRIP);
	pair_fini(&p);
}

/*
 * Each queue must have its own latency. Both queues share one port, which must send the messages of
 * 2 ms one after the other.
 */
static void
case_two_queues(void)
{
	unsigned int done[2] = {0, 0};
	struct ibv_wc wc;
	uint64_t start;

	pair_init(&p, NULL);
	start = ready();
	post_write(&p.client, &p.server, 20000, 10);
	post_write(&p.server, &p.client, 20000, 10);
	for (unsigned int i = 1; i <= 20; i++) {
		uint64_t at = start + LATENCY + i * 20000 * BYTE + ROUND_TRIP;
		unsigned int client;

		clock_pass(at - 1 - clock_ns);
		clock_expect_none(&p.client);
		clock_expect_none(&p.server);
		clock_pass(1);
		client = (unsigned int)ibv_poll_cq(p.client.cq, 1, &wc);
		CHECK_EQ((unsigned int)ibv_poll_cq(p.server.cq, 1, &wc), 1 - client);
		done[client]++;
	}
	CHECK_EQ(done[0], 10);
	CHECK_EQ(done[1], 10);
	pair_fini(&p);
}

/* A later doorbell must count from its own time: the waits of earlier doorbells are not added. */
static void
case_doorbells(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	start = ready();
	post_write(&p.client, &p.server, 10, 1);
	clock_pass(LATENCY / 2);
	post_write(&p.client, &p.server, 10, 1);
	clock_pass(LATENCY * 4);
	post_write(&p.client, &p.server, 10, 1);
	expect_at(&p.client, start + LATENCY + 10 * BYTE + ROUND_TRIP);
	expect_at(&p.client, start + 2 * LATENCY + 10 * BYTE + ROUND_TRIP);
	expect_at(&p.client, start + LATENCY / 2 + 5 * LATENCY + 10 * BYTE + ROUND_TRIP);
	clock_pass(5 * ROUND_TRIP);
	start = ready();
	post_write(&p.client, &p.server, 10, 1);
	expect_at(&p.client, start + LATENCY + 10 * BYTE + ROUND_TRIP);
	pair_fini(&p);
}

/*
 * Each of many doorbells must count from its own time, even before the first operation has ended.
 */
static void
case_many_doorbells(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	start = ready();
	for (unsigned int i = 0; i < 12; i++) {
		post_write(&p.client, &p.server, 10, 1);
		clock_pass(1500000);
	}
	for (unsigned int i = 0; i < 12; i++)
		expect_at(&p.client, start + i * UINT64_C(1500000) + LATENCY + TRIP);
	pair_fini(&p);
}

/* Work that waits in SQD must leave its queue only after the change to RTS. */
static void
case_sqd(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	start = ready();
	CHECK_EQ(softhca_fault("sq_drained op=2"), 0);
	post_write(&p.client, &p.server, 10, 4);
	expect_at(&p.client, start + LATENCY + TRIP);
	clock_pass(10 * ROUND_TRIP);
	start = clock_ns;
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RTS), 0);
	for (unsigned int i = 1; i <= 3; i++)
		expect_at(&p.client, start + i * LATENCY + TRIP);
	pair_fini(&p);
}

static void
post_one(enum ibv_wr_opcode opcode, unsigned int flags, const uint32_t *lens, int n)
{
	struct ibv_sge sge[4];
	struct ibv_send_wr wr = {.sg_list = sge,
		.num_sge = n,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED | flags};
	struct ibv_send_wr *bad;

	for (int i = 0; i < n; i++)
		sge[i] = (struct ibv_sge){(uintptr_t)p.client.buf + 4096 * (unsigned int)i, lens[i],
			p.client.mr->lkey};
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = (uintptr_t)p.server.buf;
		wr.wr.atomic.rkey = p.server.mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)p.server.buf;
		wr.wr.rdma.rkey = p.server.mr->rkey;
	}
	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(p.client.qp, &wr, &bad), 0);
	clock_settle();
}

/* The bytes of all segments must count, inline or not. An atomic has 8 bytes. */
static void
case_bytes(void)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		unsigned int flags;
		int n;
		uint32_t lens[4], bytes;
	} ops[] = {
		{IBV_WR_RDMA_WRITE, 0, 4, {100, 2000, 30, 4}, 2134},
		{IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, 1, {200}, 200},
		{IBV_WR_RDMA_WRITE, IBV_SEND_INLINE, 2, {12, 13}, 25},
		{IBV_WR_RDMA_WRITE_WITH_IMM, 0, 1, {77}, 77},
		{IBV_WR_RDMA_READ, 0, 2, {3000, 1}, 3001},
		{IBV_WR_SEND, 0, 2, {500, 50}, 550},
		{IBV_WR_SEND, IBV_SEND_INLINE, 1, {28}, 28},
		{IBV_WR_SEND, 0, 0, {0}, 0},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 1, {8}, 8},
		{IBV_WR_ATOMIC_CMP_AND_SWP, 0, 1, {8}, 8},
	};

	pair_init(&p, NULL);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		uint64_t start = ready();

		pair_post_recv(&p.server, i, 32768, 8192);
		post_one(ops[i].opcode, ops[i].flags, ops[i].lens, ops[i].n);
		expect_at(&p.client, start + LATENCY + ops[i].bytes * BYTE + ROUND_TRIP);
	}
	pair_fini(&p);
}

/* A copy inside the adapter must use no port and have no round trip. */
static void
case_local(void)
{
	uint64_t start;

	pair_init(&p, NULL);
	CHECK(pair_has_mmo(p.ctx));
	start = ready();
	ibv_wr_start(p.client.qpx);
	for (unsigned int i = 0; i < 10; i++) {
		p.client.qpx->wr_id = i;
		p.client.qpx->wr_flags = IBV_SEND_SIGNALED;
		mlx5dv_wr_memcpy(p.client.dvx, p.client.mr->lkey, (uintptr_t)p.client.buf + 32768,
			p.client.mr->lkey, (uintptr_t)p.client.buf, 20000);
	}
	pair_publish(&p.client);
	CHECK_EQ(ibv_wr_complete(p.client.qpx), 0);
	for (unsigned int i = 1; i <= 10; i++)
		expect_at(&p.client, start + i * LATENCY);
	pair_fini(&p);
}

/*
 * Binding a window is a UMR: it must take the latency of its queue, but no time on the port and no
 * round trip.
 */
static void
case_local_umr(void)
{
	struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED};
	struct ibv_mw *mw;
	uint64_t start;

	pair_init(&p, &(struct pair_opts){.access = PAIR_ALL | IBV_ACCESS_MW_BIND});
	mw = ibv_alloc_mw(p.pd, IBV_MW_TYPE_1);
	CHECK(mw != NULL);
	bind.bind_info = (struct ibv_mw_bind_info){p.client.mr, (uintptr_t)p.client.buf, 4096,
		IBV_ACCESS_REMOTE_READ};
	start = ready();
	pair_publish(&p.client);
	CHECK_EQ(ibv_bind_mw(p.client.qp, mw, &bind), 0);
	clock_settle();
	expect_at(&p.client, start + LATENCY);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	pair_fini(&p);
}

/* ---- fences */

#define MAX_OPS 4

/* Operations of 10 bytes, which are posted at once. An atomic has 8 bytes. */
struct op {
	enum ibv_wr_opcode opcode;
	unsigned int flags;
};

static void
post_ops(const struct op *ops, unsigned int n)
{
	struct ibv_sge sge[MAX_OPS];
	struct ibv_send_wr wr[MAX_OPS], *bad;

	for (unsigned int i = 0; i < n; i++) {
		const bool atomic = ops[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
				    ops[i].opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

		sge[i] = (struct ibv_sge){(uintptr_t)p.client.buf + 64 * i, atomic ? 8 : 10,
			p.client.mr->lkey};
		wr[i] = (struct ibv_send_wr){.wr_id = i,
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = ops[i].opcode,
			.send_flags = IBV_SEND_SIGNALED | ops[i].flags,
			.next = i + 1 < n ? &wr[i + 1] : NULL};
		if (atomic) {
			wr[i].wr.atomic.remote_addr = (uintptr_t)p.server.buf;
			wr[i].wr.atomic.rkey = p.server.mr->rkey;
		} else {
			wr[i].wr.rdma.remote_addr = (uintptr_t)p.server.buf;
			wr[i].wr.rdma.rkey = p.server.mr->rkey;
		}
	}
	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(p.client.qp, wr, &bad), 0);
	clock_settle();
}

/*
 * A read or an atomic, then a SEND, then a write. With IBV_SEND_FENCE the SEND must begin when the
 * answer has arrived, and the write must begin after the SEND.
 */
static void
case_fence(void)
{
	static const struct {
		enum ibv_wr_opcode first;
		uint64_t bytes;
		bool waits;
	} tries[] = {
		{IBV_WR_RDMA_READ, 10, true},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, 8, true},
		{IBV_WR_ATOMIC_CMP_AND_SWP, 8, true},
		{IBV_WR_RDMA_WRITE, 10, false},
	};

	for (size_t i = 0; i < 2 * sizeof(tries) / sizeof(tries[0]); i++) {
		const bool fenced = i % 2 == 0;
		const struct op ops[] = {{tries[i / 2].first, 0},
			{IBV_WR_SEND, fenced ? IBV_SEND_FENCE : 0}, {IBV_WR_RDMA_WRITE, 0}};
		uint64_t first, begin;

		pair_init(&p, NULL);
		pair_post_recv(&p.server, 0, 32768, 64);
		begin = ready() + LATENCY;
		first = begin + tries[i / 2].bytes * BYTE + ROUND_TRIP;
		if (fenced && tries[i / 2].waits)
			begin = first;
		post_ops(ops, 3);
		expect_at(&p.client, first);
		expect_at(&p.client, begin + LATENCY + TRIP);
		CHECK_EQ(clock_expect_one(&p.server).status, IBV_WC_SUCCESS);
		expect_at(&p.client, begin + 2 * LATENCY + TRIP);
		pair_fini(&p);
	}
}

/*
 * The fence must wait for the last of several reads. Work that is posted later must also come after
 * the fenced operation.
 */
static void
case_fence_of_reads(void)
{
	const struct op ops[] = {{IBV_WR_RDMA_READ, 0}, {IBV_WR_RDMA_READ, 0},
		{IBV_WR_RDMA_WRITE, 0}, {IBV_WR_RDMA_WRITE, IBV_SEND_FENCE}};
	uint64_t start, read;

	pair_init(&p, NULL);
	start = ready();
	read = start + 2 * LATENCY + TRIP;
	post_ops(ops, 4);
	clock_pass(LATENCY);
	post_ops(ops, 1);
	expect_at(&p.client, start + LATENCY + TRIP);
	expect_at(&p.client, read);
	expect_at(&p.client, start + 3 * LATENCY + TRIP);
	expect_at(&p.client, read + LATENCY + TRIP);
	expect_at(&p.client, read + 2 * LATENCY + TRIP);
	pair_fini(&p);
}

/*
 * Posts a NOP with this fence. The fence of a WQE has three bits: MLX5_FENCE_MODE_* of the kernel's
 * include/linux/mlx5/qp.h.
 */
static void
post_nop(unsigned int fence)
{
	struct mlx5_wqe_ctrl_seg ctrl = {.opmod_idx_opcode = htobe32(MLX5_OPCODE_NOP),
		.qpn_ds = htobe32(p.client.qp->qp_num << 8 | 1),
		.fm_ce_se = (uint8_t)(fence << 5 | MLX5_WQE_CTRL_CQ_UPDATE)};

	pair_publish(&p.client);
	ibv_wr_start(p.client.qpx);
	p.client.qpx->wr_flags = IBV_SEND_SIGNALED;
	mlx5dv_wr_raw_wqe(p.client.dvx, &ctrl);
	CHECK_EQ(ibv_wr_complete(p.client.qpx), 0);
	clock_settle();
}

/*
 * A NOP has no round trip. If it need not wait, it must complete at the same time as the operation
 * before it.
 */
static void
case_fence_modes(void)
{
	static const bool waits[8][2] = {
		/* First column: must the NOP wait for a read? Second column: for a write? */
		{false, false}, /* mode 0: no fence */
		{false, false}, /* mode 1, small: waits only for local operations */
		{true, false},  /* mode 2: fence */
		{true, true},   /* mode 3: strong ordering */
		{true, false},  /* mode 4: small and fence */
		/* Reserved modes must be as strong as the strongest mode. */
		{true, true},
		{true, true},
		{true, true},
	};

	for (unsigned int i = 0; i < 16; i++) {
		const bool write = i % 2 != 0;
		const struct op op = {write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ, 0};
		uint64_t first;

		pair_init(&p, NULL);
		first = ready() + LATENCY + TRIP;
		post_ops(&op, 1);
		post_nop(i / 2);
		expect_at(&p.client, first);
		if (waits[i / 2][write])
			expect_at(&p.client, first + LATENCY);
		else
			CHECK_EQ(clock_expect_one(&p.client).status, IBV_WC_SUCCESS);
		pair_fini(&p);
	}
}

/*
 * Strong ordering must wait until all operations before it have ended, not only the last of them.
 */
static void
case_fence_of_all(void)
{
	const struct op op = {IBV_WR_RDMA_WRITE, 0};
	uint64_t write;

	pair_init(&p, NULL);
	write = ready() + LATENCY + TRIP;
	post_ops(&op, 1);
	post_nop(0);
	post_nop(3);
	expect_at(&p.client, write);
	CHECK_EQ(clock_expect_one(&p.client).status, IBV_WC_SUCCESS);
	expect_at(&p.client, write + LATENCY);
	pair_fini(&p);
}

/*
 * If a fault delays a read, or the read waits for its peer, the read ends later, and the wait for
 * it must also end later.
 */
static void
case_fence_late(void)
{
	const struct op ops[] = {{IBV_WR_RDMA_READ, 0}, {IBV_WR_RDMA_WRITE, IBV_SEND_FENCE}};
	const uint64_t late = UINT64_C(50000000);

	for (unsigned int i = 0; i < 2; i++) {
		uint64_t start;

		pair_init(&p, NULL);
		CHECK_EQ(softhca_fault(i == 0 ? "late ms=50" : "port_down ms=50"), 0);
		start = clock_ns;
		post_ops(ops, 2);
		expect_at(&p.client, start + late);
		expect_at(&p.client, start + late + LATENCY + TRIP);
		pair_fini(&p);
	}
}

/* RESET must end all waits. The port must stay busy for the time that it has given to the read. */
static void
case_fence_reset(void)
{
	const struct op ops[] = {{IBV_WR_RDMA_READ, 0}, {IBV_WR_RDMA_WRITE, IBV_SEND_FENCE}};
	uint64_t start;

	pair_init(&p, NULL);
	post_ops(ops, 2);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RESET), 0);
	pair_connect(&p, &p.client, p.server.qp->qp_num);
	start = ready();
	post_ops(ops + 1, 1);
	expect_at(&p.client, start + LATENCY + 10 * BYTE + TRIP);
	pair_fini(&p);
}

static const struct check_case cases[] = {
	{"operations of a burst complete one latency apart, after one round trip", case_burst},
	{"data take their time on the port", case_bandwidth},
	{"queues share the port", case_two_queues},
	{"a doorbell counts from its own time", case_doorbells},
	{"many doorbells count from their own times", case_many_doorbells},
	{"work that waits in SQD begins when SQD ends", case_sqd},
	{"the bytes of an operation are those of its segments", case_bytes},
	{"a copy inside the adapter takes no time on the port", case_local},
	{"a UMR takes no time on the port", case_local_umr},
	{"a fenced operation begins when earlier reads and atomics have ended", case_fence},
	{"a fence waits for the last read, and later work waits for the fence",
		case_fence_of_reads},
	{"each fence mode waits for its kinds of operations", case_fence_modes},
	{"strong ordering waits for a write, even if a later local operation has ended",
		case_fence_of_all},
	{"a fence waits for a late read", case_fence_late},
	{"RESET ends the waits of fences", case_fence_reset},
};

int
main(int argc, char **argv)
{
	const char *set = getenv("SOFTHCA_DOORBELL_NS");

	if (set != NULL)
		doorbell = strtoull(set, NULL, 10);
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
