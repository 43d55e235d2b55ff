/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates the queues, keys and memory for the fuzzer of queues: see fuzz_world.h. */
#include "fuzz_world.h"

#include <stdio.h>
#include <string.h>

#include "qp_ready.h"

#define DC_KEY  UINT64_C(0x1122334455667788)
#define XRC_DOM 3

/* ---- memory and keys */

static struct softhca_mkey *
make_key(uint32_t pdn, uint32_t access, uint64_t addr, uint64_t len, enum softhca_mkey_kind kind,
	bool bsf, bool crypto)
{
	struct softhca_mkey_attr attr = {.pdn = pdn,
		.access = access,
		.addr = addr,
		.iova = addr,
		.len = len,
		.kind = kind,
		.bsf = bsf,
		.crypto = crypto,
		.rinval = kind != SOFTHCA_MKEY_MR,
		.has_variant = kind == SOFTHCA_MKEY_INDIRECT,
		.variant = (uint8_t)rnd(256),
		.free = kind == SOFTHCA_MKEY_INDIRECT,
		.max_entries = kind == SOFTHCA_MKEY_INDIRECT ? FUZZ_UNITS : 4};
	struct softhca_mkey *mkey;

	FUZZ_MUST(softhca_mkey_create(&fuzz_dev, &attr, &mkey));
	return mkey;
}

static void
make_region(struct fuzz_region *r, size_t len, uint32_t margin, uint32_t pdn, uint32_t access)
{
	r->mem = fuzz_guarded(len);
	r->len = len;
	r->va = (uintptr_t)r->mem + margin;
	r->size = len - 2 * margin;
	fuzz_fill_secret(r->mem, len);
	r->mkey = make_key(pdn, access, r->va, r->size, SOFTHCA_MKEY_MR, false, false);
}

static void
make_memory(struct fuzz_world *w)
{
	const uint32_t all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

	/* One region ends at the last byte of its memory, another region ends before. */
	make_region(&w->rw[0], FUZZ_RW_LEN, 0, FUZZ_PDN, all);
	make_region(&w->rw[1], FUZZ_RW_LEN, FUZZ_MARGIN, FUZZ_PDN, all);
	make_region(&w->rw[2], FUZZ_RW_LEN, FUZZ_MARGIN, FUZZ_PDN, all | IBV_ACCESS_ON_DEMAND);
	make_region(&w->ro, FUZZ_PAGE, 0, FUZZ_PDN, IBV_ACCESS_REMOTE_READ);
	make_region(&w->other, FUZZ_PAGE, 0, FUZZ_OTHER_PDN, all);
	w->none = fuzz_guarded(FUZZ_PAGE);
	fuzz_fill_secret(w->none, FUZZ_PAGE);
	memset(w->rw[0].mem, 0x11, FUZZ_RW_LEN);
	memset((void *)(uintptr_t)w->rw[1].va, 0x22, w->rw[1].size);
	memset((void *)(uintptr_t)w->rw[2].va, 0x55, w->rw[2].size);
	rnd_bytes(w->ro.mem, w->ro.len);
	fuzz_freeze(w->ro.mem, true);
	fuzz_freeze(w->other.mem, true);
	fuzz_freeze(w->none, true);
	for (unsigned int i = 0; i < N_INDIRECT; i++)
		w->indirect[i] = make_key(FUZZ_PDN, 0, 0, 0, SOFTHCA_MKEY_INDIRECT,
			i >= N_INDIRECT - 4, i >= N_INDIRECT - N_CRYPTO);
	for (unsigned int i = 0; i < N_WINDOWS; i++)
		w->window[i] = make_key(FUZZ_PDN, 0, 0, 0,
			i == 0 ? SOFTHCA_MKEY_WINDOW_1 : SOFTHCA_MKEY_WINDOW_2, false, false);
	for (unsigned int i = 0; i < N_PSVS; i++)
		FUZZ_MUST(softhca_psv_create(&fuzz_dev, i == 0 ? FUZZ_OTHER_PDN : FUZZ_PDN,
			&w->psv[i]));
	for (unsigned int i = 0; i < N_DEKS; i++) {
		struct softhca_dek_attr dek = {.pdn = i == 0 ? FUZZ_OTHER_PDN : FUZZ_PDN,
			.key_256 = one_in(2),
			.has_keytag = one_in(4)};

		rnd_bytes(dek.key, sizeof(dek.key));
		FUZZ_MUST(softhca_dek_create(&fuzz_dev, &dek, &w->dek[i]));
	}
}

