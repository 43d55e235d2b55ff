/* SPDX-License-Identifier: BSD-3-Clause */
/* The run, the counters and the answer of a message of another process: serving.h. */
#include "serving.h"

#include "carried.h"
#include "counters.h"
#include "request.h"
#include "run_init.h"

void
serving_begin(struct run *run, struct softhca_lanes *lanes, const struct record_request *r,
	uint32_t life)
{
	run_init(run, lanes);
	run->request = r;
	run->life = life;
}

void
serving_end(struct run *run, unsigned int result)
{
	if (result != SYN_OK)
		key_use_undo(&run->use);
	key_use_free(&run->use);
	run_drop_cq(run);
	responder_release(run);
}

void
serving_count(struct run *run, const struct message *m, unsigned int result, uint64_t len)
{
	const struct softhca_qp *qp = run->responder.qp;

	if (qp == NULL)
		return;
	if (result == SYN_OK)
		carried_answer(run, m, len);
	else if (result == MESSAGE_RNR)
		counters_add(qp->dev, qp->attr.port, COUNTER_OUT_OF_BUFFER);
}

void
serving_put(struct served *s, const struct record_request *r, unsigned int result,
	const struct answer *answer, uint64_t off, uint64_t len, bool last)
{
	struct record_answer *a = serving_answer(s);

	*a = (struct record_answer){.head = r->head,
		.result = (uint16_t)result,
		.vendor = (uint16_t)answer->vendor,
		.rnr_timer = answer->rnr_timer,
		.last = last,
		.old = answer->old};
	a->head.kind = RECORD_ANSWER;
	a->head.off = off;
	s->out_len = (uint32_t)(sizeof(*a) + len);
}

void
serving_end_message(struct served *s, const struct record_request *r, unsigned int result,
	const struct answer *answer)
{
	const uint64_t now = device_clock();

	if (!request_is_answered(r))
		return;
	serving_put(s, r, result, answer, s->part == PART_READ ? s->moved : 0, 0, true);
	if (result == MESSAGE_LATER && answer->until > now)
		serving_answer(s)->ns = answer->until - now;
}

bool
serving_keep_late(struct served *s, unsigned int result, const struct answer *answer)
{
	struct record_request *r = (void *)s->in;

	if (result != MESSAGE_LATER || request_is_answered(r))
		return false;
	r->flags |= RECORD_DELAYED;
	s->late_until = answer->until;
	return true;
}
