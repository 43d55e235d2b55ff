/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signature pipelining by hwq's own functions. After a stop the queue goes from SQD back to RTS in
 * the steps of mlx5dv_qp_cancel_posted_send_wrs(3): 1. poll all completions; 2. check the keys of
 * all open transactions; 3. cancel the responses of failed transactions; 4. resume. A transaction
 * is a transfer through a key that checks T10-DIF, followed by a fenced SEND with a good response.
 * The test compares the responses that arrive with a CRC that it computes itself.
 *
 * usage: test_hwq_sig_stop [ROUNDS [SEED]]
 */
#include <fcntl.h>

#include "hwq_async.h"
#include "hwq_cancel.h"
#include "hwq_emu.h"
#include "hwq_mkey_check.h"
#include "hwq_rq.h"
#include "hwq_wr.h"
#include "hwq_wr_mkey.h"

#define N_TXNS     10
#define MAX_BLOCKS 3
#define BLOCK      512u
#define UNIT       520u
#define ROOM       2048 /* bytes for a transaction's data, at each end */
#define GOOD       1
#define BAD        2
#define BAD_WR_ID  100 /* wr_id of a bad response is this plus the transaction's number */
#define N_RECVS    64  /* a power of two, at least the number of receives in the queue */
#define OTHER      200 /* wr_id of configurations and transfers */

enum part {
	NOTHING,
	DATA,
	GUARD,
	APP,
	REF,
	N_PARTS
};

struct txn {
	struct hwq_mkey *key;
	/*
	 * true: RDMA read, and the data that come from the peer have signatures. false: the data in
	 * local memory have signatures.
	 */
	bool is_read;
	uint32_t n_blocks, ref;
	enum part wrong;
	uint32_t wrong_block;
	uint64_t expected, actual;
	bool is_told, told_memory, is_cancelled, is_done;
};

struct response {
	uint32_t txn, what;
};

static struct hwq_dev *dev;
static struct twin t;
static struct hwq_mkey_pool *pool;
static struct hwq_mr mr;
/* Registered memory. */
static struct {
	uint8_t mem[2][N_TXNS][ROOM]; /* [0] data with signatures, [1] data only */
	struct response received[N_RECVS];
} area __attribute__((aligned(4096)));
static struct txn txns[N_TXNS];
static unsigned int n_posted, n_arrived, n_stops, n_failed, n_bad_in_stop;
static uint64_t rnd = 5;

static uint32_t
below(uint32_t n)
{
	return (uint32_t)(check_random(&rnd) % n);
}

/* ------------------------------------------------------------------ data */

/* Computes CRC-16/T10-DIF, bit by bit. */
static uint16_t
crc16(const uint8_t *p, size_t len)
{
	uint16_t crc = 0;

	for (; len != 0; len--) {
		crc ^= (uint16_t)(*p++ << 8);
		for (int b = 0; b < 8; b++)
			crc = (uint16_t)(crc << 1 ^ (crc & 0x8000 ? 0x8bb7 : 0));
	}
	return crc;
}

static void
put(uint8_t *to, uint64_t value, unsigned int len)
{
	while (len-- != 0) {
		to[len] = (uint8_t)value;
		value >>= 8;
	}
}

/*
 * Writes the blocks with their signatures, of which at most one is wrong, and the data without
 * signatures.
 */
static void
draw_txn(unsigned int i)
{
	struct txn *x = &txns[i];
	uint32_t b, n;

	*x = (struct txn){.key = x->key,
		.is_read = below(2) != 0,
		.n_blocks = 1 + below(MAX_BLOCKS),
		.ref = (uint32_t)check_random(&rnd),
		.wrong = below(2) != 0 ? NOTHING : (enum part)(1 + below(N_PARTS - 1))};
	x->wrong_block = below(x->n_blocks);
	for (b = 0; b < x->n_blocks; b++) {
		uint8_t *block = area.mem[0][i] + b * UNIT, *sig = block + BLOCK;
		uint32_t bit = 1u << below(8);

		for (n = 0; n < BLOCK; n++)
			block[n] = (uint8_t)check_random(&rnd);
		put(sig, crc16(block, BLOCK), 2);
		put(sig + 2, 0x1234, 2);
		put(sig + 4, x->ref + b, 4);
		if (b != x->wrong_block || x->wrong == NOTHING)
			continue;
		if (x->wrong == DATA)
			block[below(BLOCK)] ^= (uint8_t)bit;
		else if (x->wrong == GUARD)
			sig[1] ^= (uint8_t)bit;
		else
			sig[x->wrong == APP ? 3 : 7] ^= (uint8_t)bit;
		/*
		 * mlx5dv_mkey_check(3): `expected` is the value in the block, `actual` is the
		 * correct value.
		 */
		x->actual = x->wrong == APP   ? 0x1234
			    : x->wrong == REF ? x->ref + b
					      : crc16(block, BLOCK);
		x->expected = x->wrong == APP || x->wrong == REF ? x->actual ^ bit
								 : (uint64_t)sig[0] << 8 | sig[1];
	}
	for (b = 0; b < x->n_blocks; b++)
		memset(area.mem[1][i] + b * BLOCK, 0x5a, BLOCK);
}

