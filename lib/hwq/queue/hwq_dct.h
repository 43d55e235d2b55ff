/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * DC targets (DCTs): any number of DCIs sends to a target by its number and its key
 * (mlx5dv_create_qp(3)).
 *
 *     hwq_srq_create                     receives of the target
 *       hwq_dct_create                   the target accepts requests now
 *         hwq_dct_addr ---- the peer ---- hwq_ah_create_from(dci, &addr, &ah)
 *                                         hwq_wr_set_dc_addr(&wr, &ah, be32toh(addr.qpn), key)
 *       hwq_dct_destroy
 *     hwq_srq_destroy
 *
 * A target has no send queue. Messages to it use entries of its SRQ and complete in its CQ;
 * hwq_srq_poll() takes the completions. In a record, qpn is the target's number. RDMA and atomics
 * make no completion at the target.
 *
 * Threads: the rules of hwq_qp.h apply.
 */
#ifndef HWQ_DCT_H
#define HWQ_DCT_H

#include "hwq_qp.h"
#include "hwq_srq.h"

/** Configuration of a target. */
struct hwq_dct_conf {
	struct hwq_srq *srq; /**< SRQ whose entries receive messages; not an XRC SRQ */
	uint64_t key;        /**< DC key: requests without this key are dropped */
	/** path of the target; only its port, GID, MTU and min_rnr_timer are used */
	struct hwq_path path;
};

/** A DC target. Only hwq writes this struct. */
struct hwq_dct {
	uint32_t dctn;             /**< DCT number, by which DCIs address the target */
	struct hwq_path path;      /**< path of the configuration */
	struct hwq_dev_port port;  /**< port and GID of the path */
	struct hwq_cq *cq;         /**< CQ in which received messages complete */
	struct hwq_srq *srq;       /**< SRQ whose entries receive messages */
	struct hwq_domain *domain; /**< the domain */
	struct ibv_qp *qp;         /**< the verbs object */
};

/**
 * Creates a DC target, which accepts requests at once. Its receives complete in cq. The caller
 * destroys the target by hwq_dct_destroy() before conf->srq, cq and the domain.
 *
 * @param domain
 *   The domain, whose owner thread will own the new object.
 * @param cq
 *   The CQ of its receives.
 * @param conf
 *   Read during the call.
 * @param dct
 *   Written on success only.
 * @return 0 on success. Otherwise a log line says what the caller can do:
 * @retval -EINVAL
 *   conf has no SRQ or an XRC SRQ, or conf->path is not possible.
 * @retval -ENOSPC
 *   cq has fewer free entries than the SRQ has entries: create a larger CQ.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of mlx5dv_create_qp(3) or ibv_modify_qp(3).
 */
HWQ_API int hwq_dct_create(struct hwq_domain *domain, struct hwq_cq *cq,
	const struct hwq_dct_conf *conf, struct hwq_dct **dct);

/**
 * Destroys a DC target, and drops its completions from the CQ. Posted entries of the SRQ stay
 * posted.
 *
 * @param dct
 *   The DC target.
 * @return
 *   0 on success, otherwise:
 * @retval -errno The error of ibv_destroy_qp(3): the target still accepts requests, call again.
 */
HWQ_API int hwq_dct_destroy(struct hwq_dct *dct);

/**
 * Writes the address of a DC target for peers: its qpn is the DCT number, its psn is 0. It is valid
 * until the target is destroyed. The DC key is no part of the address.
 *
 * @param dct
 *   The DC target.
 * @param addr
 *   The address; written.
 */
HWQ_API void hwq_dct_addr(const struct hwq_dct *dct, struct hwq_addr *addr);

#endif
