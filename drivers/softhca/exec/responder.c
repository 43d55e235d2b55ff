/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder: takes a message, finds the message's QP, and calls the function that answers. */
#include "asker.h"
#include "message.h"
#include "responder_find.h"
#include "run.h"

void
responder_explain(const struct run *run, unsigned int result, struct answer *answer)
{
	answer->vendor = run->use.vendor;
	if (result == MESSAGE_RNR)
		answer->rnr_timer = run->responder.qp->attr.min_rnr_timer;
}

static unsigned int __attribute__((cold, noinline)) responder_refuses(struct run *run,
	const struct message *m, unsigned int result, struct answer *answer)
{
	if (result == MESSAGE_ELSEWHERE)
		return asker_ask(run, m, answer);
	responder_explain(run, result, answer);
	return result;
}

unsigned int
responder_ask(struct run *run, const struct message *m, struct answer *answer)
{
	unsigned int result = SYN_OK;

	if (run->responder.client != m->qpn)
		result = responder_find(run, m);
	if (result == SYN_OK)
		result = m->op->respond(run, m, answer);
	if (__builtin_expect(result == SYN_OK, 1))
		return SYN_OK;
	return responder_refuses(run, m, result, answer);
}
