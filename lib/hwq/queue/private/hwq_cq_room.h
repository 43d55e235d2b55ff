/* SPDX-License-Identifier: BSD-3-Clause */
/* Room in CQs: a CQ must have an entry for each CQE that its queues may have at once. */
#ifndef HWQ_CQ_ROOM_H
#define HWQ_CQ_ROOM_H

#include "hwq_srq.h"

/* The CQEs that a new QP may have at once, and their CQs. */
struct hwq_qp_cqes {
	const struct hwq_cq *send_cq; /* may be the receive CQ too; NULL if n_send is 0 */
	const struct hwq_cq *recv_cq; /* NULL: the QP receives nothing */
	uint32_t n_send;              /* WQEBBs of the send queue */
	uint32_t n_recv;              /* entries of the receive queue */
	const struct hwq_srq *srq;    /* NULL: none */
};

/*
 * 0 if the CQ has n more entries; else -ENOSPC, and a log line. what: the queue's name in that
 * line.
 */
int hwq_cq_check_room(const char *dev, const struct hwq_cq *cq, const char *what, uint32_t n);
/* 0 if the CQs have entries for a new QP; else -ENOSPC, and a log line. */
int hwq_qp_check_room(const char *dev, const struct hwq_qp_cqes *cqes);
/*
 * CQEs that the CQ needs for one more QP with the SRQ: one for each entry if it is the first such
 * QP, else none. cq NULL: as for the first QP. An XRC SRQ completes in its own CQ.
 */
uint32_t hwq_srq_cqe_needed(const struct hwq_srq *srq, const struct hwq_cq *cq);
/* A QP on the CQ starts, or stops, receiving from the SRQ: adjusts the CQ's reserved room. */
void hwq_srq_attach(struct hwq_srq *srq, struct hwq_cq *cq);
void hwq_srq_detach(struct hwq_srq *srq, struct hwq_cq *cq);

#endif
