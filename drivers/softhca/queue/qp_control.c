/* SPDX-License-Identifier: BSD-3-Clause */
/* Control calls of queue pairs: create, modify (ibv_modify_qp(3)), query and destroy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "ask.h"
#include "cq.h"
#include "elsewhere.h"
#include "lanes.h"
#include "log.h"
#include "qp.h"
#include "qp_mask.h"
#include "qp_states.h"
#include "srq.h"
#include "uar_queues.h"
#include "wake.h"

#define STREAM_BYTES (65536 / 8)

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

	if ((mask & M_CUR_STATE) && a->cur_state != from)
		return -EINVAL;
	t = qp_transition(qp->type, from, to);
	if (t == NULL || (t->need & ~TRANSITION_ALLOWED & ~rest) != 0)
		return -EINVAL;
	if ((rest & ~((t->need & ~TRANSITION_ALLOWED) | t->may)) != 0)
		return -EINVAL;
	return values_are_legal(qp, a, rest) ? 0 : -EINVAL;
}

static void
modify_path(struct softhca_qp_attr *to, const struct softhca_qp_attr *a)
{
	to->is_global = a->is_global;
	to->sgid_index = a->sgid_index;
	to->hop_limit = a->hop_limit;
	to->traffic_class = a->traffic_class;
	to->sl = a->sl;
	to->dlid = a->dlid;
	to->loopback = a->loopback;
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
	TAKE(SOFTHCA_QP_UDP_SPORT, udp_sport);
	TAKE(SOFTHCA_QP_DRAIN_SIGERR, drain_sigerr);
#undef TAKE
	if (mask & M_AV)
		modify_path(to, a);
}

/*
 * Sets the attributes of a new QP. As with the kernel's mlx5_ib, the new QP is on port 1, and
 * ibv_query_qp(3) reports this port in RESET.
 */
static void
reset_attributes(struct softhca_qp *qp)
{
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->attr.port = 1;
	qp->attr.mmo = qp->mmo;
}

/*
 * Sets the program's doorbell record to 0, because an old counter must not count as posted WQEs.
 * UCX leaves the old counter in the record when it resets a DCI. A card reads the record only at a
 * doorbell, but the adapter also reads it at other times.
 */
static void
reset_send_record(struct softhca_qp *qp)
{
	if (qp->sq_bb != 0 && (qp_has_no_record(qp) || !qp->dbrec_is_fixed))
		atomic_store_explicit(qp->send_rec, 0, memory_order_relaxed);
}

/* Called at a reset: drops the receives that long messages have taken, without completions. */
static void
drop_claims(struct softhca_qp *qp)
{
	while (qp->claims != NULL) {
		struct srq_claim *claim = qp->claims;

		qp->claims = claim->next;
		free(claim);
	}
}

/*
 * Resets queues and attributes to their values at creation. Doorbells on the page are taken and
 * dropped.
 */
static void
reset_queues(struct softhca_qp *qp)
{
	if (qp->uar != NULL)
		uar_discard_doorbells(qp->uar);
	if (qp->stream_errors != NULL)
		memset(qp->stream_errors, 0, STREAM_BYTES);
	qp->n_errored = 0;
	reset_attributes(qp);
	qp->sq_ci = 0;
	qp->announced = 0;
	reset_send_record(qp);
	qp->rang = false;
	qp->bad_bf = false;
	qp->mute = false;
	qp->delayed = false;
	qp->wait = WAIT_NONE;
	qp->draining = false;
	qp->stood_still = false;
	qp->stopping = false;
	qp->moved_to_error = false;
	timing_reset(&qp->timing);
	if (qp->ask != NULL)
		ask_end(qp->ask);
	drop_claims(qp);
	qp->established = false;
	qp->life++;
	atomic_store_explicit(&qp->rq_ci, 0, memory_order_relaxed);
}

/* notify: when a send queue that moves to SQD is drained, an event is sent. */
static void
enter_state(struct softhca_qp *qp, enum qp_state to, bool notify)
{
	enum qp_state from = qp_state(qp);

	if (to == QP_RESET)
		reset_queues(qp);
	if (to == QP_SQD && from == QP_RTS) {
		/* `draining` is true until a lane has seen that the queue is drained: sq_drain() */
		qp->draining = true;
		qp->attr.en_sqd_notify = notify;
	}
	if (from == QP_SQD && to == QP_RTS) {
		qp->draining = false;
		qp->stood_still = true;
		timing_resume(&qp->timing, device_clock());
	}
	if (to == QP_ERR && from != QP_ERR)
		qp->moved_to_error = true;
	atomic_store_explicit(&qp->state, to, memory_order_release);
	if (to == QP_ERR && from != QP_ERR)
		qp_tell_last_wqe(qp);
	/* The receives of a QP with a page are flushed when the page is visited. */
	if (to == QP_ERR && qp->uar == NULL && qp->claims != NULL) {
		atomic_store(&qp->dev->lanes->pageless, true);
		lanes_wake(qp->dev->lanes);
	}
}

