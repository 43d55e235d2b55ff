/* SPDX-License-Identifier: BSD-3-Clause */
/* Refuses messages that must not use the responder's memory. */
#include "responder_memory.h"

#include "counters.h"
#include "responder_fail.h"

static bool
message_is_unreliable(const struct message *m)
{
	return m->type == SOFTHCA_QP_UC || m->type == SOFTHCA_QP_UD;
}

/* Called if the key does not allow the access. Confirmed: rights-of-key. */
unsigned int
responder_refuse_memory(struct run *run, const struct message *m)
{
	const struct softhca_qp *qp = run->responder.qp;

	counters_add(qp->dev, qp->attr.port, COUNTER_RESP_ACCESS);
	/* An unreliable responder drops the request and continues. */
	if (message_is_unreliable(m))
		return SYN_REM_ACCESS;
	return responder_fail(run, SYN_REM_ACCESS);
}

/* Called if the QP does not accept requests of this kind. Confirmed: rights-of-qp. */
unsigned int
responder_refuse_kind(struct run *run, const struct message *m)
{
	run->use.vendor = VEN_QP_ACCESS;
	if (message_is_unreliable(m))
		return SYN_REM_INV_REQ;
	return responder_fail(run, SYN_REM_INV_REQ);
}
