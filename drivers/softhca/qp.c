/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs as objects: creation, and the states that ibv_modify_qp(3) moves them through. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"

/* Mask bits of ibv_modify_qp(3). */
enum qp_mask {
	M_STATE = 1 << 0,
	M_CUR_STATE = 1 << 1,
	M_EN_SQD_NOTIFY = 1 << 2,
	M_ACCESS = 1 << 3,
	M_PKEY_INDEX = 1 << 4,
	M_PORT = 1 << 5,
	M_QKEY = 1 << 6,
	M_AV = 1 << 7,
	M_PATH_MTU = 1 << 8,
	M_TIMEOUT = 1 << 9,
	M_RETRY_CNT = 1 << 10,
	M_RNR_RETRY = 1 << 11,
	M_RQ_PSN = 1 << 12,
	M_MAX_RD_ATOMIC = 1 << 13,
	M_ALT_PATH = 1 << 14,
	M_MIN_RNR_TIMER = 1 << 15,
	M_SQ_PSN = 1 << 16,
	M_MAX_DEST_RD_ATOMIC = 1 << 17,
	M_PATH_MIG_STATE = 1 << 18,
	M_CAP = 1 << 19,
	M_DEST_QPN = 1 << 20
};

#define N_STATES 7
#define ALLOWED  (1u << 29) /* the transition exists, even if it needs no attribute */

/*
 * For an RC QP, what each transition needs and what it may bring besides. The needs are the table of
 * ibv_modify_qp(3); what is optional is the table of the InfiniBand architecture, volume 1, chapter
 * 11.2.5.2, "Modify queue pair". Alternate paths and resizing are not capabilities of this adapter.
 */
struct transition {
	uint32_t need, may;
};

static const struct transition rc_transitions[N_STATES][N_STATES] = {
	[QP_RESET][QP_RESET] = {ALLOWED, 0},
	[QP_RESET][QP_INIT] = {ALLOWED | M_PKEY_INDEX | M_PORT | M_ACCESS, 0},
	[QP_INIT][QP_RESET] = {ALLOWED, 0},
	[QP_INIT][QP_ERR] = {ALLOWED, 0},
	[QP_INIT][QP_INIT] = {ALLOWED,
		M_PKEY_INDEX | M_PORT | M_ACCESS | SOFTHCA_QP_MMO | SOFTHCA_QP_DRAIN_SIGERR},
	[QP_INIT][QP_RTR] = {ALLOWED | M_AV | M_PATH_MTU | M_DEST_QPN | M_RQ_PSN |
				     M_MAX_DEST_RD_ATOMIC | M_MIN_RNR_TIMER,
		M_ACCESS | M_PKEY_INDEX},
	[QP_RTR][QP_RESET] = {ALLOWED, 0},
	[QP_RTR][QP_ERR] = {ALLOWED, 0},
	[QP_RTR][QP_RTS] = {ALLOWED | M_TIMEOUT | M_RETRY_CNT | M_RNR_RETRY | M_SQ_PSN |
				    M_MAX_RD_ATOMIC,
		M_CUR_STATE | M_ACCESS | M_MIN_RNR_TIMER | M_PATH_MIG_STATE},
	[QP_RTS][QP_RESET] = {ALLOWED, 0},
	[QP_RTS][QP_ERR] = {ALLOWED, 0},
	[QP_RTS][QP_RTS] = {ALLOWED, M_CUR_STATE | M_ACCESS | M_MIN_RNR_TIMER | M_PATH_MIG_STATE},
	[QP_RTS][QP_SQD] = {ALLOWED, M_EN_SQD_NOTIFY},
	[QP_SQD][QP_RESET] = {ALLOWED, 0},
	[QP_SQD][QP_ERR] = {ALLOWED, 0},
	[QP_SQD][QP_RTS] = {ALLOWED, M_CUR_STATE | M_ACCESS | M_MIN_RNR_TIMER | M_PATH_MIG_STATE},
	[QP_SQD][QP_SQD] = {ALLOWED, M_PKEY_INDEX | M_PORT | M_AV | M_TIMEOUT | M_RETRY_CNT |
					     M_RNR_RETRY | M_MAX_RD_ATOMIC | M_MAX_DEST_RD_ATOMIC |
					     M_ACCESS | M_MIN_RNR_TIMER | M_PATH_MIG_STATE},
	/* An RC QP is never moved to SQE: its send errors are errors of the whole connection. */
	[QP_SQE][QP_RESET] = {ALLOWED, 0},
	[QP_SQE][QP_ERR] = {ALLOWED, 0},
	[QP_ERR][QP_RESET] = {ALLOWED, 0},
	[QP_ERR][QP_ERR] = {ALLOWED, 0},
};