/* Locks the QP. Until qp_unlock(), no lane runs the QP's queues or delivers messages to the QP. */
static void
qp_lock(struct softhca_qp *qp)
{
	if (qp->uar != NULL)
		uar_lock(qp->uar);
	spin_lock(&qp->recv);
}

static void
qp_unlock(struct softhca_qp *qp)
{
	spin_unlock(&qp->recv);
	if (qp->uar != NULL)
		uar_unlock(qp->uar);
}

/* Updates the values in rdma(8) that a modify with this mask has changed. A new QP has no port. */
static void
qp_show(struct softhca_qp *qp, uint32_t mask)
{
	struct softhca_qp_shown *shown = qp->shown;

	if (shown == NULL)
		return;
	atomic_store_explicit(&shown->number, qp->number, memory_order_relaxed);
	if ((mask & M_PORT) != 0)
		atomic_store_explicit(&shown->port, qp->attr.port, memory_order_relaxed);
	atomic_store_explicit(&shown->dest_qpn, qp->attr.dest_qpn, memory_order_relaxed);
	atomic_store_explicit(&shown->rq_psn, qp->attr.rq_psn, memory_order_relaxed);
	atomic_store_explicit(&shown->sq_psn, qp->attr.sq_psn, memory_order_relaxed);
	qp_show_state(qp);
}

/* Publishes the number of the DCT. From RTR on, messages can be sent to this number. */
static int
dct_publish(struct softhca_qp *qp)
{
	return qp->number != 0 ? 0 : table_put(&qp->dev->lanes->qps, qp, &qp->number);
}

/*
 * Logs, once in each process, that the capture file has no RDMA packets. Called when a queue pair
 * can send.
 */
static void
say_what_is_captured(const struct softhca_qp *qp)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (qp->dev->cfg->capture[0] != '\0' && qp->type != SOFTHCA_QP_RAW &&
		!atomic_flag_test_and_set(&said))
		softhca_log(
			"capture: RDMA is not captured: the file %s gets only the frames of raw "
			"packet queue pairs",
			qp->dev->cfg->capture);
}

int
softhca_qp_modify(struct softhca_qp *qp, const struct softhca_qp_attr *attr, uint32_t mask)
{
	bool connected, ready;
	int err;

	qp_lock(qp);
	err = modify_check(qp, attr, mask);
	if (err == 0 && qp->type == SOFTHCA_QP_DCT && attr->state == QP_RTR)
		err = dct_publish(qp);
	if (err == 0) {
		if (!(mask & M_STATE) || attr->state != QP_RESET)
			modify_values(&qp->attr, attr, mask);
		if (mask & M_STATE)
			enter_state(qp, attr->state,
				(mask & M_EN_SQD_NOTIFY) != 0 && attr->en_sqd_notify != 0);
		qp_show(qp, mask);
	}
	connected = err == 0 && (mask & M_DEST_QPN) != 0;
	ready = err == 0 && (mask & M_STATE) != 0 && attr->state == QP_RTS;
	if (qp->uar != NULL)
		uar_call_attention(qp->uar); /* makes lanes flush, drain or resume the queues */
	qp_unlock(qp);
	if (connected)
		elsewhere_note_connection(qp, attr);
	if (ready)
		say_what_is_captured(qp);
	return err;
}

uint32_t
softhca_qp_needs(const struct softhca_qp *qp, uint32_t state)
{
	const struct transition *t = qp_transition(qp->type, qp_state(qp), state);

	return t == NULL ? 0 : (t->need & ~TRANSITION_ALLOWED) | M_STATE;
}

void
softhca_qp_query(struct softhca_qp *qp, struct softhca_qp_attr *attr, uint32_t *hw_sq_bb)
{
	qp_lock(qp);
	*attr = qp->attr;
	attr->state = attr->cur_state = qp_state(qp);
	attr->sq_draining = qp->draining;
	attr->dc_key_violations = qp->dc_key_violations;
	*hw_sq_bb = qp->sq_ci;
	qp_unlock(qp);
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
	qp->life = 1;
	qp->type = init->type;
	qp->pdn = init->pdn;
	qp->uidx = init->uidx;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->uar = init->uar;
	qp->event = init->event;
	qp->shown = init->shown;
	qp->dbrec = init->dbrec;
	qp->dbrec_is_fixed = init->dbrec_is_fixed;
	if (init->no_send_record)
		qp->send_rec = &qp->own_send_rec;
	else if (init->dbrec != NULL)
		qp->send_rec = &init->dbrec[DB_SEND];
	qp->rq = init->buf;
	qp->rq_n = init->rq_wqe;
	qp->rq_log_stride = init->log_rq_stride;
	qp->sq = qp->rq + ((size_t)init->rq_wqe << init->log_rq_stride);
	if (init->sq_buf != NULL)
		qp->sq = init->sq_buf;
	qp->srq = init->srq;
	qp->xrcdn = init->xrcdn;
	qp->dc_key = init->dc_key;
	qp->max_errored = 1u << init->log_errored;
	qp->sq_bb = init->sq_bb;
	qp->sq_mask = init->sq_bb * WQEBB - 1;
	qp->mmo = init->mmo;
	reset_attributes(qp);
	reset_send_record(qp);
	atomic_init(&qp->state, QP_RESET);
	return qp;
}

