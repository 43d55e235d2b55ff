/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Address handles: the destination of a datagram or a DC work request, in the form that WQEs have.
 *
 *     hwq_ah_create(dev, &remote, &ah)              or hwq_ah_from_verbs(ibv_ah, &ah)
 *       hwq_wr_set_ud_addr(&wr, &ah, qpn, qkey)     each work request copies the address
 *     hwq_ah_destroy(&ah)                           before the device
 *
 * libmlx5 creates the address vector; hwq reads it once (mlx5dv_init_obj(3)).
 *
 * Threads: the rules of hwq_dev.h apply. Any number of owner threads may use a handle while no
 * thread changes it.
 */
#ifndef HWQ_AH_H
#define HWQ_AH_H

#include "hwq_qp.h"

struct ibv_ah;

/** An address handle, in the caller's storage. It may be copied; destroy only one of the copies. */
struct hwq_ah {
	/**
	 * The address vector, with neither QPN nor DCT number, and with neither qkey nor DC key.
	 */
	struct mlx5_wqe_av av;
	struct ibv_ah *ah;   /**< the handle that hwq created; NULL: from hwq_ah_from_verbs() */
	struct hwq_dev *dev; /**< the device */
};

/**
 * Creates a handle for a peer's port (ibv_create_ah(3)). It contains no QPN, so one handle serves
 * all QPs of that port. Destroy it by hwq_ah_destroy().
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
 *   The peer has another link layer, or its address has another version.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of ibv_create_ah(3) or mlx5dv_init_obj(3).
 */
HWQ_API int hwq_ah_create(struct hwq_dev *dev, const struct hwq_addr *remote, struct hwq_ah *ah);

/**
 * Creates a handle for the work requests of one QP: they use the QP's port, GID and traffic class
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
 * Creates a handle for work requests that use the port, GID and traffic class of a path. It equals
 * the handle that hwq_ah_create_from() creates for a QP of this path, but needs no QP.
 *
 * @param dev
 *   The device.
 * @param path
 *   Read during the call; all other fields of the path are checked, but not used.
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
 * Creates a handle from a verbs handle. Its address is copied, so the caller may destroy the verbs
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
 * Destroys a handle. Work requests that were posted with it are not affected. For a handle of
 * hwq_ah_from_verbs() it does nothing.
 *
 * @param ah
 *   The handle.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of ibv_destroy_ah(3): the handle still exists, call again.
 */
HWQ_API int hwq_ah_destroy(struct hwq_ah *ah);

#endif
