/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking doorbells and BlueFlame copies from a UAR page. */
#ifndef SOFTHCA_DOORBELL_H
#define SOFTHCA_DOORBELL_H

#include "uar.h"

/* Clears the page: nothing rings on it yet. */
void doorbells_init(struct softhca_uar *uar);
/*
 * This queue of the page has no doorbell record, and its doorbells are looked for; NULL: there is
 * none. lock held.
 */
void doorbells_set_no_record(struct softhca_uar *uar, struct softhca_qp *qp);
/*
 * Takes what rang: marks QPs and moves their announced index. *arm: the CQ doorbell rang. Returns
 * how many doorbells there were. lock held.
 */
unsigned int doorbells_take(struct softhca_uar *uar, bool *arm);

#endif
