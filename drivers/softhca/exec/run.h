/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of one visit: a lane visits the queue pairs of a UAR page that it holds, and the
 * requester and the responder use this state. A visit holds at most one receive side, one SRQ and
 * one CQ; hca.h has the order of locks.
 */
#ifndef SOFTHCA_RUN_H
#define SOFTHCA_RUN_H

#include "clock.h"
#include "cq.h"
#include "gather.h"
#include "lanes.h"
#include "opcode.h"
#include "qp.h"
#include "srq.h"
#include "use.h"

/* The responder's state. Only the responder's files and run_init.c use it. */
struct responder {
	struct softhca_qp *qp;    /* QP whose receive side is locked by this visit, or NULL */
	struct softhca_srq *from; /* SRQ that has the receives; NULL: the QP's own queue has them */
	struct softhca_srq *srq;  /* SRQ that is held, or NULL */
	/* number of the only QP that sends to qp; 0: there are several senders */
	uint32_t client;
	struct srq_claim *claim; /* receive that an earlier record of the message took, or NULL */
	bool mute;               /* a fault hides the receive's completion */
	struct key_seen memory, receive; /* regions found last: of messages, and of receives */
};

/* The messages that one QP has sent to responder.qp, and the answers: carried.h. */
struct carried {
	const struct softhca_qp *from; /* the QP that sends; NULL: no message was sent yet */
	/* every message shorter than this is one packet; 0: no message was sent yet */
	uint64_t rare_len;
	uint32_t log_mtu;
	uint32_t packet_headers, request_header; /* bytes */
	uint32_t n[MESSAGE_N_KINDS];             /* number of messages */
	uint64_t len[MESSAGE_N_KINDS];           /* bytes of the messages' payload */
	/* number of packets, without the first packet of each message */
	uint64_t packets[MESSAGE_N_KINDS];
};

/* The regions that the requester found last: one for each kind of access. */
enum run_seen {
	SEEN_READ = 0,
	SEEN_WRITE = ACC_LOCAL_WRITE,
	SEEN_OPAQUE,
	SEEN_N
};

struct run {
	/* use of keys by the WQE that runs, at the requester and at the responder */
	struct key_use use;
	struct softhca_lanes *lanes;
	/* QP of the requester; NULL: the requester is in another process, and sent `request` */
	struct softhca_qp *qp;
	const struct record_request *request;
	/* qp->life of the responder's QP when the message began; 0: the message begins now */
	uint32_t life;
	struct key_seen seen[SEEN_N];
	struct responder responder;
	struct carried carried;
	struct softhca_cq *cq; /* CQ that is held, a send CQ or a receive CQ; or NULL */
	uint64_t now;          /* device time; 0: the clock was not read yet */
	unsigned int work;     /* number of WQEs executed or flushed */
	uint32_t byte_cnt;     /* byte count for the completion of the WQE that has run */
	/* NOPs before this WQEBB index may complete together with the WQE before them: sq_step.c */
	uint16_t nops_end;
	bool sig_drain; /* a signature was wrong: the send queue stops after this WQE */
};

/*
 * A copy of more than this many bytes releases the CQ first, so that other lanes can add
 * completions.
 */
#define RUN_LONG_COPY 32768

static inline uint64_t
run_now(struct run *run)
{
	if (run->now == 0)
		run->now = device_clock();
	return run->now;
}

/*
 * NOPs in the next WQEBBs, which begin at index `from`, may complete together with the WQE before
 * them. Returns the number of these WQEBBs.
 */
static inline uint16_t
run_nops_left(const struct run *run, uint16_t from)
{
	const int16_t left = (int16_t)(run->nops_end - from);

	return left > 0 ? (uint16_t)left : 0;
}

/* Holds the CQ until the next call. Releases the CQ that was held before. */
static inline void
run_hold_cq(struct run *run, struct softhca_cq *cq)
{
	if (run->cq == cq)
		return;
	if (run->cq != NULL)
		cq_unlock(run->cq);
	spin_lock(&cq->lock);
	run->cq = cq;
}

static inline void
run_drop_cq(struct run *run)
{
	if (run->cq == NULL)
		return;
	cq_unlock(run->cq);
	run->cq = NULL;
}

#endif
