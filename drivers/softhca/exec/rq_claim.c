/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives of an SRQ for SENDs of several records: rq_claim.h. */
#include "rq_claim.h"

#include <stdlib.h>

#include "responder_hold.h"
#include "rq.h"

static struct srq_claim *
claim_of(struct softhca_qp *qp, uint64_t sender)
{
	struct srq_claim *claim = qp->claims;

	while (claim != NULL && claim->sender != sender)
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
	struct srq_claim *claim;
	enum wire_syndrome syn;

	if (r->from == NULL)
		return rq_peek(run, r->qp, need, sg);
	responder_hold_srq(run);
	claim = claim_of(r->qp, sender);
	if (claim == NULL) {
		syn = rq_peek(run, r->qp, need, sg);
		if (syn != SYN_OK || !take)
			return syn;
		claim = take_receive(r->qp, r->srq, sender);
		return claim != NULL ? SYN_OK : SYN_RNR;
	}
	r->claim = claim;
	return rq_gather_srq(run, r->srq, claim->seg, claim->n, need, sg);
}
