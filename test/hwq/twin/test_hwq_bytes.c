/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RC and UC QPs: work posted through stock libmlx5 and through hwq writes equal bytes to the send
 * queue, or returns the same error (hwq_twin.h). Executed work also moves equal bytes.
 *
 * Both libraries write batches by their critical region. hwq also has builders for whole WQEs
 * (hwq_wqe.h, hwq_burst.h): half of the work is posted by these builders, if the queue has no
 * LOCAL_INV.
 *
 * usage: test_hwq_bytes [CASES [SEED]]
 */
#include "hwq_burst.h"
#include "hwq_rq.h"
#include "hwq_twin_post.h"

#define OPS_WRITE IBV_QP_EX_WITH_RDMA_WRITE
#define OPS_UC                                                                                     \
	(OPS_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |                    \
		IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_INV)
#define OPS_RC     (OPS_UC | IBV_QP_EX_WITH_RDMA_READ)
#define OPS_ATOMIC (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define OPS_INV    IBV_QP_EX_WITH_LOCAL_INV

#define RC (1u << HWQ_QP_RC)
#define UC (1u << HWQ_QP_UC)

/* Arguments of a builder and its data setter. */
struct own {
	struct twin_args args;
	struct twin_data data;
};

static void
draw(struct twin_pair *p, struct twin_work *w)
{
	struct own *o = TWIN_OWN(w, struct own);

	twin_draw_args(p, &o->args);
	twin_draw_data(p, w->setter, &o->data);
	if (w->builder->code != TWIN_CMP_SWP && w->builder->code != TWIN_FETCH_ADD)
		return;
	if (p->wild) {
		/* The builders of hwq_wqe.h accept 32-bit lengths. */
		if (w->setter == TWIN_SGE && twin_draw(2) == 0)
			o->data.sge[0].length = 8;
		return;
	}
	/* If the work is executed, the old value of each atomic has eight bytes. */
	w->setter = TWIN_SGE;
	o->data.n = 1;
	o->data.sge[0] =
		(struct ibv_sge){((uintptr_t)twin_mem + twin_draw(4096)) & ~7ull, 8, twin_mr.lkey};
	if (twin_draw(2) == 0)
		memcpy(&o->args.operand[0], (const void *)(uintptr_t)o->args.raddr, 8);
}

static void
stock(struct twin_pair *p, const struct twin_work *w)
{
	const struct own *o = TWIN_OWN(w, const struct own);

	twin_stock_op(p, w->builder->code, &o->args);
	twin_stock_data(p, w->setter, &o->data);
}

static HWQ_INLINE void
twin_hwq_own(struct hwq_wr *wr, const struct twin_work *w, enum hwq_qp_type type)
{
	const struct own *o = TWIN_OWN(w, const struct own);

	(void)type;
	twin_hwq_op(wr, w->builder->code, &o->args);
	twin_hwq_data(wr, w->setter, &o->data);
}

/* A UC QP uses the start function of RC QPs. */
static int
post(struct twin_pair *p, const struct twin_work *w, unsigned int n, bool abort)
{
	return twin_batch(p, w, n, abort, HWQ_QP_RC);
}

/* ------------------------------------------------------------------ by hwq_wqe.h */

/* Posts this work request as a burst of one WQE. */
static int
direct_burst(struct hwq_sq *sq, const struct own *o, unsigned int flags)
{
	const struct ibv_sge *sge = &o->data.sge[0];
	struct hwq_burst b;

	if (hwq_burst_start(&b, sq, 1) == 0)
		return 0;
	hwq_burst_rdma_write(&b, o->args.rkey, o->args.raddr, sge->lkey, sge->addr, sge->length,
		flags);
	hwq_burst_end(&b);
	return 1;
}

