/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Address handles: the destination of a datagram or a DC work request, in the form that its WQE
 * has.
 *
 *     hwq_ah_create(dev, &remote, &ah)              or hwq_ah_from_verbs(ibv_ah, &ah)
 *       hwq_wr_set_ud_addr(&wr, &ah, qpn, qkey)     each work request copies the address
 *     hwq_ah_destroy(&ah)                           before the device
 *
 * libmlx5 makes the address vector; hwq reads it once (mlx5dv_init_obj(3)).
 *
 * Threads: as hwq_dev.h says. Any number of owner threads may use a handle while no thread changes
 * it.
 */
#ifndef HWQ_AH_H
#define HWQ_AH_H

#include "hwq_qp.h"

struct ibv_ah;

/** An address handle, in the caller's storage. It may be copied; destroy only one of the copies. */
struct hwq_ah {
	/** The address vector, without QPN or DCT number and without qkey or DC key. */
	struct mlx5_wqe_av av;
	struct ibv_ah *ah;   /**< the handle that hwq made; NULL: from hwq_ah_from_verbs() */
	struct hwq_dev *dev; /**< the device */
};

/**
 * Makes a handle for a peer's port (ibv_create_ah(3)). It contains no QPN, so one handle serves all
 * QPs of that port. End it by hwq_ah_destroy().
 *
 * @param dev
 *   The device.
 * @param remote
 *   hwq_qp_addr() of any QP of the peer; read during the call.
 * @param ah
 *   The caller's storage; written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   remote is no valid address.
 * @retval -EPROTONOSUPPORT
 *   The peer is on another link layer, or its address has another version.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of ibv_create_ah(3) or mlx5dv_init_obj(3).
 */
HWQ_API int hwq_ah_create(struct hwq_dev *dev, const struct hwq_addr *remote, struct hwq_ah *ah);

/**
 * Makes a handle for the work requests of one QP: they use the QP's port, GID and traffic class
 * (hwq_path.h).
 *
 * @param qp
 *   The QP.
 * @param remote
 *   As for hwq_ah_create().
 * @param ah
 *   As for hwq_ah_create().
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   remote is no valid address, or qp is the caller's own QP (hwq_obj.h).
 * @retval -errno
 *   An error of hwq_ah_create().
 */
HWQ_API int hwq_ah_create_from(const struct hwq_qp *qp, const struct hwq_addr *remote,
	struct hwq_ah *ah);

/**
 * Makes a handle for work requests that use the port, GID and traffic class of a path. It equals
 * the handle that hwq_ah_create_from() makes for a QP of this path, but needs no QP.
 *
 * @param dev
 *   The device.
 * @param path
 *   Read during the call; its other fields are checked and not used.
 * @param remote
 *   As for hwq_ah_create().
 * @param ah
 *   As for hwq_ah_create().
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   remote is no valid address, or the path is not possible.
 * @retval -errno
 *   An error of hwq_ah_create() or ibv_query_port(3).
 */
HWQ_API int hwq_ah_create_on(struct hwq_dev *dev, const struct hwq_path *path,
	const struct hwq_addr *remote, struct hwq_ah *ah);

/**
 * Makes a handle of a verbs handle. Its address is copied, so the caller may destroy the verbs
 * handle after the call.
 *
 * @param from
 *   The verbs handle.
 * @param ah
 *   The caller's storage; written on success only. It needs no hwq_ah_destroy().
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of mlx5dv_init_obj(3).
 */
HWQ_API int hwq_ah_from_verbs(struct ibv_ah *from, struct hwq_ah *ah);

/**
 * Ends a handle. Work requests that were posted with it are not affected. A handle of
 * hwq_ah_from_verbs() has nothing to end.
 *
 * @param ah
 *   The handle.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of ibv_destroy_ah(3): the handle is still there, call again.
 */
HWQ_API int hwq_ah_destroy(struct hwq_ah *ah);

#endif
