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
	WAIT_TIME, /* wait for a time: a fault or the timing model delays the WQE */
	/* the WQE's message goes to another process, and the connection is full or in use */
	WAIT_CARRIER,
	WAIT_ANSWER /* as WAIT_CARRIER, but the message is sent; its answer calls for a visit */
};

struct softhca_qp {
	/*
	 * Send side, for the holder of uar->lock. The first cache line has the fields that a lane
	 * reads of an idle queue.
	 */
	uint8_t *sq;
	uint32_t sq_bb, sq_mask; /* number of WQEBBs; number of bytes minus 1 */
	uint16_t sq_ci;          /* next WQEBB to run */
	uint16_t announced;      /* first WQEBB that no doorbell has announced */
	/*
	 * Flags of the WQE at the head. They fill one word, so that sq_advance() clears them by one
	 * store.
	 */
	bool mute;     /* a fault hides the completion: the WQE runs, and its completion is lost */
	bool delayed;  /* a fault at the responder has delayed the WQE's message */
	uint16_t wait; /* enum wait_kind */
	/*
	 * The doorbell or BlueFlame copy of WQE bad_bf_idx differs from the send queue, and this
	 * WQE has not run yet.
	 */
	bool bad_bf;
	uint16_t bad_bf_idx;
	bool rang;  /* a doorbell for this QP was taken since the last visit */
	bool again; /* the last visit asked for another visit */
	uint32_t number;
	/*
	 * The send counter, big endian. It is in the program's doorbell record. A QP without a
	 * doorbell record has it in own_send_rec, which doorbells at UAR_NO_RECORD change.
	 */
	_Atomic uint32_t *send_rec;
	enum wire_vendor bad_bf_why;
	uint32_t wait_left; /* number of remaining retries; for RNR, 7 means no limit */
	uint64_t wait_until;
	_Atomic uint32_t *dbrec;
	_Atomic uint32_t own_send_rec;
	bool dbrec_is_fixed; /* the doorbell record is in read-only memory */
	/* A command has moved the QP to error, and no send WQE has been flushed since then. */
	bool moved_to_error;
	uint8_t rnr_timer; /* RNR timer of the responder, from its last RNR NAK */
	struct softhca_cq *send_cq, *recv_cq;
	struct softhca_uar *uar;
	struct softhca_dev *dev;
	uint32_t pdn, uidx;

	/*
	 * Receive side, protected by `recv`. A change of state needs uar->lock, too, except for a
	 * change to error.
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
	/* for a DCT, under `recv`: number of requests with a wrong key */
	uint32_t dc_key_violations;
	bool mmo; /* value at creation; attr.mmo is the present value */
	/* For a DCI with streams, for the holder of uar->lock: one bit for each stream in error. */
	uint8_t *stream_errors;
	uint32_t n_errored, max_errored;
	bool draining;
	bool stood_still; /* the QP was in SQD, so WQEs may have been cancelled */
	/*
	 * A signature was wrong, so the queue will stop at a later WQE: exec/sq_sigstop.h. For the
	 * holder of uar->lock.
	 */
	bool stopping;
	/* state of chance.h for the setting sig_stop; 0: no number was drawn yet */
	uint64_t chance;
	uint32_t life;    /* under `recv`: number of resets plus 1 */
	bool established; /* under `recv`: the event of the first message in RTR has been sent */
	void *event;
	struct softhca_qp_shown *shown; /* under `recv`; may be NULL */
	struct timing_queue timing;     /* for the holder of uar->lock */
	/*
	 * The message under way to another process. The struct is allocated at the first such
	 * message. The holder of uar->lock owns it.
	 */
	struct ask *_Atomic ask;
	struct srq_claim
		*claims; /* under `recv`: receives of an SRQ that long messages have taken */
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

/* Returns the QP's port, or port 1 if the program has not set a port yet. */
static inline const struct softhca_port *
qp_port(const struct softhca_qp *qp)
{
	unsigned int port = qp->attr.port;

	return &qp->dev->port[port >= 1 && port <= SOFTHCA_MAX_PORTS ? port - 1 : 0];
}

/* True if a WQE of the send queue waits for an answer. Such a queue needs no visit until then. */
static inline bool
qp_waits_for_answer(const struct softhca_qp *qp)
{
	return qp->wait == WAIT_ANSWER;
}

static inline bool
qp_is_unreliable(const struct softhca_qp *qp)
{
	return qp->type == SOFTHCA_QP_UC || qp->type == SOFTHCA_QP_UD;
}

#define QP_EVENT_LAST_WQE_REACHED 16 /* IBV_EVENT_QP_LAST_WQE_REACHED */

/*
 * Called when the QP has moved to error. If the QP has an SRQ, sends the event that its last WQE
 * was reached.
 */
static inline void
qp_tell_last_wqe(struct softhca_qp *qp)
{
	if (qp->srq != NULL && qp->type != SOFTHCA_QP_DCT)
		softhca_event_qp_async(qp->event, QP_EVENT_LAST_WQE_REACHED);
}

#endif