/* Posts a SEND, an RDMA write or an RDMA read. */
static int
direct_data(struct hwq_sq *sq, const struct own *o, uint8_t opcode, unsigned int setter,
	unsigned int flags)
{
	const struct twin_data *d = &o->data;
	uint32_t rkey = o->args.rkey;
	uint64_t raddr = o->args.raddr;
	struct hwq_sge sge[TWIN_MAX_SGE + 2];
	struct hwq_buf buf[TWIN_MAX_BUF];

	twin_hwq_lists(d, sge, buf);
	switch (setter) {
	case TWIN_SGE:
		if (opcode == MLX5_OPCODE_SEND)
			return hwq_wqe_one(sq, opcode, 0, 0, sge->lkey, sge->addr, sge->len, flags,
				0);
		if (opcode == MLX5_OPCODE_RDMA_READ)
			return hwq_wqe_rdma_read(sq, rkey, raddr, sge->lkey, sge->addr, sge->len,
				flags);
		if (twin_draw(2) == 0)
			return direct_burst(sq, o, flags);
		return hwq_wqe_rdma_write(sq, rkey, raddr, sge->lkey, sge->addr, sge->len, flags);
	case TWIN_SGE_LIST:
		return hwq_wqe_list(sq, opcode, rkey, raddr, sge, d->n, flags);
	case TWIN_INLINE:
		return hwq_wqe_inline(sq, opcode, rkey, raddr, d->bytes, d->len, flags, 0);
	default:
		return hwq_wqe_inline_list(sq, opcode, rkey, raddr, buf, d->n, flags);
	}
}

/* hwq_wqe.h has no builder of atomics for lists; the old value of an atomic has 8 bytes. */
static int
direct_atomic(struct hwq_sq *sq, const struct own *o, unsigned int setter, unsigned int flags,
	bool compare)
{
	const struct ibv_sge *sge = &o->data.sge[0];
	const struct twin_args *a = &o->args;

	if (setter != TWIN_SGE || sge->length != 8)
		return TWIN_HAS_NOT;
	if (compare)
		return hwq_wqe_atomic_cmp_swp(sq, a->rkey, a->raddr, sge->lkey, sge->addr,
			a->operand[0], a->operand[1], flags);
	return hwq_wqe_atomic_fetch_add(sq, a->rkey, a->raddr, sge->lkey, sge->addr, a->operand[0],
		flags);
}

/* Returns the opcode of a builder with immediate data, or with a key to invalidate. */
static uint8_t
imm_opcode(enum twin_code code)
{
	return code == TWIN_SEND_IMM   ? MLX5_OPCODE_SEND_IMM
	       : code == TWIN_SEND_INV ? MLX5_OPCODE_SEND_INVAL
				       : MLX5_OPCODE_RDMA_WRITE_IMM;
}

/* hwq_wqe.h has no such builder for lists. */
static int
direct_imm(struct hwq_sq *sq, const struct own *o, enum twin_code code, unsigned int setter,
	unsigned int flags)
{
	const struct ibv_sge *sge = &o->data.sge[0];
	const struct twin_args *a = &o->args;
	__be32 imm = code == TWIN_SEND_INV ? htobe32(a->imm) : a->imm;

	if (setter == TWIN_INLINE)
		return hwq_wqe_inline(sq, imm_opcode(code), a->rkey, a->raddr, o->data.bytes,
			o->data.len, flags, imm);
	if (setter != TWIN_SGE)
		return TWIN_HAS_NOT;
	return hwq_wqe_one(sq, imm_opcode(code), a->rkey, a->raddr, sge->lkey, sge->addr,
		sge->length, flags, imm);
}

static int
direct(struct twin_pair *p, const struct twin_work *w)
{
	const struct own *o = TWIN_OWN(w, const struct own);
	unsigned int flags = twin_hwq_flags(w->flags);
	struct hwq_sq *sq = &p->twin.qp->sq;

	switch (w->builder->code) {
	case TWIN_SEND:
		return direct_data(sq, o, MLX5_OPCODE_SEND, w->setter, flags);
	case TWIN_WRITE:
		return direct_data(sq, o, MLX5_OPCODE_RDMA_WRITE, w->setter, flags);
	case TWIN_READ:
		return direct_data(sq, o, MLX5_OPCODE_RDMA_READ, w->setter, flags);
	case TWIN_CMP_SWP:
		return direct_atomic(sq, o, w->setter, flags, true);
	case TWIN_FETCH_ADD:
		return direct_atomic(sq, o, w->setter, flags, false);
	default:
		return direct_imm(sq, o, w->builder->code, w->setter, flags);
	}
}

/* ------------------------------------------------------------------ builders and queues */

#define BUILDER(x, x_types, x_code, x_ops, x_setters)                                              \
	static const struct twin_builder x = {.name = #x,                                          \
		.types = x_types,                                                                  \
		.code = x_code,                                                                    \
		.send_ops = x_ops,                                                                 \
		.setters = x_setters,                                                              \
		.flags = TWIN_RDMA_FLAGS,                                                          \
		.draw = draw,                                                                      \
		.stock = stock,                                                                    \
		.direct = direct}

