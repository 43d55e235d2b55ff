/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Breaks hwq on purpose, one error at a time: writes wrong values to its ring, doorbell record or
 * doorbell register. The emulated adapter must notice each error. Otherwise other tests could pass
 * on the adapter although hwq has such an error.
 */
#include <fcntl.h>
#include <poll.h>

#include "hwq_emu.h"

#define MEM_LEN 4096

static struct hwq_dev *dev;
static struct twin t;
static struct hwq_mr mr;
static uint8_t *mem; /* first half: source; second half: destination */
static unsigned long violations;

/* ------------------------------------------------------------------ a fresh queue, one WQE */

static void
start(void)
{
	struct hwq_cqe rec = {0};
	size_t i;

	CHECK_EQ(hwq_qp_reset(t.qp), 0, "reset");
	twin_connect_self(&t);
	emu_pump();
	CHECK_EQ(hwq_cq_poll(t.cq, &rec, 1), 0, "stale completions");
	for (i = 0; i < MEM_LEN; i++)
		mem[i] = i < MEM_LEN / 2 ? (uint8_t)(i * 7 + 1) : 0;
	violations = softhca_violations();
}

static struct mlx5_wqe_ctrl_seg *
post(unsigned int flags)
{
	struct hwq_sq *sq = &t.qp->sq;

	CHECK_EQ(hwq_wqe_memcpy(sq, mr.lkey, (uintptr_t)mem + MEM_LEN / 2, mr.lkey, (uintptr_t)mem,
			 64, flags),
		1, "WQEBBs");
	return hwq_sq_at(sq, sq->last);
}

static bool
moved(void)
{
	return memcmp(mem, mem + MEM_LEN / 2, 64) == 0;
}

/* Posts a valid WQE. Each case below differs from this function in one step. */
static void
expect_success(void)
{
	struct hwq_cqe rec = {0};

	CHECK(emu_wait(t.cq, &rec), "no completion");
	CHECK(rec.opcode == MLX5_CQE_REQ, "CQE opcode %u syndrome 0x%x vendor 0x%x", rec.opcode,
		rec.syndrome, rec.vendor_err);
	CHECK(moved(), "nothing was copied");
	CHECK_EQ(softhca_violations(), violations, "violations");
}

static void
expect_caught(void)
{
	struct hwq_cqe rec = {0};

	CHECK(emu_wait(t.cq, &rec), "no error completion");
	CHECK(rec.opcode == MLX5_CQE_REQ_ERR && rec.syndrome == MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR,
		"CQE opcode %u syndrome 0x%x vendor 0x%x", rec.opcode, rec.syndrome,
		rec.vendor_err);
	CHECK(softhca_violations() > violations, "no violation was counted");
	CHECK_EQ(hwq_qp_state(t.qp), IBV_QPS_ERR, "state");
	CHECK(!moved(), "the adapter executed the broken WQE");
}

static void
expect_nothing(void)
{
	struct hwq_cqe rec = {0};

	emu_pump();
	CHECK_EQ(hwq_cq_poll(t.cq, &rec, 1), 0, "completions");
	CHECK(!moved(), "the adapter executed a WQE without a doorbell");
}

/* ------------------------------------------------------------------ ringing by hand */

static void
write_dbrec(uint16_t pi)
{
	hwq_fence_wqe_before_dbrec();
	hwq_store_release(&t.qp->sq.dbrec[HWQ_SND_DBR], htobe32(pi));
	hwq_fence_dbrec_before_doorbell();
}

static void
write_doorbell(const void *first_word)
{
	struct hwq_bf *bf = t.qp->sq.bf;
	uint64_t word;

	memcpy(&word, first_word, sizeof(word));
	hwq_mmio_write64(bf->reg + bf->offset, word);
	hwq_fence_doorbell_flush();
	bf->offset ^= bf->toggle;
	t.qp->sq.rung = t.qp->sq.pi;
}

static void
write_blueflame(const void *wqe)
{
	struct hwq_bf *bf = t.qp->sq.bf;

	hwq_bf_copy(bf->reg + bf->offset, wqe, 1);
	hwq_fence_doorbell_flush();
	bf->offset ^= bf->toggle;
	t.qp->sq.rung = t.qp->sq.pi;
}

/* ------------------------------------------------------------------ the breakages */

