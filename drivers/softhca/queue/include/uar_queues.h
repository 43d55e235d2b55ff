/* SPDX-License-Identifier: BSD-3-Clause */
/* The UAR pages of an adapter, and the queues of each page. */
#ifndef SOFTHCA_UAR_QUEUES_H
#define SOFTHCA_UAR_QUEUES_H

#include "uar.h"

/* Makes the next turn (turns.h) visit all queues of the adapter. Call this inside a turn. */
void uars_call_attention(struct softhca_dev *dev);

/*
 * Takes all rings, and passes them to QPs and CQs. Sets *arm if the CQ doorbell rang. Returns the
 * number of doorbells of QPs. The caller holds `lock`.
 */
unsigned int uar_take_doorbells(struct softhca_uar *uar, bool *arm);
/*
 * Discards all doorbells of the page, so that a new queue does not get a doorbell of an earlier
 * queue. The caller holds `lock`.
 */
void uar_discard_doorbells(struct softhca_uar *uar);
/*
 * Sends the events of the page's CQs whose time has come. Returns true if an event still waits. The
 * caller holds `lock`.
 */
bool uar_cq_timers(struct softhca_uar *uar);

/*
 * Attach a queue to the page and detach it. After a detach has returned, no lane runs the queue. An
 * attach returns 0 or -ENOMEM.
 */
int uar_attach_qp(struct softhca_uar *uar, struct softhca_qp *qp);
void uar_detach_qp(struct softhca_uar *uar, struct softhca_qp *qp);
int uar_attach_cq(struct softhca_uar *uar, struct softhca_cq *cq);
void uar_detach_cq(struct softhca_uar *uar, struct softhca_cq *cq);

#endif
