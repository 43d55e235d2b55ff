/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Address handles: where a datagram or a DC work request goes, as its WQE carries it.
 *
 * The address vector is libmlx5's own, read once (mlx5dv_init_obj(3)); a work request copies it.
 *
 * Threads: as hwq_dev.h says; any number of owner threads may use a handle that nobody changes.
 */
#ifndef HWQ_AH_H
#define HWQ_AH_H

#include "hwq_qp.h"

struct ibv_ah;

/** An address. The caller's storage; cheap to keep and to copy, but destroyed once. */
struct hwq_ah {
	struct mlx5_wqe_av av; /**< without QPN or DCTN, qkey or DC key */
	struct ibv_ah *ah;     /**< hwq's, or NULL: somebody else's */
	struct hwq_dev *dev;
};

/**
 * Makes a handle of how a peer is reached (hwq_qp_addr() of any of its QPs); the number of its QP is
 * not part of it.
 * @return 0; -EINVAL no valid address; -EPROTONOSUPPORT the peer is on another link layer, or of
 *   another version; -ENOMEM; or the errno of ibv_create_ah(3).
 */
HWQ_API int hwq_ah_create(struct hwq_dev *dev, const struct hwq_addr *remote, struct hwq_ah *ah);

/** Makes one of a verbs handle, which stays the caller's and may go before it does.
 *  @return 0, or the errno of mlx5dv_init_obj(3). */
HWQ_API int hwq_ah_from_verbs(struct ibv_ah *from, struct hwq_ah *ah);

/** Ends it; one from hwq_ah_from_verbs() needs no end. WQEs that carry it stay as they are.
 *  @return 0, or the errno of ibv_destroy_ah(3): it is still there. */
HWQ_API int hwq_ah_destroy(struct hwq_ah *ah);

#endif