static void
healthy(void)
{
	start();
	post(HWQ_WQE_SIGNALED);
	hwq_sq_ring(&t.qp->sq);
	expect_success();
	start();
	post(0);
	post(HWQ_WQE_SIGNALED);
	hwq_sq_ring(&t.qp->sq);
	expect_success();
}

static void
wrong_index(void)
{
	static const uint32_t off[] = {1, 2, 0xffff, 0x100, 0x8000};
	struct mlx5_wqe_ctrl_seg *ctrl;
	uint32_t word;
	size_t i;

	for (i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
		start();
		ctrl = post(HWQ_WQE_SIGNALED);
		word = be32toh(ctrl->opmod_idx_opcode);
		ctrl->opmod_idx_opcode =
			htobe32((word & 0xff0000ff) | (((word >> 8) + off[i]) & 0xffff) << 8);
		hwq_sq_ring(&t.qp->sq);
		expect_caught();
	}
}

/*
 * A common error is a WQE index that is reduced to an index of the ring. Such an index is correct
 * only on the first lap of the ring. The adapter must notice it on the second lap.
 */
static void
masked_index(void)
{
	struct hwq_sq *sq = &t.qp->sq;
	struct mlx5_wqe_ctrl_seg *ctrl;
	uint32_t i, n = hwq_sq_n_bb(sq);
	struct hwq_cqe rec = {0};

	start();
	for (i = 0; i < n; i++)
		CHECK_EQ(hwq_wqe_nop(sq, i + 1 == n ? HWQ_WQE_SIGNALED : 0), 1, "WQEBBs");
	hwq_sq_ring(sq);
	CHECK(emu_wait(t.cq, &rec), "no completion");
	hwq_sq_complete(sq, rec.wqe_counter);
	ctrl = post(HWQ_WQE_SIGNALED);
	CHECK_EQ(be32toh(ctrl->opmod_idx_opcode) >> 8 & 0xffff, n, "index on the second lap");
	ctrl->opmod_idx_opcode &= htobe32(0xff0000ff | sq->mask << 8);
	hwq_sq_ring(sq);
	expect_caught();
}

static void
wrong_qpn(void)
{
	struct mlx5_wqe_ctrl_seg *ctrl, right;

	start();
	ctrl = post(HWQ_WQE_SIGNALED);
	ctrl->qpn_ds ^= htobe32(0x100);
	hwq_sq_ring(&t.qp->sq);
	expect_caught();
	/*
	 * The broken WQE follows a good WQE. A doorbell with the wrong QPN completes nothing, as on
	 * silicon. A doorbell with the correct QPN makes the device read the broken WQE.
	 */
	start();
	CHECK_EQ(hwq_wqe_nop(&t.qp->sq, 0), 1, "WQEBBs");
	ctrl = post(HWQ_WQE_SIGNALED);
	right = *ctrl;
	ctrl->qpn_ds ^= htobe32(0x80000000);
	hwq_sq_ring(&t.qp->sq);
	expect_nothing();
	CHECK(softhca_violations() > violations, "no violation was counted");
	write_doorbell(&right);
	expect_caught();
}

static void
wrong_ds(void)
{
	static const uint8_t ds[] = {0, 5, 63};
	struct mlx5_wqe_ctrl_seg *ctrl;
	size_t i;

	for (i = 0; i < sizeof(ds); i++) {
		start();
		ctrl = post(HWQ_WQE_SIGNALED);
		((uint8_t *)ctrl)[7] = ds[i];
		hwq_sq_ring(&t.qp->sq);
		expect_caught();
	}
}

/*
 * The fill (a NOP up to the ring's end) is one WQEBB short: an old WQE with an old index follows
 * it. The adapter must notice this index.
 */
