/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue pair. */
#ifndef SOFTHCA_QP_H
#define SOFTHCA_QP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dev.h"
#include "hca.h"
#include "spin.h"
#include "timing.h"
#include "wire.h"

enum qp_state {
	QP_RESET,
	QP_INIT,
	QP_RTR,
	QP_RTS,
	QP_SQD,
	QP_SQE,
	QP_ERR
}; /* the numbers of enum ibv_qp_state */

enum wait_kind {
	WAIT_NONE,
	WAIT_RNR,
	WAIT_PEER,
	WAIT_TIME /* a late fault, or the timing model */
};

struct softhca_qp {
	/*
	 * Send side: for who holds uar->lock. What a lane reads of an idle queue is in the first
	 * line.
	 */
	uint8_t *sq;
	uint32_t sq_bb, sq_mask; /* WQEBBs, and bytes - 1 */
	uint16_t sq_ci;          /* next WQEBB to run */
	uint16_t announced;      /* first WQEBB that no doorbell has announced */
	/* What is noted of the WQE at the head, in one word: sq_advance() clears it. */
	bool mute;     /* a fault: it runs, and its completion is lost */
	bool delayed;  /* a fault at the responder has delayed its message */
	uint16_t wait; /* enum wait_kind */
	/*
	 * The BlueFlame copy or the doorbell of WQE bad_bf_idx is not what the SQ holds. That WQE
	 * is the head or a later one.
	 */
	bool bad_bf;
	uint16_t bad_bf_idx;
	bool rang;  /* a doorbell named this QP in this turn */
	bool again; /* its last visit asked for another one */
	uint32_t number;
	/*
	 * The send counter, big endian: the program's doorbell record. Of a QP without one it is
	 * own_send_rec, and the doorbells at UAR_NO_RECORD move it.
	 */
	_Atomic uint32_t *send_rec;
	enum wire_vendor bad_bf_why;
	uint32_t wait_left; /* retries left; 7 of RNR: no limit */
	uint64_t wait_until;
	_Atomic uint32_t *dbrec;
	_Atomic uint32_t own_send_rec;
	bool dbrec_is_fixed; /* it cannot be written */
	bool moved_to_error; /* a command did so, and no send WQE was flushed since */
	uint8_t rnr_timer;   /* the responder's, from its last RNR NAK */
	struct softhca_cq *send_cq, *recv_cq;
	struct softhca_uar *uar;
	struct softhca_dev *dev;
	uint32_t pdn, uidx;

	/* Receive side: under `recv`. A state change, except to error, also needs uar->lock. */
	struct spin recv __attribute__((aligned(CACHE_LINE)));
	atomic_uint state;
	uint8_t *rq;
	uint32_t rq_n, rq_log_stride;
	_Atomic uint16_t rq_ci;

	struct softhca_qp_attr attr;
	enum softhca_qp_type type;
	struct softhca_srq *srq;
	uint32_t xrcdn;
	uint64_t dc_key;
	uint32_t dc_key_violations; /* of a DCT, under `recv`: requests with another key */
	bool mmo;                   /* as created; attr.mmo is the present value */
	/* DCI with streams, for who holds uar->lock: a bit for each stream in error. */
	uint8_t *stream_errors;
	uint32_t n_errored, max_errored;
	bool draining;
	bool stood_still; /* it was in SQD: WQEs may have been cancelled */
	bool stopping;    /* a signature was wrong: the queue stops soon. For who holds uar->lock */
	uint64_t chance;  /* of the setting sig_stop; 0: nothing was drawn yet */
	bool established; /* under `recv`: the event of the first message in RTR was sent */
	void *event;
	struct softhca_qp_shown *shown; /* under `recv`; or NULL */
	struct timing_queue timing;     /* for who holds uar->lock */
} __attribute__((aligned(CACHE_LINE)));

_Static_assert(offsetof(struct softhca_qp, send_rec) + sizeof(void *) <= CACHE_LINE,
	"of an idle queue a lane reads one line");

static inline enum qp_state
qp_state(const struct softhca_qp *qp)
{
	return atomic_load_explicit(&qp->state, memory_order_acquire);
}

/* Tells a new state to those who ask from outside. The caller holds `recv`. */
static inline void
qp_show_state(struct softhca_qp *qp)
{
	if (qp->shown != NULL)
		atomic_store_explicit(&qp->shown->state, qp_state(qp), memory_order_relaxed);
}

static inline bool
qp_has_no_record(const struct softhca_qp *qp)
{
	return qp->send_rec == &qp->own_send_rec;
}

/* The port that the QP is on; the first one before the program has named one. */
static inline const struct softhca_port *
qp_port(const struct softhca_qp *qp)
{
	unsigned int port = qp->attr.port;

	return &qp->dev->port[port >= 1 && port <= SOFTHCA_MAX_PORTS ? port - 1 : 0];
}

static inline bool
qp_is_unreliable(const struct softhca_qp *qp)
{
	return qp->type == SOFTHCA_QP_UC || qp->type == SOFTHCA_QP_UD;
}

#define QP_EVENT_LAST_WQE_REACHED 16 /* IBV_EVENT_QP_LAST_WQE_REACHED */

/* The QP went into error. QPs with an SRQ tell that the last WQE was reached. */
static inline void
qp_tell_last_wqe(struct softhca_qp *qp)
{
	if (qp->srq != NULL && qp->type != SOFTHCA_QP_DCT)
		softhca_event_qp_async(qp->event, QP_EVENT_LAST_WQE_REACHED);
}

#endif
