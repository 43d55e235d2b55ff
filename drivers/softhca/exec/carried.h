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
#include "key.h"
#include "message.h"
#include "move.h"
#include "run.h"

/* Adds what was noted to the counters, and forgets it. The responder is still held. */
void carried_flush(struct run *run);
/* Begins to note messages from run->qp to the responder that is held: this is the first. */
void carried_begin(struct run *run, const struct message *m);
/* A frame of a raw packet queue pair was sent. */
void carried_frame(struct run *run, unsigned int len);

/*
 * The responder has answered. It is still held: when it is let go, responder_release() adds what was
 * noted, and the next message begins anew.
 */
static inline void
carried_note(struct run *run, const struct message *m)
{
	struct carried *c = &run->carried;
	uint64_t len, packets;

	if (__builtin_expect(c->from == NULL, 0))
		carried_begin(run, m);
	c->requests[m->op->remote_access]++;
	c->request_len += m->op->ext_len;
	if (__builtin_expect(m->payload == NULL, 0))
		return; /* an atomic: its operands are in its headers */
	len = m->payload->len;
	packets = (len - (len != 0)) >> c->log_mtu; /* beyond the first */
	c->len[m->op->access != 0] += len;
	c->packets[m->op->access != 0] += packets;
}

#endif
