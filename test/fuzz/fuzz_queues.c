/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fuzzer of the adapter's queues: nearly valid work requests, receives, doorbells and records, on
 * queues of every type. The adapter must not crash or hang, and must not read or write unregistered
 * memory:
 *
 *  - queues, records, doorbell pages and regions end at pages that cannot be accessed;
 * - memory that the adapter may only read, and the slack before all memory, must not change;
 *  - memory that the adapter may not read holds a secret, which must not appear in memory or in
 *    frames.
 *
 * usage: fuzz_queues [BURSTS [SEED]]     usertools/fuzz.sh has the long form
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softhca.h"

#include "fuzz_wqe.h"

#define WORLD_BURSTS 200 /* number of bursts until all objects are created again */
/* offset of the next entry's index in an SRQ entry: mlx5_wqe_srq_next_seg */
#define SRQ_NEXT_AT 2
#define MAX_TURNS   10000

static struct fuzz_world w;
static unsigned long n_wqes, n_cqes, n_good[64]; /* n_good: number of good completions, by opcode */

/* ---- posting */

static uint8_t *
sq_at(struct fuzz_queue *q, unsigned int byte)
{
	return q->sq + ((q->pi * 64u + byte) & (q->sq_bb * 64 - 1));
}

static void
put_wqe(unsigned int queue, const struct fuzz_wqe *wqe)
{
	struct fuzz_queue *q = &w.queue[queue];
	struct mlx5_wqe_ctrl_seg ctrl;
	unsigned int bb = (wqe->posted_ds + 3) / 4;

	/* Fills the last WQEBB to its end: only memory that was not posted holds a secret. */
	for (unsigned int i = 16; i < bb * 64; i++)
		*sq_at(q, i) = i < wqe->posted_ds * 16 ? wqe->bytes[i] : 0x44;
	mlx5dv_set_ctrl_seg(&ctrl, q->pi, wqe->opcode, wqe->opmod, softhca_qp_number(q->qp),
		one_in(4) ? (uint8_t)rnd(256) : MLX5_WQE_CTRL_CQ_UPDATE, (uint8_t)wqe->ds, 0,
		htobe32(wqe->imm));
	q->must_fail[q->pi & (q->sq_bb - 1)] = wqe->must_fail;
	if (one_in(100)) {
		mutate_field_be((uint8_t *)&ctrl, sizeof(ctrl));
		q->must_fail[q->pi & (q->sq_bb - 1)] = false;
	}
	memcpy(sq_at(q, 0), &ctrl, sizeof(ctrl));
	q->pi = (uint16_t)(q->pi + bb);
	n_wqes++;
}

/*
 * Returns a wrong doorbell record. The record may announce the whole ring: so the secrets in the
 * ring are removed, and no WQE is known to fail any more.
 */
static uint32_t
lie_about_posts(struct fuzz_queue *q)
{
	for (uint32_t i = 0; i < q->sq_bb * 64; i++)
		if (q->sq[i] == FUZZ_SECRET)
			q->sq[i] = 0x44;
	memset(q->must_fail, 0, sizeof(q->must_fail));
	return (uint32_t)rnd_word();
}

/* Posts as many WQEs as should be free, and sometimes more, as a faulty program would. */
static void
post_sends(unsigned int queue)
{
	struct fuzz_queue *q = &w.queue[queue];
	uint16_t last = q->pi;
	uint32_t hw_bb;

	world_state(q, &hw_bb);
	/*
	 * The device may read the bytes that are posted now as a part of an earlier WQE, which
	 * still waits. So no earlier WQE is known to fail any more.
	 */
	if (q->pi != (uint16_t)hw_bb)
		memset(q->must_fail, 0, sizeof(q->must_fail));
	for (unsigned int n = 1 + (unsigned int)rnd(4); n != 0; n--) {
		struct fuzz_wqe wqe;
		uint16_t used = (uint16_t)(q->pi - hw_bb);

		wqe_make(&w, queue, &wqe);
		if (used + (wqe.posted_ds + 3) / 4 > q->sq_bb)
			break;
		last = q->pi;
		put_wqe(queue, &wqe);
		if (wqe.posted_ds != wqe.ds)
			break;
	}
	atomic_store(&q->db[MLX5_SND_DBR], htobe32(one_in(500) ? lie_about_posts(q) : q->pi));
	if (last != q->pi) {
		uint8_t *page = w.page[q->uar] + 0x800 + 0x100 * rnd(2);
		unsigned int words = one_in(3) ? 8 : 1;

		memcpy(page + 8, q->sq + (last & (q->sq_bb - 1)) * 64 + 8, 8 * (words - 1));
		memcpy(page, q->sq + (last & (q->sq_bb - 1)) * 64, 8);
	}
}

