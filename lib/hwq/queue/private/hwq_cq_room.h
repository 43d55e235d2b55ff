/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Room in CQs: a CQ must have an entry for each CQE that its queues may make before the caller
 * polls.
 */
#ifndef HWQ_CQ_ROOM_H
#define HWQ_CQ_ROOM_H

#include "hwq_srq.h"

/* The number of CQEs that a new QP may have at once, and their CQs. */
struct hwq_qp_cqes {
	/* CQ of sends, which may also be the receive CQ; NULL if n_send is 0 */
	const struct hwq_cq *send_cq;
	const struct hwq_cq *recv_cq; /* CQ of receives; NULL if the QP receives nothing */
	uint32_t n_send;              /* WQEBBs of the send queue */
	uint32_t n_recv;              /* entries of the receive queue */
	const struct hwq_srq *srq;    /* NULL: none */
};

/*
 * @return 0 if the CQ has n more entries; otherwise -ENOSPC, after a log line. what: the queue's
 * name in the log line.
 */
int hwq_cq_check_room(const char *dev, const struct hwq_cq *cq, const char *what, uint32_t n);
/* @return 0 if the CQs have entries for a new QP; otherwise -ENOSPC, after a log line. */
int hwq_qp_check_room(const char *dev, const struct hwq_qp_cqes *cqes);
/*
 * @return how many CQEs the CQ needs for one more QP with the SRQ: one for each entry if it is the
 * first such QP, otherwise 0. If cq is NULL, the number for a first QP. Always 0 for an XRC SRQ,
 * whose receives complete in its own CQ.
 */
uint32_t hwq_srq_cqe_needed(const struct hwq_srq *srq, const struct hwq_cq *cq);
/* A QP on the CQ starts (or stops) to receive from the SRQ: adjusts the reserved room of the CQ. */
void hwq_srq_attach(struct hwq_srq *srq, struct hwq_cq *cq);
void hwq_srq_detach(struct hwq_srq *srq, struct hwq_cq *cq);

#endif