/* ------------------------------------------------------------------ posting */

static void
put_response(struct hwq_wr *wr, unsigned int i, bool bad)
{
	const struct response r = {i, bad ? BAD : GOOD};

	wr->wr_id = bad ? BAD_WR_ID + i : i;
	wr->wr_flags = HWQ_WQE_SIGNALED | HWQ_WQE_INLINE | (bad ? 0 : HWQ_WQE_FENCE);
	hwq_wr_send(wr);
	hwq_wr_set_inline_data(wr, &r, sizeof(r));
}

static void
put_transfer(struct hwq_wr *wr, unsigned int i)
{
	const struct txn *x = &txns[i];
	struct mlx5dv_sig_t10dif dif = {.bg_type = MLX5DV_SIG_T10DIF_CRC,
		.app_tag = 0x1234,
		.ref_tag = x->ref,
		.flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP};
	const struct mlx5dv_sig_block_domain domain = {.sig_type = MLX5DV_SIG_TYPE_T10DIF,
		.sig = {.dif = &dif},
		.block_size = MLX5DV_BLOCK_SIZE_512};
	const struct mlx5dv_sig_block_attr sig = {.mem = x->is_read ? NULL : &domain,
		.wire = x->is_read ? &domain : NULL,
		.check_mask = 0xff};
	const struct mlx5dv_mkey_conf_attr nothing = {0};
	const struct hwq_sge sge = {(uintptr_t)area.mem[x->is_read][i],
		x->n_blocks * (x->is_read ? BLOCK : UNIT), mr.lkey};

	wr->wr_id = OTHER;
	wr->wr_flags = HWQ_WQE_INLINE;
	hwq_wr_mkey_configure(wr, x->key, 3, &nothing);
	hwq_wr_set_mkey_access_flags(wr, IBV_ACCESS_LOCAL_WRITE);
	hwq_wr_set_mkey_layout_list(wr, 1, &sge);
	hwq_wr_set_mkey_sig_block(wr, &sig);
	wr->wr_flags = below(2) != 0 ? HWQ_WQE_SIGNALED : 0;
	if (x->is_read)
		hwq_wr_rdma_read(wr, mr.rkey, (uintptr_t)area.mem[0][i]);
	else
		hwq_wr_rdma_write(wr, mr.rkey, (uintptr_t)area.mem[1][i]);
	hwq_wr_set_sge(wr, x->key->lkey, 0, x->n_blocks * (x->is_read ? UNIT : BLOCK));
}

/*
 * Posts the next n transactions, with one doorbell. Either each response follows its transfer, or
 * all responses come last. In the second case several transfers may fail before one stop.
 */
static void
post_txns(unsigned int n)
{
	const bool together = below(2) != 0;
	unsigned int i, first = n_posted;
	struct hwq_wr wr;

	hwq_wr_start(&wr, &t.qp->sq);
	for (; n != 0 && n_posted < N_TXNS; n--) {
		put_transfer(&wr, n_posted);
		if (!together)
			put_response(&wr, n_posted, false);
		n_posted++;
	}
	for (i = first; together && i < n_posted; i++)
		put_response(&wr, i, false);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
}

