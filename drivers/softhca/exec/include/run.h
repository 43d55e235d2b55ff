/* SPDX-License-Identifier: BSD-3-Clause */
/* One visit to one send queue, and what it holds meanwhile. */
#ifndef SOFTHCA_RUN_H
#define SOFTHCA_RUN_H

#include "clock.h"
#include "cq.h"
#include "lanes.h"
#include "move.h"
#include "qp.h"
#include "srq.h"
#include "use.h"

/* A copy of more bytes lets the CQ go first: others complete to it meanwhile. */
#define RUN_LONG_COPY 32768

struct run {
	struct key_use use; /* of the WQE that runs */
	struct softhca_lanes *lanes;
	bool sig_drain;    /* a signature was wrong: the send queue stops after this WQE */
	bool receive_mute; /* a fault: the receive's completion is lost */
	struct softhca_qp *qp;
	struct softhca_qp *peer; /* its receive side is held, or NULL */
	/* Where the message's receive comes from: the peer's SRQ, or the XRC one that it names. */
	struct softhca_srq *peer_srq;
	struct softhca_srq *srq; /* held, or NULL */
	struct softhca_cq *cq;   /* held, or NULL */
	uint64_t now;            /* device time, 0 until first asked for */
	unsigned int work;       /* WQEs executed or flushed */
	uint32_t byte_cnt;       /* of the WQE that ran */
};

/* A lane is about to visit queues of this adapter. */
void run_init(struct run *run, struct softhca_lanes *lanes);
/* One visit to run->qp. UAR held. Returns true where the queue wants to be visited again. */
bool sq_visit(struct run *run);
/*
 * Inside a turn: the QPs of a CQ that failed, which have no page and so no visits (DCTs), into
 * error. False: no CQ did.
 */
bool qps_fail_with_their_cqs(struct softhca_lanes *lanes);

static inline uint64_t
run_now(struct run *run)
{
	if (run->now == 0)
		run->now = device_clock();
	return run->now;
}

/* Holds the CQ; another that was held is let go. */
static inline void
run_hold_cq(struct run *run, struct softhca_cq *cq)
{
	if (run->cq == cq)
		return;
	if (run->cq != NULL)
		spin_unlock(&run->cq->lock);
	spin_lock(&cq->lock);
	run->cq = cq;
}

static inline void
run_drop_cq(struct run *run)
{
	if (run->cq == NULL)
		return;
	spin_unlock(&run->cq->lock);
	run->cq = NULL;
}

static inline void
run_drop_peer(struct run *run)
{
	if (run->srq != NULL)
		spin_unlock(&run->srq->lock);
	run->srq = NULL;
	run->peer_srq = NULL;
	if (run->peer == NULL)
		return;
	spin_unlock(&run->peer->recv);
	run->peer = NULL;
}

/* Holds the SRQ; a CQ that was held is let go, since an SRQ's lock comes before a CQ's. */
static inline void
run_hold_srq(struct run *run, struct softhca_srq *srq)
{
	if (run->srq == srq)
		return;
	run_drop_cq(run);
	if (run->srq != NULL)
		spin_unlock(&run->srq->lock);
	spin_lock(&srq->lock);
	run->srq = srq;
}

#endif
