/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancelling configurations of keys, compared with libmlx5's mlx5dv_qp_cancel_posted_send_wrs():
 * how many WQEs each kind of request counts, the rings' contents and the completions. A
 * configuration of a key that signs has up to three WQEs with one wr_id. The keys must not change.
 *
 * usage: test_hwq_cancel_keys [ROUNDS [SEED]]
 */
#include "hwq_twin_key.h"

#include "hwq_cancel.h"
#include "hwq_wr_umr.h"

#define ACCESS     15u
#define N_REQUESTS 8
#define N_WR_IDS   3
#define MAX_SLOTS  64

enum request_kind {
	LIST,       /* a list for a plain key */
	PATTERN,    /* a pattern for a plain key */
	SIGN_LIST,  /* mr_list for a key that signs: a UMR with BSF */
	SIGN_MEM,   /* a configuration: UMR and SET_PSV */
	SIGN_WIRE,  /* a configuration: UMR and SET_PSV */
	SIGN_BOTH,  /* a configuration: UMR and two SET_PSVs */
	INVALIDATE, /* local_inv, which is a UMR too */
	WRITE,      /* an RDMA write, which uses no such key */
	KINDS
};

struct request {
	enum request_kind kind;
	uint64_t wr_id;
	bool signaled;
};

static struct twin_pair pair;
static struct key plain, signing;

static struct mlx5dv_sig_crc crc = {.type = MLX5DV_SIG_CRC_TYPE_CRC32, .seed = 0xffffffff};
static const struct mlx5dv_sig_block_domain domain = {.sig_type = MLX5DV_SIG_TYPE_CRC,
	.sig = {.crc = &crc}};
static struct mlx5dv_mkey_conf_attr nothing;

static struct mlx5dv_sig_block_attr
signature(enum request_kind kind)
{
	return (struct mlx5dv_sig_block_attr){.mem = kind != SIGN_WIRE ? &domain : NULL,
		.wire = kind != SIGN_MEM ? &domain : NULL,
		.check_mask = 0xff};
}

/* ------------------------------------------------------------------ posting */

static void
stock_post(const struct request *r)
{
	struct ibv_qp_ex *ex = pair.stock.ex;
	struct mlx5dv_qp_ex *dv = pair.stock.dv;
	struct mlx5dv_sig_block_attr sig = signature(r->kind);
	struct ibv_sge sge = {(uintptr_t)twin_mem, 512, twin_mr.lkey};
	struct mlx5dv_mr_interleaved data = {(uintptr_t)twin_mem, 64, 64, twin_mr.lkey};

	ibv_wr_start(ex);
	ex->wr_id = r->wr_id;
	ex->wr_flags = IBV_SEND_INLINE | (r->signaled ? IBV_SEND_SIGNALED : 0);
	switch (r->kind) {
	case LIST:
		mlx5dv_wr_mr_list(dv, plain.theirs, ACCESS, 1, &sge);
		break;
	case PATTERN:
		mlx5dv_wr_mr_interleaved(dv, plain.theirs, ACCESS, 3, 1, &data);
		break;
	case SIGN_LIST:
		mlx5dv_wr_mr_list(dv, signing.theirs, ACCESS, 1, &sge);
		break;
	case INVALIDATE:
		ibv_wr_local_inv(ex, plain.theirs->rkey);
		break;
	case WRITE:
		ibv_wr_rdma_write(ex, twin_mr.rkey, (uintptr_t)twin_mem);
		ibv_wr_set_sge(ex, twin_mr.lkey, (uintptr_t)twin_mem, 8);
		break;
	default:
		mlx5dv_wr_mkey_configure(dv, signing.theirs, 3, &nothing);
		mlx5dv_wr_set_mkey_access_flags(dv, ACCESS);
		mlx5dv_wr_set_mkey_layout_list(dv, 1, &sge);
		mlx5dv_wr_set_mkey_sig_block(dv, &sig);
		break;
	}
	CHECK_EQ(ibv_wr_complete(ex), 0, "libmlx5's posting");
}