static void
post_receives(struct fuzz_queue *q)
{
	wqe_be_tame(!one_in(w.calm ? 40 : 3));
	for (unsigned int n = (unsigned int)rnd(4); n != 0; n--) {
		uint8_t *wqe = q->rq + (q->rq_pi & (q->rq_n - 1)) * q->rq_stride;

		for (uint32_t at = 0; at < q->rq_stride; at += 16) {
			wqe_some_data(&w, wqe + at);
			if (one_in(w.calm ? 200 : 16))
				mutate_field_be(wqe + at, 16);
		}
		q->rq_pi++;
	}
	atomic_store(&q->db[MLX5_RCV_DBR], htobe32(one_in(500) ? (uint32_t)rnd_word() : q->rq_pi));
}

static void
post_srq(struct fuzz_srq *s)
{
	wqe_be_tame(!one_in(w.calm ? 40 : 3));
	for (unsigned int n = (unsigned int)rnd(4); n != 0; n--) {
		uint8_t *wqe = s->buf + (s->pi & (s->n - 1)) * s->stride;

		for (uint32_t at = 16; at < s->stride; at += 16)
			wqe_some_data(&w, wqe + at);
		if (one_in(w.calm ? 500 : 50))
			mutate_field_be(wqe + SRQ_NEXT_AT, 2);
		s->pi++;
	}
	atomic_store(&s->db[0], htobe32(one_in(500) ? (uint32_t)rnd_word() : s->pi));
}

/* Writes bytes to a doorbell page that no driver would write. */
static void
ring_nonsense(void)
{
	uint8_t *page = w.page[rnd(N_UARS)];
	uint64_t v = htobe64((uint64_t)rnd_word() << 32 |
			     softhca_qp_number(w.queue[rnd(N_QUEUES)].qp) << 8 | rnd(64));

	switch (rnd(3)) {
	case 0:
		memcpy(page + 0x800 + 8 * rnd(256), &v, 8);
		break;
	case 1:
		memcpy(page + MLX5_CQ_DOORBELL, &v, 8);
		break;
	default:
		memcpy(page + 8 * rnd(FUZZ_PAGE / 8), &v, 8);
	}
}

/* ---- completions */

/* Checks a good CQE. fuzz_world.c sets the uidx of each queue to its index. */
static void
check_good(const struct mlx5_cqe64 *cqe)
{
	uint32_t queue = be32toh(cqe->srqn_uidx);
	uint16_t index = be16toh(cqe->wqe_counter);

	if (queue >= N_QUEUES || w.queue[queue].sq_bb == 0)
		FUZZ_DIE("a completion names no queue");
	if (w.queue[queue].must_fail[index & (w.queue[queue].sq_bb - 1)])
		FUZZ_DIE("queue %u: WQE 0x%x (opcode 0x%x) says it is longer than it is, and "
			 "completed well",
			queue, index, be32toh(cqe->sop_drop_qpn) >> 24);
	n_good[be32toh(cqe->sop_drop_qpn) >> 24 & 63]++;
}

/*
 * Skips the entries of compressed completions after their title. n: entries that are left to read.
 * Returns how many entries are left after the compressed completions.
 */
static uint32_t
skip_compressed(const struct fuzz_cq *c, const struct mlx5_cqe64 *title, uint32_t n)
{
	uint32_t of_title = be32toh(title->byte_cnt);

	if (of_title < 2 || of_title > n || of_title > c->n)
		FUZZ_DIE("a title of %u completions, where %u are left", of_title, n);
	n_cqes += of_title - 1;
	return n - (of_title - 1);
}

static void
count_completions(const struct fuzz_cq *c, uint32_t ci, uint32_t pi)
{
	for (uint32_t n = (pi - ci) & 0xffffff; n != 0 && n <= c->n; n--) {
		const uint8_t *entry = c->buf + ((pi - n) & (c->n - 1)) * c->len;
		const struct mlx5_cqe64 *cqe = (const void *)(entry + c->len - 64);

		n_cqes++;
		if ((cqe->op_own >> 2 & 3) == 3)
			n = skip_compressed(c, cqe, n);
		if (mlx5dv_get_cqe_opcode((struct mlx5_cqe64 *)(uintptr_t)cqe) == MLX5_CQE_REQ)
			check_good(cqe);
	}
}

static void
take_completions(void)
{
	for (unsigned int i = 0; i < N_CQS; i++) {
		struct fuzz_cq *c = &w.cq[i];
		struct softhca_cq_attr attr;
		uint32_t pi, ci;

		softhca_cq_query(c->cq, &attr, &pi, &ci);
		count_completions(c, c->seen, pi);
		c->seen = pi;
		if (one_in(2000))
			pi = (uint32_t)rnd_word();
		atomic_store(&c->db[0], htobe32(pi & 0xffffff));
		if (one_in(8))
			atomic_store(&c->db[1], htobe32((uint32_t)rnd_word()));
	}
}

