/* SPDX-License-Identifier: BSD-3-Clause */
/* Room in CQs: a CQ has an entry for each CQE that the queues on it may have at once. */
#ifndef HWQ_CQ_ROOM_H
#define HWQ_CQ_ROOM_H

#include "hwq_srq.h"

/* The CQEs that a new QP may have at once, and the CQs that they come to. */
struct hwq_qp_cqes {
	const struct hwq_cq *send_cq; /* may be the receive CQ too; NULL if n_send is 0 */
	const struct hwq_cq *recv_cq; /* NULL: the QP receives nothing */
	uint32_t n_send;              /* WQEBBs of the send queue */
	uint32_t n_recv;              /* entries of the receive queue */
	const struct hwq_srq *srq;    /* NULL: none */
};

/*
 * The CQ has n more entries: 0; else -ENOSPC, and a log line. What: the queue's name in that line.
 */
int hwq_cq_check_room(const char *dev, const struct hwq_cq *cq, const char *what, uint32_t n);
/* The CQs have entries for a new QP: 0; else -ENOSPC, and a log line. */
int hwq_qp_check_room(const char *dev, const struct hwq_qp_cqes *cqes);
/*
 * CQEs that one more QP with the SRQ makes possible in the CQ: one for each entry if it is the
 * first such QP, else none. CQ NULL: as for the first. An XRC SRQ completes in its own CQ.
 */
uint32_t hwq_srq_cqe_needed(const struct hwq_srq *srq, const struct hwq_cq *cq);
/* A QP on the CQ begins, or ends, to receive from the SRQ: the CQ's reserved room follows. */
void hwq_srq_attach(struct hwq_srq *srq, struct hwq_cq *cq);
void hwq_srq_detach(struct hwq_srq *srq, struct hwq_cq *cq);

#endif