static void
hwq_post(const struct request *r)
{
	struct mlx5dv_sig_block_attr sig = signature(r->kind);
	struct hwq_sge sge = {(uintptr_t)twin_mem, 512, twin_mr.lkey};
	struct mlx5dv_mr_interleaved data = {(uintptr_t)twin_mem, 64, 64, twin_mr.lkey};
	struct hwq_wr wr;

	hwq_wr_start(&wr, &pair.twin.qp->sq);
	wr.wr_id = r->wr_id;
	wr.wr_flags = HWQ_WQE_INLINE | (r->signaled ? HWQ_WQE_SIGNALED : 0);
	switch (r->kind) {
	case LIST:
		hwq_wr_mr_list(&wr, plain.ours, ACCESS, 1, &sge);
		break;
	case PATTERN:
		hwq_wr_mr_interleaved(&wr, plain.ours, ACCESS, 3, 1, &data);
		break;
	case SIGN_LIST:
		hwq_wr_mr_list(&wr, signing.ours, ACCESS, 1, &sge);
		break;
	case INVALIDATE:
		hwq_wr_local_inv(&wr, plain.ours->rkey);
		break;
	case WRITE:
		hwq_wr_rdma_write(&wr, twin_mr.rkey, (uintptr_t)twin_mem);
		hwq_wr_set_sge(&wr, twin_mr.lkey, (uintptr_t)twin_mem, 8);
		break;
	default:
		hwq_wr_mkey_configure(&wr, signing.ours, 3, &nothing);
		hwq_wr_set_mkey_access_flags(&wr, ACCESS);
		hwq_wr_set_mkey_layout_list(&wr, 1, &sge);
		hwq_wr_set_mkey_sig_block(&wr, &sig);
		break;
	}
	CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
}

/* ------------------------------------------------------------------ both libraries */

static void
stop_both(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD};

	stock_modify(pair.stock.qp, &attr, IBV_QP_STATE);
	CHECK_EQ(hwq_qp_stop(pair.twin.qp), 0, "stop");
	emu_pump();
}

static void
resume_both(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};

	stock_modify(pair.stock.qp, &attr, IBV_QP_STATE);
	CHECK_EQ(hwq_qp_resume(pair.twin.qp), 0, "resume");
	emu_pump();
}

static int
cancel_both(uint64_t wr_id)
{
	int ret = mlx5dv_qp_cancel_posted_send_wrs(pair.stock.dv, wr_id);

	CHECK_EQ(hwq_qp_cancel_posted_send_wrs(pair.twin.qp, wr_id), ret, "how many");
	return ret;
}

/*
 * Compares the control segments of both rings, without QPN and the key in imm. No NOP fills the end
 * of a ring yet.
 */
static void
same_controls(void)
{
	const struct hwq_sq *sq = &pair.twin.qp->sq;
	uint16_t i = 0;

	while (i != sq->pi && check_failures == 0) {
		uint8_t ours[16], theirs[16];

		memcpy(ours, hwq_sq_at(sq, i), sizeof(ours));
		memcpy(theirs, (const uint8_t *)pair.stock.view.sq.buf + i * 64u, sizeof(theirs));
		memset(ours + 4, 0, 3);
		memset(theirs + 4, 0, 3);
		memset(ours + 12, 0, 4);
		memset(theirs + 12, 0, 4);
		check_bytes(ours, theirs, sizeof(ours), "a control segment");
		i = hwq_sq_end_of(sq, i, i & sq->mask);
	}
}

/*
 * Takes completions of both queues: all must be good, and for the same work requests. Returns their
 * number.
 */
static unsigned int
same_completions(void)
{
	unsigned int n = 0, theirs;
	struct hwq_cqe rec;
	struct ibv_wc wc[MAX_SLOTS];
	int polled = ibv_poll_cq(pair.stock.cq, MAX_SLOTS, wc);

	theirs = polled < 0 ? 0 : (unsigned int)polled;
	while (hwq_cq_poll(pair.twin.cq, &rec, 1) == 1) {
		CHECK(n < theirs, "libmlx5 has %u completions", theirs);
		if (n >= theirs)
			return n;
		CHECK(rec.syndrome == 0 && wc[n].status == IBV_WC_SUCCESS,
			"completion %u: syndrome 0x%x, libmlx5's status %d", n, rec.syndrome,
			wc[n].status);
		CHECK_EQ(hwq_sq_wr_id(&pair.twin.qp->sq, rec.wqe_counter), wc[n].wr_id, "wr_id");
		hwq_sq_complete(&pair.twin.qp->sq, rec.wqe_counter);
		n++;
	}
	CHECK_EQ(n, theirs, "completions");
	return n;
}

/* Work requests in a stopped queue. All work requests with one wr_id are cancelled, twice. */
static void
random_work(void)
{
	uint64_t victim = twin_draw(N_WR_IDS);
	unsigned int i, n = 1 + (unsigned int)twin_draw(N_REQUESTS), n_run;
	int count;

	n_run = (unsigned int)twin_draw(n);
	for (i = 0; i < n; i++) {
		struct request r = {.kind = (enum request_kind)twin_draw(KINDS),
			.wr_id = twin_draw(N_WR_IDS),
			.signaled = twin_draw(2) == 0};

		/*
		 * An INVALIDATE would fail, because the key is not a window. So a WRITE is posted
		 * instead.
		 */
		if (r.kind == INVALIDATE)
			r.kind = WRITE;
		if (i == n_run) {
			emu_pump();
			stop_both();
		}
		stock_post(&r);
		hwq_post(&r);
	}
	emu_pump();
	count = cancel_both(victim);
	CHECK_EQ(cancel_both(victim), count > 0 ? -EINVAL : count, "again");
	same_controls();
	resume_both();
	same_completions();
}