static void
short_fill(void)
{
	static const uint8_t data[60];
	struct hwq_sq *sq = &t.qp->sq;
	uint32_t i, n = hwq_sq_n_bb(sq);
	struct hwq_cqe rec = {0};
	uint8_t *fill;

	start();
	/* Posts NOPs up to the WQEBB before the last WQEBB of the second lap. */
	for (i = 0; i < 2 * n - 2; i++) {
		CHECK_EQ(hwq_wqe_nop(sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
		hwq_sq_ring(sq);
		CHECK(emu_wait(t.cq, &rec), "no completion");
		hwq_sq_complete(sq, rec.wqe_counter);
	}
	fill = hwq_sq_at(sq, sq->pi);
	CHECK(sizeof(data) * 2 <= sq->max_inline, "inline room");
	CHECK_EQ(hwq_wqe_inline_list(sq, MLX5_OPCODE_SEND, 0, 0,
			 (struct hwq_buf[]){{data, 60}, {data, 60}, {data, 25}}, 3,
			 HWQ_WQE_SIGNALED),
		3, "WQEBBs");
	CHECK_EQ(fill[7], 8, "DS of the fill");
	fill[7] = 4;
	hwq_sq_ring(sq);
	expect_caught();
}

static void
wrong_blueflame(void)
{
	uint8_t copy[64];
	unsigned int i;

	for (i = 8; i < 64; i += 5) {
		start();
		memcpy(copy, post(HWQ_WQE_SIGNALED), 64);
		copy[i] ^= 0x40;
		write_dbrec(t.qp->sq.pi);
		write_blueflame(copy);
		expect_caught();
	}
}

static void
wrong_doorbell_bytes(void)
{
	uint8_t copy[8];

	start();
	memcpy(copy, post(HWQ_WQE_SIGNALED), 8);
	copy[3] = MLX5_OPCODE_NOP;
	write_dbrec(t.qp->sq.pi);
	write_doorbell(copy);
	expect_caught();
}

static void
forgotten_doorbell(void)
{
	struct mlx5_wqe_ctrl_seg *ctrl;

	start();
	ctrl = post(HWQ_WQE_SIGNALED);
	expect_nothing();
	write_dbrec(t.qp->sq.pi);
	expect_nothing();
	write_doorbell(ctrl);
	expect_success();
}

/*
 * The doorbell of a burst has the first bytes of the burst's first WQE instead of its last WQE. The
 * later WQEs must not be executed.
 */
static void
early_doorbell(void)
{
	void *first, *second;

	start();
	first = hwq_sq_at(&t.qp->sq, t.qp->sq.pi);
	CHECK_EQ(hwq_wqe_nop(&t.qp->sq, 0), 1, "WQEBBs");
	second = post(HWQ_WQE_SIGNALED);
	write_dbrec(t.qp->sq.pi);
	write_doorbell(first);
	expect_nothing();
	write_doorbell(second);
	expect_success();
}

static void
forgotten_record(void)
{
	struct mlx5_wqe_ctrl_seg *ctrl;

	start();
	ctrl = post(HWQ_WQE_SIGNALED);
	write_doorbell(ctrl);
	expect_nothing();
	CHECK(softhca_violations() > violations, "no violation was counted");
}

/*
 * More WQEs are posted than the ring holds, so the new WQEs overwrite WQEs that the device has not
 * read. The adapter must notice this.
 */
static void
overfull_ring(void)
{
	struct hwq_sq *sq = &t.qp->sq;
	uint32_t i;

	start();
	for (i = 0; i <= sq->mask + 1u; i++) {
		hwq_sq_set_ci(sq, sq->pi); /* frees WQEs that have not completed */
		CHECK_EQ(hwq_wqe_nop(sq, 0), 1, "WQEBBs");
	}
	hwq_sq_ring(sq);
	emu_pump();
	CHECK(softhca_violations() > violations, "no violation was counted");
	CHECK_EQ(hwq_qp_state(t.qp), IBV_QPS_ERR, "state");
}

/* ------------------------------------------------------------------ the CQ */

static bool
saw_event(int type)
{
	struct pollfd fd = {.fd = dev->ctx->async_fd, .events = POLLIN};
	struct ibv_async_event event;
	bool seen = false;

	while (poll(&fd, 1, 100) == 1 && ibv_get_async_event(dev->ctx, &event) == 0) {
		seen |= (int)event.event_type == type;
		ibv_ack_async_event(&event);
	}
	return seen;
}

/* A consumer that never publishes its index lets the device overrun the CQ. */
static void
unpublished_index(struct twin *own)
{
	struct hwq_sq *sq = &own->qp->sq;
	struct hwq_cqe rec = {0};
	uint32_t i;

	for (i = 0; i <= own->cq->n_cqe; i++) {
		/* pretends that the consumer index was published */
		own->cq->published = own->cq->ci;
		CHECK_EQ(hwq_wqe_nop(sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
		hwq_sq_ring(sq);
		emu_pump();
		if (!hwq_cq_peek(own->cq, &rec))
			break;
		hwq_cq_advance(own->cq);
		hwq_sq_complete(sq, rec.wqe_counter);
	}
	CHECK_EQ(i, own->cq->n_cqe, "completions before the overrun");
	CHECK(saw_event(IBV_EVENT_CQ_ERR), "no IBV_EVENT_CQ_ERR");
}

/* A consumer with a wrong lap must see old entries, or no entry. */
static void
stale_owner(struct twin *own)
{
	struct hwq_sq *sq = &own->qp->sq;
	struct hwq_cqe rec = {0};
	uint32_t i, n = own->cq->n_cqe;

	/* One lap and one entry: entry 0 is of the new lap, entry 1 of the previous lap. */
	for (i = 0; i < n + 1; i++) {
		CHECK_EQ(hwq_wqe_nop(sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
		hwq_sq_ring(sq);
		emu_pump();
		if (i == n)
			break;
		CHECK_EQ(hwq_cq_poll(own->cq, &rec, 1), 1, "completions");
		hwq_sq_complete(sq, rec.wqe_counter);
	}
	own->cq->lap = 0; /* owner bit of the first lap */
	CHECK(!hwq_cq_peek(own->cq, &rec),
		"an entry of the second lap is not seen as one of the first");
	own->cq->next += sizeof(struct mlx5_cqe64);
	CHECK(hwq_cq_peek(own->cq, &rec), "an entry of the first lap is seen");
	CHECK_EQ(rec.wqe_counter, 1, "it is the entry that was consumed before");
	hwq_cq_seek(own->cq, own->cq->ci);
	CHECK(hwq_cq_peek(own->cq, &rec), "with the right lap, the new entry is seen");
	CHECK_EQ(rec.wqe_counter, n, "the counter of the new entry");
	hwq_cq_advance(own->cq);
	CHECK(!hwq_cq_peek(own->cq, &rec), "with the right lap, the old entry is not seen");
}

static void
with_own_queue(void (*body)(struct twin *own))
{
	static const struct hwq_qp_conf conf = {.sq_wr = 8};
	struct twin own;

	/* Destroy the other queue first, so that no other queue uses this page. */
	twin_create(dev, &conf, &own);
	twin_connect_self(&own);
	body(&own);
	twin_destroy(&own);
}

int
main(int argc, char **argv)
{
	static const struct hwq_qp_conf conf = {.sq_wr = 16, .max_inline = 200, .mmo = true};
	int ret;

	(void)argc;
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	dev = emu_open();
	mem = aligned_alloc(4096, MEM_LEN);
	if (mem == NULL)
		EMU_DIE("no memory");
	ret = hwq_mr_register(dev, mem, MEM_LEN, IBV_ACCESS_LOCAL_WRITE, &mr);
	if (ret != 0)
		EMU_DIE("registering memory: %s", strerror(-ret));
	twin_create(dev, &conf, &t);
	RUN("an unbroken WQE runs", healthy());
	RUN("a wrong wqe_index is caught", wrong_index());
	RUN("a wqe_index masked to the ring is caught on the second lap", masked_index());
	RUN("a wrong QPN is caught", wrong_qpn());
	RUN("a wrong DS is caught", wrong_ds());
	RUN("a fill that is too short is caught", short_fill());
	RUN("BlueFlame bytes that differ from the ring are caught", wrong_blueflame());
	RUN("doorbell bytes that differ from the ring are caught", wrong_doorbell_bytes());
	RUN("a forgotten doorbell leaves the work undone", forgotten_doorbell());
	RUN("a doorbell for the burst's first WQE leaves the later WQEs undone", early_doorbell());
	RUN("a forgotten doorbell record leaves the work undone, and is caught",
		forgotten_record());
	RUN("a ring filled beyond its end is caught", overfull_ring());
	twin_destroy(&t);
	RUN("a CQ whose consumer index is never published is overrun",
		with_own_queue(unpublished_index));
	RUN("the owner bit of the wrong lap shows old completions", with_own_queue(stale_owner));
	CHECK_EQ(hwq_mr_deregister(&mr), 0, "deregister");
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	free(mem);
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
