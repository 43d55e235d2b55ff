/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What messages carry from port to port. A visit notes each message that was answered. It adds what
 * it has noted to the ports' counters when it lets the responder go: at its end, or before it holds
 * another one.
 *
 * A message becomes packets of the path's MTU, each with the headers that the InfiniBand
 * architecture (volume 1, chapter 9.2) and RoCE v2 (its annex A17) give it. A reliable responder
 * answers with an acknowledgment, or with the packets of the data that were read.
 */
#ifndef SOFTHCA_CARRIED_H
#define SOFTHCA_CARRIED_H

#include "counters.h"
#include "message.h"
#include "move.h"
#include "run.h"

/* Adds what was noted to the counters, and forgets it. The responder is still held. */
void carried_flush(struct run *run);
/* As carried_note(): the first message to the responder that is held, or one of several packets. */
void carried_note_rare(struct run *run, const struct message *m, uint64_t len);
/* A frame of a raw packet queue pair was sent. */
void carried_frame(struct run *run, unsigned int len);

/*
 * Notes a message that the responder has answered. It is still held: responder_release() adds what
 * was noted. len: bytes of payload; an atomic has none, its operands are a header. One comparison
 * finds both rare cases.
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