BUILDER(send, RC | UC, TWIN_SEND, IBV_QP_EX_WITH_SEND, twin_data_setters);
BUILDER(send_imm, RC | UC, TWIN_SEND_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM, twin_data_setters);
BUILDER(send_inv, RC | UC, TWIN_SEND_INV, IBV_QP_EX_WITH_SEND_WITH_INV, twin_data_setters);
BUILDER(rdma_write, RC | UC, TWIN_WRITE, OPS_WRITE, twin_data_setters);
BUILDER(rdma_write_imm, RC | UC, TWIN_WRITE_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
	twin_data_setters);
BUILDER(rdma_read, RC, TWIN_READ, IBV_QP_EX_WITH_RDMA_READ, twin_memory_setters);
BUILDER(atomic_cmp_swp, RC, TWIN_CMP_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, twin_memory_setters);
BUILDER(atomic_fetch_add, RC, TWIN_FETCH_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	twin_memory_setters);

static const struct twin_builder *const rc_builders[] = {&twin_nop, &twin_raw_wqe, &twin_memcpy,
	&twin_local_inv, &send, &send_imm, &send_inv, &rdma_write, &rdma_write_imm, &rdma_read,
	&atomic_cmp_swp, &atomic_fetch_add, NULL};
static const struct twin_builder *const uc_builders[] = {&twin_nop, &twin_raw_wqe, &twin_local_inv,
	&send, &send_imm, &send_inv, &rdma_write, &rdma_write_imm, NULL};

#define N_RUN 4 /* number of work requests in an executed batch, and of receives in a queue */

/* Each pair has a QP type for which its builders are legal, so only legal work is drawn. */
static struct twin_pair pairs[] = {
	{.name = "one segment",
		.builders = rc_builders,
		.conf = {.sq_wr = 64,
			.rq_wr = N_RUN,
			.max_sge = 1,
			.mmo = true,
			.send_ops = OPS_RC | OPS_ATOMIC}},
	{.name = "sixteen WQEBBs",
		.builders = rc_builders,
		.conf = {.sq_wr = 16,
			.rq_wr = N_RUN,
			.max_sge = 30,
			.max_inline = 972,
			.mmo = true,
			.send_ops = OPS_RC}},
	{.name = "local_inv",
		.builders = rc_builders,
		.conf = {.sq_wr = 32,
			.rq_wr = N_RUN,
			.max_sge = 4,
			.max_inline = 60,
			.mmo = true,
			.send_ops = OPS_RC | OPS_ATOMIC | OPS_INV}},
	{.name = "sq_sig_all",
		.builders = rc_builders,
		.conf = {.sq_wr = 16,
			.rq_wr = N_RUN,
			.max_sge = 13,
			.max_inline = 220,
			.mmo = true,
			.sq_sig_all = true,
			.send_ops = OPS_RC | OPS_ATOMIC | OPS_INV}},
	{.name = "UC",
		.builders = uc_builders,
		.conf = {.type = HWQ_QP_UC,
			.sq_wr = 16,
			.rq_wr = N_RUN,
			.max_sge = 6,
			.max_inline = 300,
			.send_ops = OPS_UC}},
	{.name = "UC, local_inv",
		.builders = uc_builders,
		.conf = {.type = HWQ_QP_UC,
			.sq_wr = 16,
			.rq_wr = N_RUN,
			.max_sge = 2,
			.max_inline = 28,
			.sq_sig_all = true,
			.send_ops = OPS_UC | OPS_INV}},
};

#define N_PAIRS (sizeof(pairs) / sizeof(pairs[0]))

/* ------------------------------------------------------------------ executed work */

static uint8_t *before, *after_stock;
static unsigned long moved, n_sends;

/*
 * Returns true for work that succeeds without a window or a key to invalidate. SENDs need receives.
 */
static bool
runs(const struct twin_pair *p, const struct twin_builder *b)
{
	(void)p;
	return b == &twin_nop || b == &twin_memcpy || b == &send || b == &rdma_write ||
	       b == &rdma_read || b == &atomic_cmp_swp || b == &atomic_fetch_add;
}

static bool
runs_direct(const struct twin_pair *p, const struct twin_builder *b)
{
	return runs(p, b) && b != &atomic_cmp_swp && b != &atomic_fetch_add;
}

/* Returns the number of bytes of a message. */
static uint64_t
message_len(const struct twin_work *w)
{
	const struct own *o = TWIN_OWN(w, const struct own);
	uint64_t len = 0;
	unsigned int i;

	if (w->setter == TWIN_INLINE || w->setter == TWIN_INLINE_LIST)
		return o->data.len;
	for (i = 0; i < (w->setter == TWIN_SGE ? 1 : o->data.n); i++)
		len += o->data.sge[i].length;
	return len;
}