/* ------------------------------------------------------------------ one of each kind */

/* Expected number of WQEs of each kind, from libmlx5's umr_finalize_and_set_psvs(). */
static const int n_wqes[KINDS] = {[LIST] = 1,
	[PATTERN] = 1,
	[SIGN_LIST] = 1,
	[SIGN_MEM] = 2,
	[SIGN_WIRE] = 2,
	[SIGN_BOTH] = 3,
	[INVALIDATE] = 1,
	[WRITE] = 1};

/*
 * Compares the status of RDMA writes that use the key as local key. `good`: the key has a layout by
 * now.
 */
static void
same_use(bool good)
{
	struct ibv_qp_ex *ex = pair.stock.ex;
	struct hwq_cqe rec = {0};
	struct ibv_wc wc = {0};
	struct hwq_wr wr;

	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, twin_mr.rkey, (uintptr_t)twin_mem + 4096);
	ibv_wr_set_sge(ex, plain.theirs->lkey, 0, 64);
	CHECK_EQ(ibv_wr_complete(ex), 0, "libmlx5's posting");
	hwq_wr_start(&wr, &pair.twin.qp->sq);
	wr.wr_flags = HWQ_WQE_SIGNALED;
	hwq_wr_rdma_write(&wr, twin_mr.rkey, (uintptr_t)twin_mem + 4096);
	hwq_wr_set_sge(&wr, plain.ours->lkey, 0, 64);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
	emu_pump();
	CHECK_EQ(ibv_poll_cq(pair.stock.cq, 1, &wc), 1, "libmlx5's completion");
	CHECK_EQ(hwq_cq_poll(pair.twin.cq, &rec, 1), 1, "a completion");
	CHECK_EQ(wc.status, good ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR, "libmlx5's status");
	CHECK_EQ(rec.syndrome, good ? 0 : MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, "syndrome");
}

static void
open_all(void)
{
	twin_open(&pair, 1, false);
	key_create(&pair, &plain, KEY_PLAIN, 8);
	key_create(&pair, &signing, KEY_SIGN, 8);
}

static void
close_all(void)
{
	key_destroy(&plain);
	key_destroy(&signing);
	twin_close(&pair, 1);
}

static void
one_of_each_kind(void)
{
	unsigned int kind, signaled;

	for (kind = 0; kind < KINDS; kind++) {
		for (signaled = 0; signaled < 2; signaled++) {
			struct request r = {(enum request_kind)kind, 5, signaled != 0};

			open_all();
			stop_both();
			stock_post(&r);
			hwq_post(&r);
			/*
			 * The adapter compares WQEs with their doorbells. So let it compare them
			 * before they are changed by the cancellation.
			 */
			emu_pump();
			CHECK_EQ(cancel_both(6), 0, "another wr_id");
			CHECK_EQ(cancel_both(5), n_wqes[kind], "WQEs");
			CHECK_EQ(cancel_both(5), -EINVAL, "again");
			same_controls();
			resume_both();
			CHECK_EQ(same_completions(), signaled, "completions");
			same_use(false);
			close_all();
		}
	}
	/* A layout that is not cancelled takes effect, so same_use() must succeed. */
	open_all();
	stock_post(&(struct request){LIST, 5, true});
	hwq_post(&(struct request){LIST, 5, true});
	emu_pump();
	CHECK_EQ(same_completions(), 1, "completions");
	same_use(true);
	close_all();
}

static void
any_mixture(void)
{
	unsigned long i;

	for (i = 0; i < twin_cases && check_failures == 0; i++) {
		open_all();
		random_work();
		close_all();
	}
}

int
main(int argc, char **argv)
{
	/* As in test_hwq_cancel.c: entries of libmlx5's table must not match by chance. */
	setenv("SOFTHCA_THREADS", "0", 1);
	emu_setting(argv, "GLIBC_TUNABLES", "glibc.malloc.perturb=90:glibc.malloc.tcache_count=0");
	twin_begin(argc, argv, 300);
	hwq_log_set(emu_count_log);
	pair = (struct twin_pair){.name = "cancelling",
		.conf = {.sq_wr = 32,
			.max_sge = 1,
			.max_inline = 316,
			.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_LOCAL_INV,
			.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE | MLX5DV_QP_EX_WITH_MR_LIST |
				    MLX5DV_QP_EX_WITH_MR_INTERLEAVED}};
	RUN("each kind counts as many WQEs as with libmlx5", one_of_each_kind());
	RUN("mixed kinds count as many WQEs as with libmlx5", any_mixture());
	return twin_end(NULL, 0);
}
