/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a visit carries from port to port: noted for each message that was answered, and added to the ports'
 * counters when the responder is let go: at the end of the visit, or before another one is held.
 *
 * A message becomes packets of the path's MTU, each with the headers that the InfiniBand architecture
 * (volume 1, chapter 9.2) and RoCE v2 (its annex A17) give it. A reliable responder answers with an
 * acknowledgment, or with the packets of the data that were read.
 */
#ifndef SOFTHCA_CARRIED_H
#define SOFTHCA_CARRIED_H

#include "counters.h"
#include "message.h"
#include "move.h"
#include "run.h"

/* Adds what was noted to the counters, and forgets it. The responder is still held. */
void carried_flush(struct run *run);
/* carried_note() of the first message from run->qp to the responder that is held, or of one of several packets. */
void carried_note_rare(struct run *run, const struct message *m, uint64_t len);
/* A frame of a raw packet queue pair was sent. */
void carried_frame(struct run *run, unsigned int len);

/*
 * The responder has answered. It is still held: when it is let go, responder_release() adds what was
 * noted, and the next message begins anew. len: bytes of payload, 0 of an atomic: its operands are headers.
 * A single comparison finds both rare cases.
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