/*
 * The fence orders only a part of the batch. A memcpy does not wait for the bytes of a write or a
 * SEND (mlx5dv_wr_post(3)), so memcpys write to the last quarter of the memory. The pieces of one
 * request move in any order, so the pieces of a read must not overlap.
 */
static void
keep_apart(struct twin_work *w)
{
	struct twin_copy *copy = TWIN_OWN(w, struct twin_copy);
	struct own *o = TWIN_OWN(w, struct own);
	uintptr_t mem = (uintptr_t)twin_mem;
	unsigned int i;

	if (w->builder == &twin_memcpy)
		copy->dst = mem + TWIN_MEM_LEN * 3 / 4 + twin_draw(TWIN_MEM_LEN / 4 - 2048);
	for (i = 0; w->builder == &rdma_read && i < o->data.n; i++)
		o->data.sge[i].addr = mem + i * 4096u + twin_draw(2048);
}

/*
 * Draws work to execute. Writes and SENDs move bytes to the third quarter of the memory, and must
 * not be longer.
 */
static void
draw_that_runs(struct twin_pair *p, struct twin_work *w, bool region)
{
	do
		twin_draw_work(p, w, region ? runs : runs_direct);
	while ((w->builder == &send || w->builder == &rdma_write) &&
		message_len(w) > TWIN_MEM_LEN / 4);
	keep_apart(w);
	n_sends += w->builder == &send;
}

static void
post_receives(struct twin_pair *p, unsigned int n)
{
	struct hwq_sge into = {(uintptr_t)twin_mem + TWIN_MEM_LEN / 2, TWIN_MEM_LEN / 2,
		twin_mr.lkey};
	struct ibv_sge sge = {.addr = into.addr, .length = into.len, .lkey = into.lkey};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;
	unsigned int i;

	for (i = 0; i < n; i++) {
		CHECK_EQ(ibv_post_recv(p->stock.qp, &wr, &bad), 0, "ibv_post_recv");
		CHECK_EQ(hwq_rq_post_list(&p->twin.qp->rq, 0, &into, 1), 0, "a receive");
	}
	hwq_rq_ring(&p->twin.qp->rq);
}

/* Completions of libmlx5's batch that were taken so far. */
static struct {
	struct ibv_wc wc[2 * N_RUN + 1];
	int n;
} theirs;

/* Waits for the last work request, which is signalled, and for n_recv receives. */
static void
wait_for_stock(struct twin_pair *p, const struct twin_work *last, int n_recv)
{
	uint64_t end = 0;

	theirs.n = 0;
	do {
		emu_pump();
		while (theirs.n < 2 * N_RUN + 1 &&
			ibv_poll_cq(p->stock.cq, 1, &theirs.wc[theirs.n]) == 1) {
			n_recv -= theirs.wc[theirs.n].opcode == IBV_WC_RECV;
			if (theirs.wc[theirs.n++].wr_id == (uintptr_t)last)
				last = NULL;
		}
	} while ((last != NULL || n_recv > 0) && twin_patience(&end));
	CHECK(last == NULL && n_recv == 0, "libmlx5's work did not complete");
	for (int i = 0; i < theirs.n; i++)
		CHECK(theirs.wc[i].status == IBV_WC_SUCCESS, "libmlx5's status %d",
			theirs.wc[i].status);
}

/*
 * Checks that both queues complete the signalled wr_ids in order, and the same number of receives.
 */
static void
drain_wr_ids(struct twin_pair *p)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint64_t ids[N_RUN], id, end = 0;
	struct hwq_cqe rec;
	unsigned int n = 0, n_recv = 0, n_theirs = 0, i;

	do {
		emu_pump();
		while (n < N_RUN && hwq_wr_poll(sq, &ids[n], 1) == 1)
			n++;
		while (hwq_rq_poll(&p->twin.qp->rq, &rec, &id, 1) == 1)
			n_recv += rec.syndrome == 0;
	} while ((int)(n + n_recv) < theirs.n && twin_patience(&end));
	CHECK((int)(n + n_recv) == theirs.n, "%u completions, %u of them receives, libmlx5 has %d",
		n + n_recv, n_recv, theirs.n);
	for (i = 0; i < (unsigned int)theirs.n; i++) {
		if (theirs.wc[i].opcode == IBV_WC_RECV)
			continue;
		CHECK(n_theirs < n && ids[n_theirs] == theirs.wc[i].wr_id,
			"wr_id %u is not libmlx5's 0x%llx", n_theirs,
			(unsigned long long)theirs.wc[i].wr_id);
		n_theirs++;
	}
	CHECK(hwq_wr_poll(sq, ids, N_RUN) == 0, "a completion too many");
	CHECK(hwq_sq_used_bb(sq) == 0, "%u WQEBBs never completed", hwq_sq_used_bb(sq));
}

