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
	WAIT_TIME /* a fault that delays, or the timing model */
};

struct softhca_qp {
	/*
	 * Send side: for the holder of uar->lock. The fields that a lane reads of an idle queue are
	 * in the first cache line.
	 */
	uint8_t *sq;
	uint32_t sq_bb, sq_mask; /* WQEBBs, and bytes - 1 */
	uint16_t sq_ci;          /* next WQEBB to run */
	uint16_t announced;      /* the first WQEBB that no doorbell has announced */
	/* Notes about the WQE at the head, in one word: sq_advance() clears them. */
	bool mute;     /* a fault: the WQE runs, and its completion is lost */
	bool delayed;  /* a fault at the responder has delayed the WQE's message */
	uint16_t wait; /* enum wait_kind */
	/*
	 * The doorbell or BlueFlame copy of WQE bad_bf_idx differs from the SQ. That WQE is at the
	 * head or later.
	 */
	bool bad_bf;
	uint16_t bad_bf_idx;
	bool rang;  /* a doorbell named this QP in this turn */
	bool again; /* the last visit asked for another one */
	uint32_t number;
	/*
	 * The send counter, big endian: in the program's doorbell record or, of a QP without one,
	 * own_send_rec, which the doorbells at UAR_NO_RECORD move.
	 */
	_Atomic uint32_t *send_rec;
	enum wire_vendor bad_bf_why;
	uint32_t wait_left; /* remaining retries; of RNR, 7 means no limit */
	uint64_t wait_until;
	_Atomic uint32_t *dbrec;
	_Atomic uint32_t own_send_rec;
	bool dbrec_is_fixed; /* the record is in read-only memory */
	/* a command moved the QP to error, and no send WQE has been flushed since */
	bool moved_to_error;
	uint8_t rnr_timer; /* the responder's timer, from its last RNR NAK */
	struct softhca_cq *send_cq, *recv_cq;
	struct softhca_uar *uar;
	struct softhca_dev *dev;
	uint32_t pdn, uidx;

	/*
	 * Receive side: `recv` protects it. A state change, except to error, also needs uar->lock.
	 */
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
	uint32_t dc_key_violations; /* of a DCT, under `recv`: requests with a wrong key */
	bool mmo;                   /* at creation; attr.mmo is the present value */
	/* DCI with streams, for the holder of uar->lock: one bit for each stream in error. */
	uint8_t *stream_errors;
	uint32_t n_errored, max_errored;
	bool draining;
	bool stood_still; /* the QP was in SQD: WQEs may have been cancelled */
	/* a signature was wrong: the queue stops soon. For the holder of uar->lock */
	bool stopping;
	uint64_t chance;  /* state of chance.h for the setting sig_stop; 0: nothing drawn yet */
	bool established; /* under `recv`: the event of the first message in RTR has been sent */
	void *event;
	struct softhca_qp_shown *shown; /* under `recv`; or NULL */
	struct timing_queue timing;     /* for the holder of uar->lock */
} __attribute__((aligned(CACHE_LINE)));

_Static_assert(offsetof(struct softhca_qp, send_rec) + sizeof(void *) <= CACHE_LINE,
	"of an idle queue a lane reads one line");

static inline enum qp_state
qp_state(const struct softhca_qp *qp)
{
	return atomic_load_explicit(&qp->state, memory_order_acquire);
}

/* Shows a new state to queries of rdma(8). The caller holds `recv`. */
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

/* The QP's port; port 1 before the program has named one. */
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

/* The QP has moved to error. If it has an SRQ, an event reports that the last WQE was reached. */
static inline void
qp_tell_last_wqe(struct softhca_qp *qp)
{
	if (qp->srq != NULL && qp->type != SOFTHCA_QP_DCT)
		softhca_event_qp_async(qp->event, QP_EVENT_LAST_WQE_REACHED);
}

#endif