static void
qp_free(struct softhca_qp *qp)
{
	timing_fini(&qp->timing);
	ask_free(qp->ask);
	drop_claims(qp);
	free(qp->stream_errors);
	free(qp);
}

/*
 * by = 1: counts the QP as a user of its CQs and SRQ, which then cannot be destroyed. by = -1:
 * undoes this.
 */
static void
qp_count_users(struct softhca_qp *qp, int by)
{
	if (qp->send_cq != NULL)
		atomic_fetch_add(&qp->send_cq->users, (unsigned int)by);
	if (qp->recv_cq != NULL)
		atomic_fetch_add(&qp->recv_cq->users, (unsigned int)by);
	if (qp->srq != NULL)
		atomic_fetch_add(&qp->srq->users, (unsigned int)by);
}

int
softhca_qp_create(struct softhca_dev *dev, const struct softhca_qp_init *init,
	struct softhca_qp **out)
{
	struct softhca_qp *qp;
	int err;

	if (!is_power_of_two_or_0(init->sq_bb) || !is_power_of_two_or_0(init->rq_wqe) ||
		init->sq_bb > 32768 || init->rq_wqe > 32768 ||
		(init->rq_wqe != 0 && !between(init->log_rq_stride, 4, 10)))
		return -EINVAL;
	qp = qp_new(dev, init);
	if (qp == NULL)
		return -ENOMEM;
	err = -ENOMEM;
	if (!timing_init(dev->cfg, &qp->timing, init->sq_bb))
		goto free_qp;
	if (init->streams) {
		qp->stream_errors = calloc(1, STREAM_BYTES);
		if (qp->stream_errors == NULL)
			goto free_qp;
	}
	err = qp->type == SOFTHCA_QP_DCT ? 0 : table_put(&dev->lanes->qps, qp, &qp->number);
	if (err != 0)
		goto free_qp;
	/*
	 * The QP's number was set before this call, because a lane compares the number in a
	 * doorbell with the numbers of all QPs of the page.
	 */
	err = qp->uar != NULL ? uar_attach_qp(qp->uar, qp) : 0;
	if (err != 0)
		goto unlist;
	qp_count_users(qp, 1);
	qp_show(qp, 0);
	*out = qp;
	return 0;

unlist:
	table_remove(&dev->lanes->qps, qp->number);
	softhca_quiesce();
free_qp:
	qp_free(qp);
	return err;
}

int
softhca_qp_destroy(struct softhca_qp *qp)
{
	if (qp->number != 0)
		table_remove(&qp->dev->lanes->qps, qp->number);
	if (qp->uar != NULL)
		uar_detach_qp(qp->uar, qp);
	/*
	 * The lane of a peer may have found the QP before it was unlisted, and may still use its
	 * receive side.
	 */
	softhca_quiesce();
	qp_count_users(qp, -1);
	qp_free(qp);
	return 0;
}

uint32_t
softhca_qp_number(const struct softhca_qp *qp)
{
	return qp->number;
}

/* The table entry of all reserved numbers. This QP stays in RESET, so no message reaches it. */
static struct softhca_qp reserved;

bool
softhca_qpn_exists(struct softhca_dev *dev, uint32_t number)
{
	/* Only the pointer is compared, so the caller needs no turn. */
	const struct softhca_qp *qp =
		number > 0xffffff ? NULL : table_get(&dev->lanes->qps, number);

	return qp != NULL && qp != &reserved;
}

int
softhca_qpn_reserve(struct softhca_dev *dev, uint32_t n, uint32_t *first)
{
	return table_put_range(&dev->lanes->qps, &reserved, n, first);
}

void
softhca_qpn_release(struct softhca_dev *dev, uint32_t n, uint32_t first)
{
	for (uint32_t i = 0; i < n; i++)
		table_remove(&dev->lanes->qps, first + i);
	softhca_quiesce();
}
