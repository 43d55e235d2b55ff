/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives for SENDs of several records. The first record takes the receive of an SRQ, as the first
 * packet does on a card, and the last record completes it. The QP's own receive stays at the head
 * of its queue until then, because a QP has one sender. If the sender stops midway, the receive
 * stays taken, and is flushed with the QP. Assumed: send-stops-midway.
 *
 * The caller of each function holds the receive side of run->responder.qp.
 */
#ifndef SOFTHCA_RQ_CLAIM_H
#define SOFTHCA_RQ_CLAIM_H

#include "rq.h"
#include "run.h"

/*
 * As rq_peek(), for a SEND of `need` bytes that comes from the connection `sender`. take: a receive
 * is taken from the SRQ now, if this has not been done for this SEND.
 */
enum wire_syndrome rq_claim(struct run *run, uint64_t sender, uint64_t need, bool take,
	struct sg *sg);
#endif