static void
free_memory(struct fuzz_world *w)
{
	struct fuzz_region *regions[] = {&w->rw[0], &w->rw[1], &w->rw[2], &w->ro, &w->other};

	for (unsigned int i = 0; i < N_PSVS; i++)
		FUZZ_MUST(softhca_psv_destroy(w->psv[i]));
	for (unsigned int i = 0; i < N_DEKS; i++)
		FUZZ_MUST(softhca_dek_destroy(w->dek[i]));
	for (unsigned int i = 0; i < N_WINDOWS; i++)
		FUZZ_MUST(softhca_mkey_destroy(w->window[i]));
	for (unsigned int i = 0; i < N_INDIRECT; i++)
		FUZZ_MUST(softhca_mkey_destroy(w->indirect[i]));
	for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++) {
		FUZZ_MUST(softhca_mkey_destroy(regions[i]->mkey));
		fuzz_free(regions[i]->mem);
	}
	fuzz_free(w->none);
}

/* ---- queues */

static _Atomic uint32_t *
make_record(void)
{
	return (_Atomic uint32_t *)(void *)fuzz_guarded(8);
}

static void
make_cq(struct fuzz_world *w, unsigned int i)
{
	struct fuzz_cq *c = &w->cq[i];
	struct softhca_cq_attr attr = {.n_cqe = 16u << i, .cqe_len = i % 2 == 0 ? 64 : 128};

	c->n = attr.n_cqe;
	c->len = attr.cqe_len;
	c->buf = fuzz_guarded((size_t)c->n * c->len);
	c->db = make_record();
	attr.buf = c->buf;
	attr.dbrec = c->db;
	attr.pad = i == 3;
	attr.compress = i == 1;
	attr.ignore_overrun = i == 2;
	attr.uar = w->uar[i % N_UARS];
	FUZZ_MUST(softhca_cq_create(&fuzz_dev, &attr, &c->cq));
}

static void
make_srq(struct fuzz_world *w, unsigned int i)
{
	struct fuzz_srq *s = &w->srq[i];
	struct softhca_srq_attr attr = {.pdn = FUZZ_PDN, .n_wqe = 4, .log_stride = 6};

	s->n = attr.n_wqe;
	s->stride = 1u << attr.log_stride;
	s->pi = s->last = 0;
	s->buf = fuzz_guarded(s->n * s->stride);
	s->db = make_record();
	for (uint32_t n = 0; n < s->n; n++)
		((struct mlx5_wqe_srq_next_seg *)(void *)(s->buf + n * s->stride))->next_wqe_index =
			htobe16((uint16_t)((n + 1) % s->n));
	attr.buf = s->buf;
	attr.dbrec = s->db;
	attr.cq = i == 1 ? w->cq[1].cq : NULL;
	attr.xrcdn = i == 1 ? XRC_DOM : 0;
	FUZZ_MUST(softhca_srq_create(&fuzz_dev, &attr, &s->srq));
}

static bool
sends(enum softhca_qp_type type)
{
	return type != SOFTHCA_QP_XRC_RECV && type != SOFTHCA_QP_DCT;
}

static bool
has_rq(unsigned int queue)
{
	return queue == Q_RC_A || queue == Q_RC_B || queue == Q_UC || queue == Q_UD;
}

