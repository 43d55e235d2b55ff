/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes doorbells and BlueFlame copies from a UAR page. */
#ifndef SOFTHCA_DOORBELL_H
#define SOFTHCA_DOORBELL_H

#include "uar.h"

/*
 * Clears the doorbell words of the page, so that the device does not take an old value for a ring.
 */
void doorbells_init(struct softhca_uar *uar);
/*
 * Sets the page's queue that has no doorbell record, or NULL. The doorbells of this queue are in
 * the word UAR_NO_RECORD. The caller holds `lock`.
 */
void doorbells_set_no_record(struct softhca_uar *uar, struct softhca_qp *qp);
/*
 * Takes all rings of the page. For each QP that was rung, sets `rang` and moves `announced`. Sets
 * *arm if the CQ doorbell rang. Returns the number of doorbells. The caller holds `lock`.
 */
unsigned int doorbells_take(struct softhca_uar *uar, bool *arm);

#endif
