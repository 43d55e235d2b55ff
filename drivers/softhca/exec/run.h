/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What requester and responder use during one visit of a lane to the queue pairs of a UAR page,
 * which the lane holds. A visit holds at most one receive side, one SRQ and one CQ; hca.h has the
 * order of locks.
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
	struct softhca_qp *qp;    /* its receive side is held, or NULL */
	struct softhca_srq *from; /* the SRQ that receives come from; NULL: the QP's own queue */
	struct softhca_srq *srq;  /* held, or NULL */
	uint32_t client;          /* the only QP that sends to qp; 0: the sender varies */
	bool mute;                /* a fault hides the receive's completion */
	struct key_seen memory, receive; /* the regions found last: of messages, of receives */
};

/* What a QP has sent to the held responder, and what came back: carried.h. */
struct carried {
	const struct softhca_qp *from; /* NULL: nothing was sent yet */
	uint64_t rare_len; /* shorter messages are one packet; 0: nothing was sent yet */
	uint32_t log_mtu;
	uint32_t packet_headers, request_header; /* bytes */
	uint32_t n[MESSAGE_N_KINDS];             /* messages */
	uint64_t len[MESSAGE_N_KINDS];           /* bytes of their payload */
	uint64_t packets[MESSAGE_N_KINDS];       /* without the first packet of each message */
};

/* The regions that the requester found last, by access. */
enum run_seen {
	SEEN_READ = 0,
	SEEN_WRITE = ACC_LOCAL_WRITE,
	SEEN_OPAQUE,
	SEEN_N
};

struct run {
	struct key_use use; /* of the WQE that runs, requester and responder */
	struct softhca_lanes *lanes;
	struct softhca_qp *qp; /* the requester */
	struct key_seen seen[SEEN_N];
	struct responder responder;
	struct carried carried;
	struct softhca_cq *cq; /* held, or NULL: a send CQ or a receive CQ */
	uint64_t now;          /* device time; 0: not read yet */
	unsigned int work;     /* WQEs executed or flushed */
	uint32_t byte_cnt;     /* of the WQE that has run */
	/* NOPs before this WQEBB may complete with the WQE before them: sq_step.c */
	uint16_t nops_end;
	bool sig_drain; /* a signature was wrong: the send queue stops after this WQE */
};

/* A CQ is not held during longer copies, so that other lanes can complete to it. */
#define RUN_LONG_COPY 32768

static inline uint64_t
run_now(struct run *run)
{
	if (run->now == 0)
		run->now = device_clock();
	return run->now;
}

/* WQEBBs from `from` on whose NOPs may complete with the WQE before them. */
static inline uint16_t
run_nops_left(const struct run *run, uint16_t from)
{
	const int16_t left = (int16_t)(run->nops_end - from);

	return left > 0 ? (uint16_t)left : 0;
}

/* Holds the CQ until the next call, and releases another one that was held. */
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
