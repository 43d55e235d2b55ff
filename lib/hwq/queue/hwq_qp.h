/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Queue pairs: everything but their data path.
 *
 * libmlx5 creates the queues. From then on hwq owns their indices. Never pass hwq's QPs or CQs to
 * ibv_post_send(), ibv_post_recv(), ibv_wr_*(), ibv_poll_cq(), ibv_resize_cq() or
 * ibv_req_notify_cq(): libmlx5's own indices are stale.
 *
 *     RESET --hwq_qp_create--> INIT --hwq_qp_connect--> RTS --an operation fails--> ERR
 *                                ^   or hwq_qp_ready                                 |
 *                                `------------------ hwq_qp_reset <------------------'
 *
 * Threads: as hwq_dev.h says. hwq_qp_reset() and hwq_qp_destroy() change the CQ. Only the domain's owner
 * thread calls them, or another thread while the owner does not use the domain.
 */
#ifndef HWQ_QP_H
#define HWQ_QP_H

#include <stdbool.h>

#include <infiniband/verbs.h>

#include "hwq_atomic.h"
#include "hwq_cq.h"
#include "hwq_domain.h"
#include "hwq_mr.h"
#include "hwq_path.h"
#include "hwq_rq.h"
#include "hwq_sq.h"

struct ibv_qp;
struct hwq_qp_info;

/** Types of queue pairs, with what verbs calls them (ibv_create_qp_ex(3), mlx5dv_create_qp(3)). */
enum hwq_qp_type {
	HWQ_QP_RC,         /**< IBV_QPT_RC */
	HWQ_QP_UC,         /**< IBV_QPT_UC */
	HWQ_QP_UD,         /**< IBV_QPT_UD */
	HWQ_QP_XRC_SEND,   /**< IBV_QPT_XRC_SEND */
	HWQ_QP_DCI,        /**< IBV_QPT_DRIVER, MLX5DV_DCTYPE_DCI */
	HWQ_QP_RAW_PACKET, /**< IBV_QPT_RAW_PACKET: Ethernet frames */
};

/** What a QP is for. All zero but sq_wr is an RC QP for one-WQEBB work: memcpy not included. */
struct hwq_qp_conf {
	enum hwq_qp_type type;
	uint32_t sq_wr;      /**< send WQEs of the longest kind it must hold at once, from 1 */
	uint32_t max_inline; /**< bytes of inline data of one WQE */
	uint32_t max_sge;    /**< data segments of one WQE; 0: 1 */
	bool sq_sig_all;     /**< every WQE asks for a CQE, HWQ_WQE_SIGNALED or not */
	/** The send queue stops at a wrong signature (MLX5DV_QP_CREATE_SIG_PIPELINING of mlx5dv_create_qp(3)): see
	 * hwq_cancel.h. -EOPNOTSUPP where the kernel lets no queue go on from there, and of other types than RC. */
	bool sig_pipelining;
	bool mmo;            /**< memcpy WQEs; -EOPNOTSUPP where caps.max_memcpy_len is 0 */
	uint32_t rq_wr;      /**< receive work requests it must hold at once; 0: no receive queue */
	uint32_t rq_sge;     /**< pieces of memory of one of them; 0: 1 */
	struct hwq_srq *srq; /**< receives come from there, and rq_wr is 0; NULL: they do not */
	/** Where receives complete; NULL: in the CQ of the sends. Of the same domain. */
	struct hwq_cq *recv_cq;
	/**
	 * The operations to be posted, IBV_QP_EX_WITH_* of ibv_create_qp_ex(3); 0: SEND, RDMA write
	 * and RDMA read, as far as the type has them. -EOPNOTSUPP: one that the type does not
	 * support, or a bit that is not known. NOP and raw WQEs need none.
	 */
	uint64_t send_ops;
	uint64_t mlx5_ops; /**< MLX5DV_QP_EX_WITH_* operations to be posted; mmo adds memcpy's */
	uint32_t qkey;     /**< UD: what a datagram to the QP must carry */
	uint16_t max_tso_header; /**< RAW_PACKET: bytes of headers of one TSO WQE; 0: no TSO */
	bool dci_streams;        /**< DCI: its WQEs are of streams, which fail on their own */
	uint8_t log_dci_streams; /**< log2 of how many may run at once */
	uint8_t log_dci_errored; /**< log2 of how many may fail before the QP does */
	struct hwq_path path;    /**< its port, and retries */
};

/** A queue pair. Written by hwq. */
struct hwq_qp {
	struct hwq_sq sq;
	struct hwq_rq rq; /**< buf is NULL without a receive queue */

	struct hwq_bf bf; /**< its doorbell register where the domain has none of its own */

	/* Control path. */
	HWQ_ON_LINE void *user; /**< hwq_qp_set_user() */
	uint32_t qpn;
	uint32_t psn;        /**< first packet sequence number of its requests */
	uint32_t qkey;       /**< UD: what a datagram to the QP must carry */
	uint32_t n_cqe;      /**< CQEs that its sends may have in cq at once */
	struct hwq_cq *cq;   /**< where its sends complete; rq.cq is where its receives do */
	struct hwq_srq *srq; /**< NULL: none */
	struct hwq_domain *domain;
	struct hwq_path path;           /**< as configured */
	struct hwq_dev_port port;       /**< the port and GID that path chose */
	const struct hwq_qp_info *info; /**< what its type is and can */
	struct ibv_qp *qp;
	struct hwq_mr opaque; /**< the device's scratch for memcpy, if created with mmo */
	void *opaque_buf;
	uint32_t *cancelled; /**< marks of cancelled WQEs, by WQEBB; NULL: there were none yet */
};

static_assert(offsetof(struct hwq_qp, user) % HWQ_LINE_LEN == 0,
	"the owner's and others' fields share no line");

/** Says what the QP is to the caller, for who takes its events (hwq_async.h). NULL at first. */
static inline void
hwq_qp_set_user(struct hwq_qp *qp, void *user)
{
	hwq_store_release(&qp->user, user);
}

/** @return what hwq_qp_set_user() said last. Any thread, while the QP exists. */
static inline void *
hwq_qp_user(struct hwq_qp *qp)
{
	return hwq_load_acquire(&qp->user);
}

/**
 * The size that a CQ needs for a QP: a flush makes a CQE for every WQE. Of QPs that share an SRQ and a CQ,
 * only the first needs entries for the SRQ. If conf->recv_cq is set, only sends are counted. Any thread.
 * @return number of CQ entries; add up those of all QPs for hwq_cq_create().
 */
HWQ_API uint32_t hwq_qp_cqe_needed(const struct hwq_qp_conf *conf);

/** The size that conf->recv_cq needs for the receives of a QP; conf->recv_cq itself is not read. Any thread.
 *  @return number of CQ entries, as hwq_qp_cqe_needed(). */
HWQ_API uint32_t hwq_qp_recv_cqe_needed(const struct hwq_qp_conf *conf);

/**
 * Creates a QP in state INIT (mlx5dv_create_qp(3)). Its completions go to cq, those of receives to
 * conf->recv_cq if that is set. The caller destroys it by hwq_qp_destroy(), before the CQs, conf->srq and
 * the domain.
 * @param conf read during the call.
 * @param qp written on success only.
 * @return 0; -EINVAL the configuration is beyond the device's limits, its fields do not fit the type, or
 *   conf->path is not possible;
 *   -ENOSPC a CQ has no room for a CQE of each WQE: create a larger CQ; -EOPNOTSUPP an operation that the
 *   type does not support, memcpy on a device without MMO, or the environment variable MLX5_QP_SIGNATURE
 *   is set: unset it; -ENOMEM; or the errno of the verbs call that failed. A log line says what is
 *   possible.
 */
HWQ_API int hwq_qp_create(struct hwq_domain *domain, struct hwq_cq *cq,
	const struct hwq_qp_conf *conf, struct hwq_qp **qp);

/**
 * Destroys a QP in any state, and drops its completions from the CQ.
 * @return 0; -EINVAL it is the caller's own QP: call hwq_obj_qp_release(); or the errno of
 *   ibv_destroy_qp(3) or ibv_dereg_mr(3): the rest is still there, call again.
 */
HWQ_API int hwq_qp_destroy(struct hwq_qp *qp);

#define HWQ_ADDR_VERSION 1

/** How a peer reaches a QP: plain bytes, which the caller carries to the peer by any means. All zeros are
 *  no address. */
struct hwq_addr {
	uint8_t version;       /**< HWQ_ADDR_VERSION */
	uint8_t link_layer;    /**< IBV_LINK_LAYER_* */
	uint8_t mtu;           /**< enum ibv_mtu */
	uint8_t has_gid;       /**< 1: gid is valid */
	uint8_t max_rd_atomic; /**< how many RDMA reads the QP serves at once */
	uint8_t reserved;
	__be16 lid;
	__be32 qpn;
	__be32 psn;
	uint8_t gid[16];
};

static_assert(sizeof(struct hwq_addr) == 32, "an exchanged record has no padding of its own");

/** Writes the address of qp for peers. It is valid until the QP is destroyed; a reset does not change it.
 *  For a caller's own QP (hwq_obj.h) all zeros are written, which are no address. */
HWQ_API void hwq_qp_addr(const struct hwq_qp *qp, struct hwq_addr *addr);

/**
 * INIT to RTS, connected to a peer (ibv_modify_qp(3)). Both ends must connect before one of them sends.
 * For types that have a peer: RC, UC, and XRC_SEND, whose peer is an XRC_RECV QP.
 * @param remote the peer's address, read during the call. It may be the QP's own.
 * @return 0; -EINVAL remote is no valid address, the QP is not in INIT, its type has no peer, or it is the
 *   caller's own QP (hwq_obj.h); -EPROTONOSUPPORT the peer is on another link layer, or its address has
 *   another version; or the errno of ibv_modify_qp(3): hwq_qp_reset(), then connect again.
 */
HWQ_API int hwq_qp_connect(struct hwq_qp *qp, const struct hwq_addr *remote);

/**
 * INIT to RTS (ibv_modify_qp(3)) for types without a peer: UD, DCI and RAW_PACKET. Each work request says
 * where it goes.
 * @return 0; -EINVAL the QP is not in INIT, its type has a peer, or it is the caller's own QP (hwq_obj.h);
 *   or the errno of ibv_modify_qp(3): hwq_qp_reset(), then call again.
 */
HWQ_API int hwq_qp_ready(struct hwq_qp *qp);

/**
 * Any state to INIT. The rings are empty then, and their indices are 0. All work requests that have not
 * completed are lost, and the QP's completions are dropped from the CQ: take those that you want before the
 * call. MMO stays enabled. hwq_qp_connect() or hwq_qp_ready() makes the QP usable again.
 * @return 0; -EINVAL it is the caller's own QP: call ibv_modify_qp(3), then hwq_obj_qp_sync(); or the errno
 *   of ibv_modify_qp(3): call again, or destroy the QP.
 */
HWQ_API int hwq_qp_reset(struct hwq_qp *qp);

/** Asks the device for the QP's state (ibv_query_qp(3)).
 *  @return an enum ibv_qp_state; or the errno of ibv_query_qp(3): call again. */
HWQ_API int hwq_qp_state(struct hwq_qp *qp);

/** Any state but RESET to ERR (ibv_modify_qp(3)): the device flushes all WQEs that have not completed, and
 *  makes a CQE for each. @return 0; or the errno of ibv_modify_qp(3): the state is as before. */
HWQ_API int hwq_qp_fail(struct hwq_qp *qp);

#endif
