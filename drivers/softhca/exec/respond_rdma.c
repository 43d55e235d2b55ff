/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder of RDMA writes and reads. */
#include "move.h"
#include "responder_hold.h"
#include "responder_memory.h"
#include "responder_receive.h"
#include "rq.h"

/*
 * Handles a copy that found no memory at `end`. mine: the end of the copy that is the responder's.
 * If the responder's memory is missing, the message is refused. If the requester's memory is
 * missing, the requester's WQE fails.
 */
static unsigned int __attribute__((cold, noinline))
no_memory(struct run *run, const struct message *m, enum sg_end end, enum sg_end mine)
{
	return end == mine ? responder_refuse_memory(run, m) : SYN_LOC_PROT;
}

/*
 * The receive must be posted before data move, so that a retried message does not move its data
 * twice.
 */
static bool
receive_is_there(struct run *run)
{
	struct responder *r = &run->responder;

	if (r->from == NULL)
		return rq_is_ready(run, r->qp);
	responder_hold_srq(run);
	return srq_has_work(r->srq);
}

bool
responder_has_receive(struct run *run)
{
	return receive_is_there(run);
}

static unsigned int __attribute__((noinline))
write_any(struct run *run, const struct message *m, struct answer *answer)
{
	const uint64_t len = m->payload->len;
	unsigned int syn;
	struct sg dst;
	enum sg_end end;

	if (m->op->recv != 0 && !receive_is_there(run))
		return MESSAGE_RNR;
	syn = responder_gather(run, m, len, &dst);
	if (syn != SYN_OK)
		return syn;
	if (len > RUN_LONG_COPY)
		run_drop_cq(run);
	end = key_use_move(&run->use, &dst, m->payload);
	if (end != SG_MOVED)
		return no_memory(run, m, end, SG_NO_DST);
	return m->op->recv != 0 ? responder_end_write(run, m, len, answer) : SYN_OK;
}

static unsigned int __attribute__((noinline)) read_any(struct run *run, const struct message *m)
{
	const uint64_t len = m->payload->len;
	struct sg src;
	unsigned int syn = responder_gather(run, m, len, &src);
	enum sg_end end;

	if (syn != SYN_OK)
		return syn;
	if (len > RUN_LONG_COPY)
		run_drop_cq(run);
	end = key_use_move(&run->use, m->payload, &src);
	return end == SG_MOVED ? SYN_OK : no_memory(run, m, end, SG_NO_SRC);
}

unsigned int
respond_write(struct run *run, const struct message *m, struct answer *answer)
{
	const uint64_t len = m->payload->len;
	void *dst = m->op->recv == 0 ? responder_seen(run, m, len) : NULL;

	if (__builtin_expect(dst == NULL, 0))
		return write_any(run, m, answer);
	if (len > RUN_LONG_COPY)
		run_drop_cq(run);
	piece_copy(dst, m->payload->v[0].p, len);
	return SYN_OK;
}

unsigned int
respond_read(struct run *run, const struct message *m, struct answer *answer)
{
	const uint64_t len = m->payload->len;
	const void *src = responder_seen(run, m, len);

	(void)answer;
	if (__builtin_expect(src == NULL, 0))
		return read_any(run, m);
	if (len > RUN_LONG_COPY)
		run_drop_cq(run);
	piece_copy(m->payload->v[0].p, src, len);
	return SYN_OK;
}
