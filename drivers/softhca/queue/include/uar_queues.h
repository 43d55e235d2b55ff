/* SPDX-License-Identifier: BSD-3-Clause */
/* The UAR pages of an adapter, and the queues that name a page. */
#ifndef SOFTHCA_UAR_QUEUES_H
#define SOFTHCA_UAR_QUEUES_H

#include "uar.h"

/* Every queue of the adapter is looked at in the next turn. Inside a turn. */
void uars_call_attention(struct softhca_dev *dev);

/*
 * Takes what rang: QPs and CQs learn of it. *arm: the CQ doorbell rang. Returns doorbells of QPs.
 * lock held.
 */
unsigned int uar_take_doorbells(struct softhca_uar *uar, bool *arm);
/*
 * Takes what rang, so that no later queue gets a doorbell that was meant for an earlier one. lock
 * held.
 */
void uar_discard_doorbells(struct softhca_uar *uar);
/* Sends events of the page's CQs that are due. True: some wait for their time. lock held. */
bool uar_cq_timers(struct softhca_uar *uar);

/* Which queues name the page. No lane runs a queue after its detach has returned. -ENOMEM. */
int uar_attach_qp(struct softhca_uar *uar, struct softhca_qp *qp);
void uar_detach_qp(struct softhca_uar *uar, struct softhca_qp *qp);
int uar_attach_cq(struct softhca_uar *uar, struct softhca_cq *cq);
void uar_detach_cq(struct softhca_uar *uar, struct softhca_cq *cq);

#endif
