/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The traffic that messages cause on ports. A visit notes each message that was answered. It adds
 * the noted traffic to the ports' counters when it releases the receive side of the responder's QP:
 * at the end of the visit, or before it locks the receive side of another QP.
 *
 * A message becomes packets of the path's MTU. InfiniBand (volume 1, chapter 9.2) and RoCE v2
 * (annex A17) define the headers of each packet. A reliable responder answers with an
 * acknowledgment, or with the packets of an RDMA read.
 */
#ifndef SOFTHCA_CARRIED_H
#define SOFTHCA_CARRIED_H

#include "counters.h"
#include "message.h"
#include "move.h"
#include "run.h"

/*
 * Adds the noted messages to the counters, and clears run->carried. The caller still holds the
 * receive side of run->responder.qp.
 */
void carried_flush(struct run *run);
/*
 * As carried_note(), for the two rare cases: the first message to run->responder.qp, and a message
 * of several packets.
 */
void carried_note_rare(struct run *run, const struct message *m, uint64_t len);
/*
 * Counts a message of another process that run->responder.qp has answered. The other process counts
 * the message in its own counters.
 */
void carried_answer(struct run *run, const struct message *m, uint64_t len);
/* Counts a frame that a raw packet queue pair has sent. */
void carried_frame(struct run *run, unsigned int len);

/*
 * Notes a message that the responder has answered. The caller still holds the receive side of
 * run->responder.qp; responder_release() adds the noted messages to the counters. len: bytes of
 * payload; 0 for an atomic, because its operands are in a header. In both cases of
 * carried_note_rare(), len is at least rare_len.
 */
static inline void
carried_note(struct run *run, const struct message *m, uint64_t len)
{
	struct carried *c = &run->carried;

	if (__builtin_expect(len >= c->rare_len, 0)) {
		carried_note_rare(run, m, len);
		return;
	}
	c->n[m->op->kind]++;
	c->len[m->op->kind] += len;
}

#endif