static void
create_world_qp(struct fuzz_world *w, unsigned int queue)
{
	struct fuzz_queue *q = &w->queue[queue];
	struct softhca_qp_init init = {.type = q->type,
		.pdn = FUZZ_PDN,
		.send_cq = w->cq[queue % N_CQS].cq,
		.recv_cq = w->cq[(queue + 1) % N_CQS].cq,
		.uar = sends(q->type) ? w->uar[q->uar] : NULL,
		.buf = q->rq,
		.sq_buf = q->sq,
		.dbrec = q->db,
		.sq_bb = q->sq_bb,
		.rq_wqe = q->rq_n,
		.log_rq_stride = (uint32_t)__builtin_ctz(q->rq_stride),
		.uidx = queue,
		.xrcdn = XRC_DOM,
		.dc_key = DC_KEY,
		.streams = q->type == SOFTHCA_QP_DCI,
		.log_errored = 1};

	if (queue == Q_RC_SRQ || queue == Q_DCT)
		init.srq = w->srq[0].srq;
	FUZZ_MUST(softhca_qp_create(&fuzz_dev, &init, &q->qp));
}

static void
make_queue(struct fuzz_world *w, unsigned int queue)
{
	static const enum softhca_qp_type types[N_QUEUES] = {SOFTHCA_QP_RC, SOFTHCA_QP_RC,
		SOFTHCA_QP_RC, SOFTHCA_QP_UC, SOFTHCA_QP_UD, SOFTHCA_QP_XRC_SEND,
		SOFTHCA_QP_XRC_RECV, SOFTHCA_QP_DCI, SOFTHCA_QP_DCT, SOFTHCA_QP_RAW};
	struct fuzz_queue *q = &w->queue[queue];

	*q = (struct fuzz_queue){.type = types[queue], .rq_stride = 16};
	/*
	 * The two RC QPs that are connected to each other have doorbell pages of their own; all
	 * other queues share page 0.
	 */
	q->uar = queue == Q_RC_A ? 1 : queue == Q_RC_B ? 2 : 0;
	q->sq_bb = sends(q->type) ? 16u << (queue % 3) : 0;
	q->rq_n = has_rq(queue) ? 4 : 0;
	if (has_rq(queue))
		q->rq_stride = 16u << (queue % 4);
	/* Even a ring without WQEs needs an address. */
	q->sq = fuzz_guarded(q->sq_bb != 0 ? q->sq_bb * 64 : 64);
	q->rq = fuzz_guarded(q->rq_n != 0 ? q->rq_n * q->rq_stride : 64);
	q->db = make_record();
	fuzz_fill_secret(q->sq, q->sq_bb * 64);
	create_world_qp(w, queue);
}

static uint32_t
destination(const struct fuzz_world *w, unsigned int queue)
{
	static const uint8_t peers[N_QUEUES] = {Q_RC_B, Q_RC_A, Q_RC_SRQ, Q_UC, Q_UD, Q_XRC_RECV,
		Q_XRC_SEND, Q_DCT, Q_DCI, Q_RAW};

	return w->peer[queue] != 0 ? w->peer[queue] : softhca_qp_number(w->queue[peers[queue]].qp);
}

static void
reset_queue(struct fuzz_world *w, unsigned int queue)
{
	struct fuzz_queue *q = &w->queue[queue];
	const struct softhca_qp_attr attr = {.state = IBV_QPS_RESET};

	if (q->type == SOFTHCA_QP_DCT) {
		FUZZ_MUST(softhca_qp_destroy(q->qp));
		create_world_qp(w, queue);
	} else {
		FUZZ_MUST(softhca_qp_modify(q->qp, &attr, IBV_QP_STATE));
	}
	q->pi = q->rq_pi = 0;
	q->db[0] = q->db[1] = 0;
	fuzz_fill_secret(q->sq, q->sq_bb * 64);
}