static bool
between(uint32_t v, uint32_t lo, uint32_t hi)
{
	return v >= lo && v <= hi;
}

static bool
values_are_legal(const struct softhca_qp *qp, const struct softhca_qp_attr *a, uint32_t mask)
{
	const struct softhca_config *cfg = qp->dev->cfg;

	return (!(mask & M_PORT) || between(a->port, 1, cfg->ports)) &&
	       (!(mask & M_PATH_MTU) || between(a->path_mtu, 1, 5)) &&
	       (!(mask & M_TIMEOUT) || a->timeout <= 31) &&
	       (!(mask & M_RETRY_CNT) || a->retry_cnt <= 7) &&
	       (!(mask & M_RNR_RETRY) || a->rnr_retry <= 7) &&
	       (!(mask & M_MIN_RNR_TIMER) || a->min_rnr_timer <= 31) &&
	       (!(mask & M_DEST_QPN) || a->dest_qpn <= 0xffffff) &&
	       (!(mask & M_MAX_RD_ATOMIC) || a->max_rd_atomic <= cfg->max_rd_atomic) &&
	       (!(mask & M_MAX_DEST_RD_ATOMIC) || a->max_dest_rd_atomic <= cfg->max_rd_atomic);
}

static int
modify_check(const struct softhca_qp *qp, const struct softhca_qp_attr *a, uint32_t mask)
{
	enum qp_state from = qp_state(qp);
	enum qp_state to = mask & M_STATE ? a->state : from;
	const struct transition *t;
	uint32_t rest = mask & ~(uint32_t)M_STATE;

	if (to >= N_STATES || ((mask & M_CUR_STATE) && a->cur_state != from))
		return -EINVAL;
	t = &rc_transitions[from][to];
	if (t->need == 0 || (t->need & ~ALLOWED & ~rest) != 0)
		return -EINVAL;
	if ((rest & ~((t->need & ~ALLOWED) | t->may | M_CUR_STATE)) != 0)
		return -EINVAL;
	return values_are_legal(qp, a, rest) ? 0 : -EINVAL;
}

static void
modify_path(struct softhca_qp_attr *to, const struct softhca_qp_attr *a)
{
	to->is_global = a->is_global;
	to->sgid_index = a->sgid_index;
	to->hop_limit = a->hop_limit;
	to->sl = a->sl;
	to->dlid = a->dlid;
	memcpy(to->dgid, a->dgid, sizeof(to->dgid));
	memcpy(to->dmac, a->dmac, sizeof(to->dmac));
}

