/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives of an SRQ for SENDs of several records: rq_claim.h. */
#include "rq_claim.h"

#include <stdlib.h>

#include "responder_hold.h"
#include "rq.h"

static struct srq_claim *
claim_of(struct softhca_qp *qp, uint64_t sender, const struct softhca_srq *srq)
{
	struct srq_claim *claim = qp->claims;

	while (claim != NULL && (claim->sender != sender || claim->srqn != srq->number))
		claim = claim->next;
	return claim;
}

/* Takes the oldest receive of the SRQ that is held. Returns NULL if memory is short. */
static struct srq_claim *
take_receive(struct softhca_qp *qp, struct softhca_srq *srq, uint64_t sender)
{
	struct srq_claim *claim = malloc(sizeof(*claim));

	if (claim == NULL)
		return NULL;
	claim->sender = sender;
	claim->srqn = srq->number;
	claim->seg = srq_head(srq, &claim->n);
	claim->index = srq_take(srq);
	claim->next = qp->claims;
	qp->claims = claim;
	return claim;
}

enum wire_syndrome
rq_claim(struct run *run, uint64_t sender, uint64_t need, bool take, struct sg *sg)
{
	struct responder *r = &run->responder;
	enum wire_syndrome syn;

	if (r->from == NULL)
		return rq_peek(run, r->qp, need, sg);
	responder_hold_srq(run);
	r->claim = claim_of(r->qp, sender, r->srq);
	if (r->claim != NULL)
		return rq_gather_srq(run, r->srq, r->claim->seg, r->claim->n, need, sg);
	syn = rq_peek(run, r->qp, need, sg);
	if (syn != SYN_OK || !take)
		return syn;
	/* The first record was checked with a receive that another message has taken since. */
	if (run->use.converts || (sg->rare & ACC_CIPHERED) != 0)
		return SYN_RNR;
	r->claim = take_receive(r->qp, r->srq, sender);
	return r->claim != NULL ? SYN_OK : SYN_RNR;
}
