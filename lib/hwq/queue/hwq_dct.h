/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * DC targets (DCTs): what any number of DCIs reaches by a number and a key (mlx5dv_create_qp(3)).
 *
 *     hwq_srq_create                     receives of the target
 *       hwq_dct_create                   it answers from now on
 *         hwq_dct_addr ---- the peer ---- hwq_ah_create_from(dci, &addr, &ah)
 *                                         hwq_wr_set_dc_addr(&wr, &ah, be32toh(addr.qpn), key)
 *       hwq_dct_destroy
 *     hwq_srq_destroy
 *
 * A target has no send queue. Messages to it take entries of its SRQ and complete in its CQ, where
 * hwq_srq_poll() takes them; qpn of a record is the target's number. RDMA and atomics make no completion
 * there.
 *
 * Threads: as hwq_qp.h says.
 */
#ifndef HWQ_DCT_H
#define HWQ_DCT_H

#include "hwq_qp.h"
#include "hwq_srq.h"

/** What a target is for. */
struct hwq_dct_conf {
	struct hwq_srq *srq;  /**< where messages are received; not an XRC SRQ */
	uint64_t key;         /**< DC key: who does not know it gets no answer */
	struct hwq_path path; /**< port, GID, MTU and min_rnr_timer are used */
};

/** A DC target. Written by hwq. */
struct hwq_dct {
	uint32_t dctn; /**< its number, which initiators name */
	struct hwq_path path;
	struct hwq_dev_port port; /**< the port and GID that path chose */
	struct hwq_cq *cq;
	struct hwq_srq *srq;
	struct hwq_domain *domain;
	struct ibv_qp *qp;
};

/**
 * Creates a target, which answers at once. Its receives complete in cq. The caller destroys it by
 * hwq_dct_destroy(), before conf->srq, cq and the domain.
 * @param conf read during the call.
 * @param dct written on success only.
 * @return 0; -EINVAL conf has no SRQ or an XRC one, or conf->path is not possible; -ENOSPC cq has no room
 *   for a CQE of each entry of the SRQ: create a larger CQ; -ENOMEM; or the errno of mlx5dv_create_qp(3) or
 *   ibv_modify_qp(3). A log line says what is possible.
 */
HWQ_API int hwq_dct_create(struct hwq_domain *domain, struct hwq_cq *cq,
	const struct hwq_dct_conf *conf, struct hwq_dct **dct);

/**
 * Destroys a target, and drops its completions from the CQ. Posted entries of the SRQ stay posted.
 * @return 0; or the errno of ibv_destroy_qp(3): the target still answers, call again.
 */
HWQ_API int hwq_dct_destroy(struct hwq_dct *dct);

/** Writes the address of a target for peers; its qpn is the DCT number, its psn is 0. It is valid until the
 *  target is destroyed. The key is not part of it. */
HWQ_API void hwq_dct_addr(const struct hwq_dct *dct, struct hwq_addr *addr);

#endif
