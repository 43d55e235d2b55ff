/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes doorbells and BlueFlame copies from a UAR page. */
#ifndef SOFTHCA_DOORBELL_H
#define SOFTHCA_DOORBELL_H

#include "uar.h"

/* Clears the doorbell words of the page, so that none of them counts as rung. */
void doorbells_init(struct softhca_uar *uar);
/*
 * Sets the page's queue that has no doorbell record. From then on the device looks for its
 * doorbells. NULL: the page has no such queue. The caller holds `lock`.
 */
void doorbells_set_no_record(struct softhca_uar *uar, struct softhca_qp *qp);
/*
 * Takes all rings of the page: marks the QPs that were rung and moves their announced index. Sets
 * *arm if the CQ doorbell rang. Returns the number of doorbells. The caller holds `lock`.
 */
unsigned int doorbells_take(struct softhca_uar *uar, bool *arm);

#endif
