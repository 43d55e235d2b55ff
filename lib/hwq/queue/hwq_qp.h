/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Queue pairs: creation, connection, states. For their data path see hwq_sq.h and hwq_rq.h.
 *
 * libmlx5 creates the queues, then hwq owns their indices. Never pass hwq's QPs or CQs to
 * ibv_post_send(), ibv_post_recv(), ibv_wr_*(), ibv_poll_cq(), ibv_resize_cq() or
 * ibv_req_notify_cq(), because the indices of libmlx5 are out of date.
 *
 *     RESET --hwq_qp_create--> INIT --hwq_qp_connect--> RTS --an operation fails--> ERR
 *                                ^   or hwq_qp_ready                                 |
 *                                `------------------ hwq_qp_reset <------------------'
 *
 * Threads: the rules of hwq_dev.h apply. hwq_qp_reset() and hwq_qp_destroy() change the CQ. Only
 * the domain's owner thread calls these two functions, or another thread while the owner does not
 * use the domain.
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

/** Types of queue pairs, with their names in verbs (ibv_create_qp_ex(3), mlx5dv_create_qp(3)). */
enum hwq_qp_type {
	HWQ_QP_RC,         /**< IBV_QPT_RC */
	HWQ_QP_UC,         /**< IBV_QPT_UC */
	HWQ_QP_UD,         /**< IBV_QPT_UD */
	HWQ_QP_XRC_SEND,   /**< IBV_QPT_XRC_SEND */
	HWQ_QP_DCI,        /**< IBV_QPT_DRIVER, MLX5DV_DCTYPE_DCI */
	HWQ_QP_RAW_PACKET, /**< IBV_QPT_RAW_PACKET: Ethernet frames */
};

/**
 * Configuration of a QP. If only sq_wr is set, it is an RC QP for WQEs of one WQEBB, without
 * memcpy.
 */
struct hwq_qp_conf {
	enum hwq_qp_type type; /**< type of the QP */
	/** number of the longest send WQEs that the queue must hold at once, at least 1 */
	uint32_t sq_wr;
	uint32_t max_inline; /**< bytes of inline data of one WQE */
	uint32_t max_sge;    /**< data segments of one WQE; 0 means 1 */
	bool sq_sig_all;     /**< every WQE makes a CQE, with or without HWQ_WQE_SIGNALED */
	/**
	 * The send queue stops at a wrong signature (MLX5DV_QP_CREATE_SIG_PIPELINING of
	 * mlx5dv_create_qp(3)): see hwq_cancel.h. Refused with -EOPNOTSUPP if the kernel cannot
	 * resume a queue in SQD, and for types other than RC.
	 */
	bool sig_pipelining;
	bool mmo; /**< allow memcpy WQEs; refused with -EOPNOTSUPP if caps.max_memcpy_len is 0 */
	/** number of receive work requests that the queue must hold at once; 0: no receive queue */
	uint32_t rq_wr;
	uint32_t rq_sge; /**< data segments of one receive; 0 means 1 */
	/** SRQ from which the QP receives; rq_wr must then be 0. NULL: none */
	struct hwq_srq *srq;
	/** The CQ of the receives, in the same domain; NULL: the CQ of the sends. */
	struct hwq_cq *recv_cq;
	/**
	 * The operations that the caller will post, IBV_QP_EX_WITH_* of ibv_create_qp_ex(3). 0:
	 * SEND, RDMA write and RDMA read, if the type supports them. Refused with -EOPNOTSUPP: an
	 * operation that the type does not support, or an unknown bit. NOP and raw WQEs need no
	 * bit.
	 */
	uint64_t send_ops;
	uint64_t mlx5_ops;       /**< as send_ops, but MLX5DV_QP_EX_WITH_*; mmo adds memcpy */
	uint32_t qkey;           /**< UD: datagrams to the QP must have this qkey */
	uint16_t max_tso_header; /**< RAW_PACKET: bytes of headers in one TSO WQE; 0: no TSO */
	/** DCI: WQEs belong to streams; a failed WQE stops only its stream. */
	bool dci_streams;
	uint8_t log_dci_streams; /**< log2 of the number of streams that may run at once */
	/** log2 of the number of streams that may fail before the QP fails */
	uint8_t log_dci_errored;
	struct hwq_path path; /**< port, timeouts and retries */
};

/** A queue pair. Only hwq writes this struct. */
struct hwq_qp {
	struct hwq_sq sq; /**< the send queue */
	struct hwq_rq rq; /**< the receive queue; buf is NULL if there is no receive queue */

	/** The QP's doorbell register, if the domain has no register of its own. */
	struct hwq_bf bf;

	/* Fields of the control path. */
	HWQ_ON_LINE void *user;         /**< pointer that hwq_qp_set_user() stored */
	uint32_t qpn;                   /**< number of the QP */
	uint32_t psn;                   /**< first packet sequence number of the QP's requests */
	uint32_t qkey;                  /**< UD: datagrams to the QP must have this qkey */
	uint32_t n_cqe;                 /**< number of CQEs of sends that cq may hold at once */
	struct hwq_cq *cq;              /**< the CQ of sends; rq.cq is the CQ of receives */
	struct hwq_srq *srq;            /**< SRQ from which the QP receives; NULL: none */
	struct hwq_domain *domain;      /**< the domain */
	struct hwq_path path;           /**< as configured */
	struct hwq_dev_port port;       /**< port and GID of the path */
	const struct hwq_qp_info *info; /**< properties of the QP's type */
	struct ibv_qp *qp;              /**< the verbs object */
	/** registration of the device's scratch memory for memcpy, if mmo was set */
	struct hwq_mr opaque;
	void *opaque_buf; /**< memory of opaque */
	/** mark of each WQEBB of a cancelled WQE; NULL: no WQE was cancelled yet */
	uint32_t *cancelled;
};

static_assert(offsetof(struct hwq_qp, user) % HWQ_LINE_LEN == 0,
	"the owner's and others' fields share no line");

/**
 * Stores a pointer of the caller with the QP, for the thread that takes events (hwq_async.h).
 * @param qp The QP.
 * @param user Any pointer; NULL at first.
 */
static inline void
hwq_qp_set_user(struct hwq_qp *qp, void *user)
{
	hwq_store_release(&qp->user, user);
}

/**
 * Returns the pointer that hwq_qp_set_user() stored last. Any thread may call this function while
 * the QP exists.
 * @param qp The QP.
 * @return The pointer.
 */
static inline void *
hwq_qp_user(struct hwq_qp *qp)
{
	return hwq_load_acquire(&qp->user);
}

/**
 * Returns how many entries of a CQ a QP needs. (A flush makes a CQE for every WQE.) If QPs share an
 * SRQ and a CQ, only the first QP needs entries for the SRQ. If conf->recv_cq is set, only sends
 * are counted. Any thread may call this function.
 *
 * @param conf
 *   The configuration; read during the call.
 * @return
 *   Number of entries; hwq_cq_create() takes the sum over all QPs of the CQ.
 */
HWQ_API uint32_t hwq_qp_cqe_needed(const struct hwq_qp_conf *conf);

/**
 * Returns how many entries of a separate receive CQ the receives of a QP need. conf->recv_cq is not
 * read. Any thread may call this function.
 *
 * @param conf
 *   The configuration; read during the call.
 * @return
 *   Number of entries, as for hwq_qp_cqe_needed().
 */
HWQ_API uint32_t hwq_qp_recv_cqe_needed(const struct hwq_qp_conf *conf);

/**
 * Creates a QP in state INIT (mlx5dv_create_qp(3)). The caller destroys it by hwq_qp_destroy(),
 * before the CQs, conf->srq and the domain.
 *
 * @param domain
 *   The domain, whose owner thread will own the new object.
 * @param cq The CQ of the QP's completions. If conf->recv_cq is set, receives complete in
 *   conf->recv_cq instead.
 * @param conf
 *   Read during the call.
 * @param qp
 *   Written on success only.
 * @return 0 on success. Otherwise a log line says what the caller can do:
 * @retval -EINVAL
 *   The configuration is beyond the device's limits, a field contradicts the type, or conf->path is
 *   not possible.
 * @retval -ENOSPC
 *   A CQ has fewer free entries than the QP may need: create a larger CQ.
 * @retval -EOPNOTSUPP
 *   The type does not support an operation, the device has no MMO for memcpy, or the environment
 *   variable MLX5_QP_SIGNATURE is set: unset it.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of the verbs call that failed.
 */
HWQ_API int hwq_qp_create(struct hwq_domain *domain, struct hwq_cq *cq,
	const struct hwq_qp_conf *conf, struct hwq_qp **qp);

/**
 * Destroys a QP in any state, and drops its completions from the CQ.
 *
 * @param qp
 *   The QP.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   It is the caller's own QP: call hwq_obj_qp_release() instead.
 * @retval -errno The error of ibv_destroy_qp(3) or ibv_dereg_mr(3): the QP still exists, call
 *   again.
 */
HWQ_API int hwq_qp_destroy(struct hwq_qp *qp);

#define HWQ_ADDR_VERSION 1 /**< version of the layout of struct hwq_addr */

/**
 * The address of a QP for peers: plain bytes, which the caller sends to the peer by any means. All
 * zeros are no address.
 */
struct hwq_addr {
	uint8_t version;       /**< HWQ_ADDR_VERSION */
	uint8_t link_layer;    /**< IBV_LINK_LAYER_* */
	uint8_t mtu;           /**< enum ibv_mtu */
	uint8_t has_gid;       /**< 1: gid is valid */
	uint8_t max_rd_atomic; /**< number of RDMA reads and atomics that the QP serves at once */
	uint8_t reserved;      /**< 0 */
	__be16 lid;            /**< InfiniBand: LID of the port */
	__be32 qpn;            /**< number of the QP, or of the DC target */
	__be32 psn;            /**< first packet sequence number of its requests */
	uint8_t gid[16];       /**< GID of the port */
};

static_assert(sizeof(struct hwq_addr) == 32, "an exchanged record has no padding of its own");

/**
 * Writes the address of a QP for peers. It is valid until the QP is destroyed; a reset does not
 * change it. For a caller's own QP (hwq_obj.h) it writes zeros, which are no address.
 *
 * @param qp
 *   The QP.
 * @param addr
 *   The address; written.
 */
HWQ_API void hwq_qp_addr(const struct hwq_qp *qp, struct hwq_addr *addr);

/**
 * Moves the QP from INIT to RTS, connected to a peer (ibv_modify_qp(3)). Both ends must connect
 * before either end sends. Only for types that have a peer: RC, UC, and XRC_SEND, whose peer is an
 * XRC_RECV QP.
 *
 * @param qp
 *   The QP.
 * @param remote
 *   The peer's address, read during the call. It may be the QP's own address.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   remote is no valid address, the QP is not in INIT, its type has no peer, or it is the caller's
 *   own QP (hwq_obj.h).
 * @retval -EPROTONOSUPPORT
 *   The peer has another link layer, or its address has another version.
 * @retval -errno
 *   The error of ibv_modify_qp(3): call hwq_qp_reset(), then connect again.
 */
HWQ_API int hwq_qp_connect(struct hwq_qp *qp, const struct hwq_addr *remote);

/**
 * Moves the QP from INIT to RTS (ibv_modify_qp(3)). Only for types without a peer: UD, DCI and
 * RAW_PACKET, whose work requests each give their destination.
 *
 * @param qp
 *   The QP.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   The QP is not in INIT, its type has a peer, or it is the caller's own QP (hwq_obj.h).
 * @retval -errno
 *   The error of ibv_modify_qp(3): call hwq_qp_reset(), then call again.
 */
HWQ_API int hwq_qp_ready(struct hwq_qp *qp);

/**
 * Moves the QP from any state to INIT. Empties the rings and sets their indices to 0. Work requests
 * that have not completed are lost. The QP's completions are dropped from the CQ: to get them, poll
 * the CQ before the call. MMO stays enabled. hwq_qp_connect() or hwq_qp_ready() makes the QP usable
 * again.
 *
 * @param qp
 *   The QP.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   It is the caller's own QP: call ibv_modify_qp(3), then hwq_obj_qp_sync().
 * @retval -errno
 *   The error of ibv_modify_qp(3): call again, or destroy the QP.
 */
HWQ_API int hwq_qp_reset(struct hwq_qp *qp);

/**
 * Asks the device for the QP's state (ibv_query_qp(3)).
 *
 * @param qp
 *   The QP.
 * @return
 *   An enum ibv_qp_state; or a negative value:
 * @retval -errno
 *   The error of ibv_query_qp(3): call again.
 */
HWQ_API int hwq_qp_state(struct hwq_qp *qp);

/**
 * Moves the QP from any state but RESET to ERR (ibv_modify_qp(3)): the device flushes all WQEs that
 * have not completed, and makes a CQE for each.
 *
 * @param qp
 *   The QP.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of ibv_modify_qp(3): the state has not changed.
 */
HWQ_API int hwq_qp_fail(struct hwq_qp *qp);

#endif
