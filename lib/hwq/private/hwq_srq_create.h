/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues, as their QPs and hwq_obj.h see them. */
#ifndef HWQ_SRQ_CREATE_H
#define HWQ_SRQ_CREATE_H

#include "hwq_srq.h"

/* Takes the ring that srq->srq shows. @return 0, or -errno and a log line. */
int hwq_srq_take_over(struct hwq_srq *srq, const char *dev);
/* CQEs that one more QP with the SRQ makes possible in the CQ: its entries, counted once. */
uint32_t hwq_srq_cqe_needed(const struct hwq_srq *srq, const struct hwq_cq *cq);
/* A QP on the CQ begins, or ends, to receive from the SRQ: the CQ's reserved room follows. */
void hwq_srq_attach(struct hwq_srq *srq, struct hwq_cq *cq);
void hwq_srq_detach(struct hwq_srq *srq, struct hwq_cq *cq);

#endif