/* ---- what must be true */

/* Rings and doorbell records: only the program may write to them. */
static void
freeze_queues(bool frozen)
{
	for (unsigned int i = 0; i < N_QUEUES; i++) {
		fuzz_freeze(w.queue[i].sq, frozen);
		fuzz_freeze(w.queue[i].rq, frozen);
		fuzz_freeze((uint8_t *)(uintptr_t)w.queue[i].db, frozen);
	}
	for (unsigned int i = 0; i < N_SRQS; i++) {
		fuzz_freeze(w.srq[i].buf, frozen);
		fuzz_freeze((uint8_t *)(uintptr_t)w.srq[i].db, frozen);
	}
}

static void
check_regions(void)
{
	fuzz_check_regions(&w);
	for (unsigned int i = 0; i < N_RW; i++)
		if (fuzz_has_secret((uint8_t *)(uintptr_t)w.rw[i].va, w.rw[i].size))
			FUZZ_DIE("read: a region holds bytes of memory that is not registered or "
				 "not posted");
}

static void
run_adapter(void)
{
	unsigned int turns = 0;

	while (softhca_pump() != 0)
		if (++turns > MAX_TURNS)
			FUZZ_DIE("the adapter does not come to rest");
}

/*
 * Takes queues that have left RTS back to RTS. If a queue in RTS is empty, fills its ring with the
 * secret again; otherwise, in one of 8 calls, resets the queue, because its WQEs may wait for ever.
 */
static void
tidy_queues(void)
{
	for (unsigned int i = 0; i < N_QUEUES; i++) {
		struct fuzz_queue *q = &w.queue[i];
		uint32_t hw_bb;
		unsigned int state = world_state(q, &hw_bb);

		if (i == Q_DCT ? state != IBV_QPS_RTR : state != IBV_QPS_RTS)
			world_connect(&w, i);
		else if (q->sq_bb != 0 && hw_bb == q->pi)
			fuzz_fill_secret(q->sq, q->sq_bb * 64);
		else if (one_in(8))
			world_connect(&w, i);
	}
}

static void
burst(void)
{
	for (unsigned int n = 1 + (unsigned int)rnd(4); n != 0; n--) {
		unsigned int queue = (unsigned int)rnd(N_QUEUES);

		if (w.queue[queue].rq_n != 0)
			post_receives(&w.queue[queue]);
		if (w.queue[queue].sq_bb != 0)
			post_sends(queue);
	}
	if (one_in(2))
		post_srq(&w.srq[rnd(N_SRQS)]);
	if (one_in(16))
		ring_nonsense();
	freeze_queues(true);
	run_adapter();
	fuzz_check_guards();
	freeze_queues(false);
	check_regions();
	take_completions();
	tidy_queues();
}

int
main(int argc, char **argv)
{
	unsigned long bursts = argc > 1 ? strtoul(argv[1], NULL, 0) : 10000;
	static const uint8_t opcodes[] = {MLX5_OPCODE_NOP, MLX5_OPCODE_SEND_INVAL,
		MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM, MLX5_OPCODE_SEND,
		MLX5_OPCODE_SEND_IMM, MLX5_OPCODE_TSO, MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_ATOMIC_CS,
		MLX5_OPCODE_ATOMIC_FA, MLX5_OPCODE_SET_PSV, MLX5_OPCODE_UMR, MLX5_OPCODE_MMO};
	unsigned int missing = 0;

	fuzz_fix_addresses(argv);
	fuzz_begin(argc > 2 ? strtoull(argv[2], NULL, 0) : 1, 600);
	world_init(SOFTHCA_WIRE_OFF);
	for (unsigned long b = 0; b < bursts; b++) {
		if (b % WORLD_BURSTS == 0)
			world_create(&w, one_in(2), NULL);
		burst();
		if (b % WORLD_BURSTS == WORLD_BURSTS - 1 || b == bursts - 1)
			world_destroy(&w);
	}
	world_fini();
	printf("%lu WQEs, %lu completions, %lu frames; completed well:", n_wqes, n_cqes,
		fuzz_frames);
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		printf(" 0x%02x %lu", opcodes[i], n_good[opcodes[i]]);
		missing += n_good[opcodes[i]] == 0;
	}
	printf("\n");
	/* If no work request succeeded, the fuzzer has tested nothing: this is a failure. */
	return bursts >= 5000 && missing != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
