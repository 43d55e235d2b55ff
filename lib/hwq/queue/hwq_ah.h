/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Address handles: where a datagram or a DC work request goes, as its WQE carries it.
 *
 *     hwq_ah_create(dev, &remote, &ah)              or hwq_ah_from_verbs(ibv_ah, &ah)
 *       hwq_wr_set_ud_addr(&wr, &ah, qpn, qkey)     each work request copies the address
 *     hwq_ah_destroy(&ah)                           before the device
 *
 * The address vector is the one that libmlx5 made. It is read once (mlx5dv_init_obj(3)).
 *
 * Threads: as hwq_dev.h says. Any number of owner threads may use a handle that nobody changes.
 */
#ifndef HWQ_AH_H
#define HWQ_AH_H

#include "hwq_qp.h"

struct ibv_ah;

/** An address, in the caller's storage. It may be copied; only one of the copies is destroyed. */
struct hwq_ah {
	struct mlx5_wqe_av
		av;        /**< the address; QPN or DCTN, and the qkey or DC key, are not in it */
	struct ibv_ah *ah; /**< the handle that hwq made; NULL: from hwq_ah_from_verbs() */
	struct hwq_dev *dev;
};

/**
 * Makes a handle of the way to a peer (ibv_create_ah(3)). The QPN is not part of it, so one handle serves
 * all QPs of the peer's port. End it by hwq_ah_destroy().
 * @param remote hwq_qp_addr() of any QP of the peer; read during the call.
 * @param ah the caller's storage; written on success only.
 * @return 0; -EINVAL remote is no valid address; -EPROTONOSUPPORT the peer is on another link layer, or
 *   its address has another version; -ENOMEM; or the errno of ibv_create_ah(3) or mlx5dv_init_obj(3).
 */
HWQ_API int hwq_ah_create(struct hwq_dev *dev, const struct hwq_addr *remote, struct hwq_ah *ah);

/**
 * hwq_ah_create() for work requests of one queue pair: from its port and GID, with its traffic class
 * (hwq_path.h).
 * @return as hwq_ah_create(); -EINVAL also if qp is the caller's own QP (hwq_obj.h).
 */
HWQ_API int hwq_ah_create_from(const struct hwq_qp *qp, const struct hwq_addr *remote,
	struct hwq_ah *ah);

/**
 * hwq_ah_create() from the port and GID of a path, with its traffic class: what hwq_ah_create_from() makes
 * for a queue pair that was created with the path. It needs no queue pair.
 * @param path read during the call; its other fields are checked and not used.
 * @return as hwq_ah_create(); -EINVAL also if the path is not possible; or the errno of ibv_query_port(3).
 */
HWQ_API int hwq_ah_create_on(struct hwq_dev *dev, const struct hwq_path *path,
	const struct hwq_addr *remote, struct hwq_ah *ah);

/**
 * Makes a handle of a verbs handle. The verbs handle stays the caller's, and may be destroyed at once:
 * its address is copied.
 * @param ah the caller's storage; written on success only. It needs no hwq_ah_destroy().
 * @return 0; or the errno of mlx5dv_init_obj(3).
 */
HWQ_API int hwq_ah_from_verbs(struct ibv_ah *from, struct hwq_ah *ah);

/**
 * Ends a handle. Work requests that were posted with it are not affected. It does nothing for a handle of
 * hwq_ah_from_verbs().
 * @return 0; or the errno of ibv_destroy_ah(3): the handle is still there, call again.
 */
HWQ_API int hwq_ah_destroy(struct hwq_ah *ah);

#endif