static void
run_stock(struct twin_pair *p, const struct twin_work *w, unsigned int n)
{
	int n_recv = 0;

	twin_stock_batch(p, w, n);
	CHECK_EQ(ibv_wr_complete(p->stock.ex), 0, "ibv_wr_complete");
	for (unsigned int i = 0; i < n; i++)
		n_recv += w[i].builder == &send;
	wait_for_stock(p, &w[n - 1], n_recv);
	memcpy(after_stock, twin_mem, TWIN_MEM_LEN);
	if (memcmp(before, twin_mem, TWIN_MEM_LEN) != 0)
		moved++;
	memcpy(twin_mem, before, TWIN_MEM_LEN);
}

static void
run_hwq(struct twin_pair *p, const struct twin_work *w, unsigned int n, bool region)
{
	unsigned int i;

	if (region) {
		CHECK_EQ(post(p, w, n, false), 0, "hwq_wr_complete");
		return;
	}
	for (i = 0; i < n; i++)
		CHECK(w[i].builder->direct(p, &w[i]) > 0, "hwq refuses %s", w[i].builder->name);
	hwq_sq_ring(&p->twin.qp->sq);
}

/* libmlx5's work runs first. Then the test restores the memory, and hwq's work runs. */
static void
run_both(struct twin_pair *p)
{
	unsigned int n = 1 + (unsigned int)twin_draw(N_RUN), i;
	uint16_t from = p->twin.qp->sq.pi;
	static struct twin_work w[N_RUN];
	bool region = twin_draw(2) == 0;

	twin_prepare(p, n);
	memcpy(twin_mem, before, TWIN_MEM_LEN);
	for (i = 0; i < n; i++) {
		draw_that_runs(p, &w[i], region);
		if (w[i].builder == &send)
			post_receives(p, 1);
		/* Later work of a batch may read bytes that earlier work wrote, so it is fenced. */
		w[i].flags |= IBV_SEND_FENCE;
		if (i + 1 == n)
			w[i].flags |= IBV_SEND_SIGNALED;
	}
	run_stock(p, w, n);
	run_hwq(p, w, n, region);
	for (i = 0; i < n && twin_compare(p, &w[i], &from); i++)
		twin_count(p, &w[i]);
	if (region)
		drain_wr_ids(p);
	else
		twin_drain(p, IBV_WC_SUCCESS);
	CHECK(memcmp(after_stock, twin_mem, TWIN_MEM_LEN) == 0,
		"the work moved other bytes than libmlx5's");
}

static void
real(void)
{
	unsigned long i;

	before = malloc(TWIN_MEM_LEN);
	after_stock = malloc(TWIN_MEM_LEN);
	if (before == NULL || after_stock == NULL)
		EMU_DIE("no memory");
	memcpy(before, twin_mem, TWIN_MEM_LEN);
	twin_open(pairs, N_PAIRS, false);
	for (i = 0; i < twin_cases && check_failures == 0; i++) {
		struct twin_pair *p = &pairs[twin_draw(N_PAIRS)];

		if (!p->absent)
			run_both(p);
	}
	twin_close(pairs, N_PAIRS);
	printf("  %lu batches run, of which moved bytes %lu; SENDs %lu\n", i, moved, n_sends);
	CHECK(moved > 0 && n_sends > 0, "no work moved anything, or no SEND ran");
	free(before);
	free(after_stock);
}

int
main(int argc, char **argv)
{
	twin_begin(argc, argv, 20000);
	RUN("drawn work has libmlx5's bytes and errors", twin_wild(pairs, N_PAIRS, post));
	RUN("executed work has libmlx5's bytes and effect", real());
	CHECK(twin_device != NULL ||
			(twin_totals.split > 0 && twin_totals.fills > 0 &&
				twin_totals.small_fences > 0 && twin_totals.direct > 0),
		"a case that must come up did not");
	return twin_end(pairs, N_PAIRS);
}