static void
post_receives(void)
{
	struct hwq_rq *rq = &t.qp->rq;

	while (hwq_rq_free(rq) != 0) {
		const unsigned int slot = rq->pi % (N_RECVS);
		const struct hwq_sge sge = {(uintptr_t)&area.received[slot],
			sizeof(area.received[0]), mr.lkey};

		CHECK_EQ(hwq_rq_post_list(rq, slot, &sge, 1), 0, "a receive");
	}
	hwq_rq_ring(rq);
}

/* ------------------------------------------------------------------ responses */

/*
 * Records the response, and reports an error if it is wrong, or the second response to its
 * transaction.
 */
static void
arrived(const struct response *r)
{
	CHECK(r->txn < N_TXNS, "a response for transaction %u", r->txn);
	if (r->txn >= N_TXNS)
		return;
	CHECK(!txns[r->txn].is_done, "a second response for transaction %u", r->txn);
	CHECK_EQ(r->what, txns[r->txn].wrong == NOTHING ? GOOD : BAD, "a response");
	txns[r->txn].is_done = true;
	n_arrived++;
}

static void
note(const struct hwq_cqe *rec)
{
	unsigned int i;

	CHECK_EQ(hwq_mkey_note_err(t.domain, rec), 0, "whose key");
	for (i = 0; i < N_TXNS && txns[i].key->lkey != rec->sig.mkey; i++)
		;
	CHECK(i < N_TXNS, "key 0x%x", rec->sig.mkey);
	CHECK(!txns[i].is_told, "transaction %u is told of twice", i);
	txns[i].is_told = true;
	txns[i].told_memory = rec->sig.memory;
}

/* Step 1 of the list at the top of this file: polls all completions. */
static void
poll_all(void)
{
	struct hwq_cqe rec;

	while (hwq_cq_poll(t.cq, &rec, 1) == 1) {
		if (rec.opcode == MLX5_CQE_SIG_ERR) {
			note(&rec);
			continue;
		}
		CHECK_EQ(rec.syndrome, 0, "syndrome");
		if (rec.opcode == MLX5_CQE_REQ) {
			hwq_sq_complete(&t.qp->sq, rec.wqe_counter);
			continue;
		}
		arrived(&area.received[hwq_rq_wr_id(&t.qp->rq, rec.wqe_counter)]);
		hwq_rq_complete(&t.qp->rq, rec.wqe_counter);
	}
	post_receives();
}

/* ------------------------------------------------------------------ a stop */

/* Checks that the key reports the error that this test wrote into the signature. */
static void
check_error(unsigned int i, const struct mlx5dv_mkey_err *err)
{
	static const enum mlx5dv_mkey_err_type types[N_PARTS] = {[NOTHING] = MLX5DV_MKEY_NO_ERR,
		[DATA] = MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD,
		[GUARD] = MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD,
		[APP] = MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG,
		[REF] = MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG};
	const struct txn *x = &txns[i];

	CHECK_EQ(err->err_type, types[x->wrong], "what is wrong");
	CHECK_EQ(err->err.sig.expected_value, x->expected, "expected");
	CHECK_EQ(err->err.sig.actual_value, x->actual, "actual");
	CHECK_EQ(err->err.sig.offset, x->wrong_block * UNIT, "offset");
	CHECK_EQ(x->told_memory, !x->is_read, "the domain");
}

/*
 * Steps 2 and 3 of the list at the top of this file: checks keys, cancels responses, and posts the
 * bad responses. Returns the number of failed transactions.
 */
static unsigned int
check_keys(void)
{
	struct mlx5dv_mkey_err err;
	unsigned int i, n = 0;
	struct hwq_wr wr;

	hwq_wr_start(&wr, &t.qp->sq);
	for (i = 0; i < n_posted; i++) {
		struct txn *x = &txns[i];

		if (x->is_done || x->is_cancelled)
			continue;
		CHECK_EQ(hwq_mkey_check(x->key, &err), 0, "checking a key");
		if (err.err_type == MLX5DV_MKEY_NO_ERR)
			continue;
		check_error(i, &err);
		CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, i), 1, "cancelling");
		CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, i), -EINVAL, "cancelling again");
		put_response(&wr, i, true);
		x->is_cancelled = true;
		n++;
	}
	CHECK_EQ(hwq_wr_complete(&wr), 0, "the bad responses");
	return n;
}

