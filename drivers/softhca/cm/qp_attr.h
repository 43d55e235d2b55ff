/* SPDX-License-Identifier: BSD-3-Clause */
/* The attributes with which ibv_modify_qp(3) moves an id's queue pair to a state. */
#ifndef SOFTHCA_CM_QP_ATTR_H
#define SOFTHCA_CM_QP_ATTR_H

#include <rdma/ib_user_verbs.h>

#include "id.h"

#define CM_UDP_QKEY 0x01234567u /* RDMA_UDP_QKEY of rdma_cma.h */

/*
 * Fills in the attributes and their mask for a state (enum ibv_qp_state). The id has a port.
 * Returns 0, or -EINVAL if the connection is not far enough for this state.
 */
int qp_attr(const struct cm_id *id, uint32_t qp_state, struct ib_uverbs_qp_attr *attr);

#endif
