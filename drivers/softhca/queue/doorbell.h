/* SPDX-License-Identifier: BSD-3-Clause */
/* What rings on a UAR page. */
#ifndef SOFTHCA_DOORBELL_H
#define SOFTHCA_DOORBELL_H

#include "uar.h"

/* Nothing rings on the page yet. */
void doorbells_init(struct softhca_uar *uar);
/* Takes what rang: marks QPs, moves their announced index; *arm: the CQ doorbell rang. lock held. */
unsigned int doorbells_take(struct softhca_uar *uar, bool *arm);

#endif