void
world_connect(struct fuzz_world *w, unsigned int queue)
{
	struct fuzz_queue *q = &w->queue[queue];
	const enum kind kind = q->type == SOFTHCA_QP_DCT   ? K_DCT
			       : q->type == SOFTHCA_QP_DCI ? K_DCI
							   : qp_kind((enum ibv_qp_type)q->type);
	const bool copies = kind == K_RC || kind == K_XRC_SEND || kind == K_DCI;
	struct softhca_qp_attr attr = {.port = 1,
		.access =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.qkey = 7,
		.max_dest_rd_atomic = 16,
		.max_rd_atomic = 16,
		.min_rnr_timer = 1,
		.timeout = 1,
		.rnr_retry = 1,
		.mmo = true,
		.drain_sigerr = queue == Q_RC_B};

	reset_queue(w, queue);
	attr.dest_qpn = destination(w, queue);
	for (enum ibv_qp_state to = IBV_QPS_INIT; to <= (kind == K_DCT ? IBV_QPS_RTR : IBV_QPS_RTS);
		to++) {
		attr.state = to;
		FUZZ_MUST(softhca_qp_modify(q->qp, &attr,
			(uint32_t)(IBV_QP_STATE | qp_need(kind, to))));
		if (to == IBV_QPS_INIT && copies)
			FUZZ_MUST(softhca_qp_modify(q->qp, &attr,
				SOFTHCA_QP_MMO | SOFTHCA_QP_DRAIN_SIGERR));
	}
}

unsigned int
world_state(const struct fuzz_queue *q, uint32_t *hw_bb)
{
	struct softhca_qp_attr attr;

	softhca_qp_query(q->qp, &attr, hw_bb);
	return attr.state;
}

/* ---- all of it */

void
world_create(struct fuzz_world *w, bool calm, const uint32_t *peers)
{
	memset(w, 0, sizeof(*w));
	w->calm = calm;
	if (peers != NULL)
		memcpy(w->peer, peers, sizeof(w->peer));
	for (unsigned int i = 0; i < N_UARS; i++) {
		w->page[i] = fuzz_guarded(FUZZ_PAGE);
		FUZZ_MUST(softhca_uar_create(&fuzz_dev, w->page[i], i,
			i == 3 ? SOFTHCA_UAR_NC : SOFTHCA_UAR_BF, &w->uar[i]));
	}
	make_memory(w);
	for (unsigned int i = 0; i < N_CQS; i++)
		make_cq(w, i);
	for (unsigned int i = 0; i < N_SRQS; i++)
		make_srq(w, i);
	for (unsigned int i = 0; i < N_QUEUES; i++)
		make_queue(w, i);
	for (unsigned int i = 0; i < N_QUEUES; i++)
		world_connect(w, i);
}

void
world_destroy(struct fuzz_world *w)
{
	for (unsigned int i = 0; i < N_QUEUES; i++) {
		FUZZ_MUST(softhca_qp_destroy(w->queue[i].qp));
		fuzz_free(w->queue[i].sq);
		fuzz_free(w->queue[i].rq);
		fuzz_free((uint8_t *)(uintptr_t)w->queue[i].db);
	}
	for (unsigned int i = 0; i < N_SRQS; i++) {
		FUZZ_MUST(softhca_srq_destroy(w->srq[i].srq));
		fuzz_free(w->srq[i].buf);
		fuzz_free((uint8_t *)(uintptr_t)w->srq[i].db);
	}
	for (unsigned int i = 0; i < N_CQS; i++) {
		FUZZ_MUST(softhca_cq_destroy(w->cq[i].cq));
		fuzz_free(w->cq[i].buf);
		fuzz_free((uint8_t *)(uintptr_t)w->cq[i].db);
	}
	free_memory(w);
	for (unsigned int i = 0; i < N_UARS; i++) {
		FUZZ_MUST(softhca_uar_destroy(w->uar[i]));
		fuzz_free(w->page[i]);
	}
}

void
fuzz_check_regions(const struct fuzz_world *w)
{
	for (unsigned int i = 0; i < N_RW; i++) {
		const struct fuzz_region *r = &w->rw[i];
		size_t front = r->va - (uintptr_t)r->mem, behind = r->len - front - r->size;

		for (size_t at = 0; at < front; at++)
			if (r->mem[at] != FUZZ_SECRET)
				FUZZ_DIE("written: %zu bytes in front of a region", front - at);
		for (size_t at = 0; at < behind; at++)
			if (r->mem[r->len - behind + at] != FUZZ_SECRET)
				FUZZ_DIE("written: byte %zu behind a region", at);
	}
}
