/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Begins a visit of a lane. Also has the functions of struct key_user: the code in key/ calls them
 * during the visit.
 */
#include "run_init.h"

#include <stddef.h>

#include "order.h"

static struct run *
run_of(struct key_use *use)
{
	return (struct run *)(void *)((char *)use - offsetof(struct run, use));
}

/*
 * Sends the signature error to the CQ of the QP whose work used the key. The CQ that a card chooses
 * is not public. Confirmed: sig-err-first. Assumed: sig-err-cq, sig-err-responder.
 */
static void
sig_error(struct key_use *use, const struct key_sig_error *error, bool tell)
{
	struct run *run = run_of(use);
	struct softhca_qp *qp = error->peer ? run->responder.qp : run->qp;
	struct softhca_cq *cq = error->peer ? qp->recv_cq : qp->send_cq;
	const struct cqe_sig_err sig_err = {.error = error->error,
		.memory = error->memory,
		.key = error->key};
	const struct cqe cqe = {.opcode = CQE_SIG_ERR,
		.opcode_qpn = qp->number,
		.timestamp = run_now(run),
		.sig_err = &sig_err};

	if (!error->peer && qp->attr.drain_sigerr)
		run->sig_drain = true;
	if (!tell)
		return;
	/* A QP without queues has no CQ, so the error is not reported. */
	if (cq == NULL)
		return;
	run_hold_cq(run, cq);
	cq_push(run->cq, &cqe);
}

static void
may_wait(struct key_use *use)
{
	run_drop_cq(run_of(use));
}

static bool
move_later(struct key_use *use, const struct sg *dst, const struct sg *src)
{
	struct run *run = run_of(use);

	/* Bytes that another process has sent are valid only during this call. */
	return run->qp != NULL && order_move(run, dst, src);
}

static const struct key_user run_user = {.sig_error = sig_error,
	.may_wait = may_wait,
	.move_later = move_later};

void
run_init(struct run *run, struct softhca_lanes *lanes)
{
	*run = (struct run){.use.user = &run_user, .lanes = lanes};
}
