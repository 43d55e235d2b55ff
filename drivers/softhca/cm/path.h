/* SPDX-License-Identifier: BSD-3-Clause */
/* The path between the ports of two ids, in the forms of the uverbs ABI. */
#ifndef SOFTHCA_CM_PATH_H
#define SOFTHCA_CM_PATH_H

#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#include "id.h"

#define PATH_PKEY      0xffff
#define PATH_LIFE_TIME 16 /* 4.096 us * 2^16, as the kernel's rdma_cm assumes for RoCE */

/* Returns the active MTU (enum ib_mtu) of the id's port. */
uint8_t path_mtu(const struct cm_id *id);
/* The attributes of an address handle from the id's port to its partner's. */
void path_ah(const struct cm_id *id, struct ib_uverbs_ah_attr *ah);
/* The path record. Without a partner, the GIDs are those of the id's addresses. */
void path_record(const struct cm_id *id, struct ib_user_path_rec *path);

#endif
