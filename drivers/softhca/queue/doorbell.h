/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes doorbells and BlueFlame copies from a UAR page. */
#ifndef SOFTHCA_DOORBELL_H
#define SOFTHCA_DOORBELL_H

#include "uar.h"

/* Clears the page, so that no bell rings. */
void doorbells_init(struct softhca_uar *uar);
/*
 * Sets the queue of the page that has no doorbell record; its doorbells are then looked for. NULL:
 * there is no such queue. The caller holds `lock`.
 */
void doorbells_set_no_record(struct softhca_uar *uar, struct softhca_qp *qp);
/*
 * Takes all rings: marks QPs and moves their announced index. *arm: the CQ doorbell rang. Returns
 * the number of doorbells. The caller holds `lock`.
 */
unsigned int doorbells_take(struct softhca_uar *uar, bool *arm);

#endif