static void
handle_stop(void)
{
	unsigned int n;

	CHECK_EQ(hwq_qp_state(t.qp), IBV_QPS_SQD, "state");
	poll_all();
	n = check_keys();
	CHECK(n != 0, "a stop without a wrong signature");
	n_stops++;
	n_failed += n;
	if (n > n_bad_in_stop)
		n_bad_in_stop = n;
	if (below(2) != 0)
		post_txns(below(3)); /* work that is posted while the queue is stopped must wait */
	emu_pump();
	CHECK_EQ(hwq_qp_resume(t.qp), 0, "resume");
}

/* Takes an asynchronous event, if there is one. */
static void
look_for_stop(void)
{
	struct hwq_async event;

	if (hwq_async_get(dev, &event) != 0)
		return;
	CHECK_EQ(event.what, HWQ_ASYNC_SQ_DRAINED, "the event");
	CHECK(event.qp == t.qp, "another QP's event");
	hwq_async_ack(&event);
	handle_stop();
}

/* ------------------------------------------------------------------ rounds */

static void
one_round(void)
{
	const uint64_t end = emu_now_ns() + CHECK_PATIENCE_NS;
	unsigned int i;

	n_posted = n_arrived = 0;
	for (i = 0; i < N_TXNS; i++)
		draw_txn(i);
	while (n_arrived < N_TXNS && check_failures == 0) {
		if (n_posted < N_TXNS && below(4) == 0)
			post_txns(1 + below(N_TXNS));
		softhca_pump();
		look_for_stop();
		poll_all();
		CHECK(emu_now_ns() < end, "%u of %u transactions have ended", n_arrived, N_TXNS);
	}
	for (i = 0; i < N_TXNS; i++) {
		struct txn *x = &txns[i];

		CHECK_EQ(x->is_told, x->wrong != NOTHING, "a SIG_ERR");
		for (uint32_t b = 0; b < x->n_blocks; b++)
			check_bytes(area.mem[1][i] + b * BLOCK, area.mem[0][i] + b * UNIT, BLOCK,
				"data");
	}
	CHECK_EQ(hwq_qp_state(t.qp), IBV_QPS_RTS, "state");
}

static void
rounds(unsigned long n)
{
	unsigned long bad = n_failed;

	for (; n != 0 && check_failures == 0; n--)
		one_round();
	CHECK(n_failed > bad, "no transaction failed");
}

static void
open_all(void)
{
	const struct hwq_qp_conf conf = {.sq_wr = 64,
		.max_inline = 316,
		.rq_wr = N_RECVS,
		.sig_pipelining = true,
		.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE};
	const struct hwq_mkey_conf keys = {.n = N_TXNS, .max_entries = 4, .flags = HWQ_MKEY_SIG};
	unsigned int i;

	dev = emu_open();
	if (hwq_mr_register(dev, &area, sizeof(area),
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		    &mr) != 0)
		EMU_DIE("registering");
	twin_create(dev, &conf, &t);
	twin_connect_self(&t);
	if (fcntl(hwq_async_fd(dev), F_SETFL, O_NONBLOCK) != 0 ||
		hwq_mkey_pool_create(t.domain, &keys, &pool) != 0)
		EMU_DIE("keys");
	for (i = 0; i < N_TXNS; i++)
		txns[i].key = hwq_mkey_get(pool);
}

static void
close_all(void)
{
	unsigned int i;

	for (i = 0; i < N_TXNS; i++)
		hwq_mkey_put(txns[i].key);
	CHECK_EQ(hwq_mkey_pool_destroy(pool), 0, "destroying the keys");
	twin_destroy(&t);
	CHECK_EQ(hwq_mr_deregister(&mr), 0, "deregistering");
	CHECK_EQ(hwq_dev_close(dev), 0, "closing");
}

int
main(int argc, char **argv)
{
	const unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 100;

	if (argc > 2)
		rnd = strtoull(argv[2], NULL, 0);
	CHECK_EQ(crc16((const uint8_t *)"123456789", 9), 0xd0db,
		"the check value of CRC-16/T10-DIF");
	open_all();
	RUN("each response is right, over many stops", rounds(n));
	if (getenv("SOFTHCA_SIG_STOP") != NULL)
		CHECK(n_bad_in_stop > 1, "no two transactions failed in one stop");
	close_all();
	printf("%u stops, %u failed transactions, at most %u in one stop\n", n_stops, n_failed,
		n_bad_in_stop);
	return check_failures != 0;
}
