/* SPDX-License-Identifier: BSD-3-Clause */
/* Room in CQs: computes how many CQEs queues need, and whether a CQ has that many free entries. */
#include "hwq_cq_room.h"

#include <errno.h>

#include "hwq_log.h"

int
hwq_cq_check_room(const char *dev, const struct hwq_cq *cq, const char *what, uint32_t n)
{
	if (n <= cq->n_cqe - cq->reserved)
		return 0;
	hwq_log("%s: the %s may need %u CQEs at once, and CQ 0x%06x has %u of %u left: create the CQ "
		"with more",
		dev, what, n, cq->cqn, cq->n_cqe - cq->reserved, cq->n_cqe);
	return -ENOSPC;
}

int
hwq_qp_check_room(const char *dev, const struct hwq_qp_cqes *cqes)
{
	uint32_t n_send = cqes->n_send, n_recv = cqes->n_recv;
	int ret = 0;

	if (cqes->recv_cq != NULL)
		n_recv += hwq_srq_cqe_needed(cqes->srq, cqes->recv_cq);
	if (cqes->send_cq == cqes->recv_cq) {
		n_send += n_recv;
		n_recv = 0;
	}
	if (n_send != 0)
		ret = hwq_cq_check_room(dev, cqes->send_cq, "QP", n_send);
	if (ret == 0 && n_recv != 0)
		ret = hwq_cq_check_room(dev, cqes->recv_cq, "QP", n_recv);
	return ret;
}

/* ------------------------------------------------------------------ shared receive queues */

uint32_t
hwq_srq_cqe_needed(const struct hwq_srq *srq, const struct hwq_cq *cq)
{
	if (srq == NULL || srq->xrc_cq != NULL || (cq != NULL && srq->on_cq == cq))
		return 0;
	return hwq_srq_size(srq);
}

void
hwq_srq_attach(struct hwq_srq *srq, struct hwq_cq *cq)
{
	cq->reserved += hwq_srq_cqe_needed(srq, cq);
	srq->refs++;
	if (srq->on_cq == NULL)
		srq->on_cq = cq;
	if (srq->on_cq == cq)
		srq->on_cq_qps++;
}

void
hwq_srq_detach(struct hwq_srq *srq, struct hwq_cq *cq)
{
	srq->refs--;
	if (srq->on_cq == cq && --srq->on_cq_qps == 0)
		srq->on_cq = NULL;
	cq->reserved -= hwq_srq_cqe_needed(srq, cq);
}