static void
modify_values(struct softhca_qp_attr *to, const struct softhca_qp_attr *a, uint32_t mask)
{
#define TAKE(bit, field)                                                                           \
	do {                                                                                       \
		if (mask & (bit))                                                                  \
			to->field = a->field;                                                      \
	} while (0)
	TAKE(M_EN_SQD_NOTIFY, en_sqd_notify);
	TAKE(M_ACCESS, access);
	TAKE(M_PKEY_INDEX, pkey_index);
	TAKE(M_PORT, port);
	TAKE(M_QKEY, qkey);
	TAKE(M_PATH_MTU, path_mtu);
	TAKE(M_TIMEOUT, timeout);
	TAKE(M_RETRY_CNT, retry_cnt);
	TAKE(M_RNR_RETRY, rnr_retry);
	TAKE(M_RQ_PSN, rq_psn);
	TAKE(M_MAX_RD_ATOMIC, max_rd_atomic);
	TAKE(M_MIN_RNR_TIMER, min_rnr_timer);
	TAKE(M_SQ_PSN, sq_psn);
	TAKE(M_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(M_DEST_QPN, dest_qpn);
	TAKE(SOFTHCA_QP_MMO, mmo);
	TAKE(SOFTHCA_QP_DRAIN_SIGERR, drain_sigerr);
#undef TAKE
	if (mask & M_AV)
		modify_path(to, a);
}

/* Queues and attributes as at creation. A doorbell still on the page is of the past. */
static void
reset_queues(struct softhca_qp *qp)
{
	uar_discard_doorbells(qp->uar);
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->sq_ci = 0;
	qp->announced = 0;
	qp->rang = false;
	qp->bad_bf = false;
	qp->wait = WAIT_NONE;
	qp->draining = false;
	atomic_store_explicit(&qp->rq_ci, 0, memory_order_relaxed);
}

static void
enter_state(struct softhca_qp *qp, enum qp_state to)
{
	enum qp_state from = qp_state(qp);

	if (to == QP_RESET)
		reset_queues(qp);
	if (to == QP_SQD && from == QP_RTS)
		qp->draining = true; /* until a lane has finished what had begun, and says so */
	if (from == QP_SQD && to == QP_RTS)
		qp->draining = false;
	atomic_store_explicit(&qp->state, to, memory_order_release);
}

int
softhca_qp_modify(struct softhca_qp *qp, const struct softhca_qp_attr *attr, uint32_t mask)
{
	int err;

	uar_lock(qp->uar);
	spin_lock(&qp->recv);
	err = modify_check(qp, attr, mask);
	if (err == 0) {
		if (!(mask & M_STATE) || attr->state != QP_RESET)
			modify_values(&qp->attr, attr, mask);
		if (mask & M_STATE)
			enter_state(qp, attr->state);
	}
	spin_unlock(&qp->recv);
	uar_call_attention(qp->uar); /* lanes flush, drain, and resume */
	uar_unlock(qp->uar);
	return err;
}

void
softhca_qp_query(struct softhca_qp *qp, struct softhca_qp_attr *attr, uint32_t *hw_sq_bb)
{
	uar_lock(qp->uar);
	spin_lock(&qp->recv);
	*attr = qp->attr;
	attr->state = attr->cur_state = qp_state(qp);
	attr->sq_draining = qp->draining;
	*hw_sq_bb = qp->sq_ci;
	spin_unlock(&qp->recv);
	uar_unlock(qp->uar);
}

static bool
is_power_of_two_or_0(uint32_t v)
{
	return (v & (v - 1)) == 0;
}

static struct softhca_qp *
qp_new(struct softhca_dev *dev, const struct softhca_qp_init *init)
{
	struct softhca_qp *qp = aligned_alloc(CACHE_LINE, sizeof(*qp));

	if (qp == NULL)
		return NULL;
	memset(qp, 0, sizeof(*qp));
	qp->dev = dev;
	qp->type = init->type;
	qp->pdn = init->pdn;
	qp->uidx = init->uidx;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->uar = init->uar;
	qp->event = init->event;
	qp->dbrec = init->dbrec;
	qp->rq = init->buf;
	qp->rq_n = init->rq_wqe;
	qp->rq_log_stride = init->log_rq_stride;
	qp->sq = qp->rq + ((size_t)init->rq_wqe << init->log_rq_stride);
	qp->sq_bb = init->sq_bb;
	qp->sq_mask = init->sq_bb * WQEBB - 1;
	atomic_init(&qp->state, QP_RESET);
	return qp;
}

int
softhca_qp_create(struct softhca_dev *dev, const struct softhca_qp_init *init,
	struct softhca_qp **out)
{
	struct softhca_qp *qp;
	int err;

	if (init->type != SOFTHCA_QP_RC)
		return -EOPNOTSUPP;
	if (!is_power_of_two_or_0(init->sq_bb) || !is_power_of_two_or_0(init->rq_wqe) ||
		init->sq_bb > 32768 || init->rq_wqe > 32768 ||
		(init->rq_wqe != 0 && !between(init->log_rq_stride, 4, 10)))
		return -EINVAL;
	qp = qp_new(dev, init);
	if (qp == NULL)
		return -ENOMEM;
	err = uar_attach_qp(qp->uar, qp);
	if (err != 0)
		goto free_qp;
	err = table_put(&dev->lanes->qps, qp, &qp->number);
	if (err != 0)
		goto detach;
	atomic_fetch_add(&qp->send_cq->users, 1);
	atomic_fetch_add(&qp->recv_cq->users, 1);
	*out = qp;
	return 0;

detach:
	uar_detach_qp(qp->uar, qp);
free_qp:
	free(qp);
	return err;
}

int
softhca_qp_destroy(struct softhca_qp *qp)
{
	table_remove(&qp->dev->lanes->qps, qp->number);
	uar_detach_qp(qp->uar, qp);
	/* A peer's lane may have found it before, and still be at work on its receive side. */
	softhca_quiesce(qp->dev);
	atomic_fetch_sub(&qp->send_cq->users, 1);
	atomic_fetch_sub(&qp->recv_cq->users, 1);
	free(qp);
	return 0;
}

uint32_t
softhca_qp_number(const struct softhca_qp *qp)
{
	return qp->number;
}
