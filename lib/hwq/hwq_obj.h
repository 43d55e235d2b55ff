/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A caller's own verbs objects, driven by hwq: what mlx5dv_init_obj(3) shows of them, as hwq's queues.
 *
 *     struct ibv_cq *cq = ...; struct ibv_qp *qp = ...;       made, connected, destroyed by the caller
 *
 *     hwq_obj_cq(cq, &hcq);                                   from here on the data path is hwq's
 *     hwq_obj_qp(&(struct hwq_obj_qp){.qp = qp, .send_cq = hcq, .recv_cq = hcq, ...}, &hqp);
 *     ... hwq_wr_start(&wr, &hqp->sq) ... hwq_rq_post_list(&hqp->rq, ...) ...
 *     hwq_obj_qp_release(hqp); hwq_obj_cq_release(hcq);       before the caller destroys them
 *
 * Take objects over while they are new: before anything is posted to them or polled from them. From
 * then on ibv_post_*(), ibv_wr_*(), ibv_poll_cq(), ibv_start_poll(), ibv_resize_cq() and
 * ibv_req_notify_cq() must not be called on them: libmlx5's own indices are stale. States are the
 * caller's: ibv_modify_qp(3), then hwq_obj_qp_sync().
 *
 * Functions of hwq_qp.h that connect, reset or destroy queues are for hwq's own: they refuse these
 * with -EINVAL and a log line that says what to call instead. So do those that release, here, of
 * hwq's own (hwq_obj_qp_release() does not change it). hwq_qp_state(),
 * hwq_qp_fail(), hwq_qp_stop(), hwq_qp_resume() and hwq_qp_cancel_posted_send_wrs() take any.
 * hwq_ah_from_verbs() of hwq_ah.h takes over address handles.
 *
 * What hwq does not drive is refused with -EOPNOTSUPP and a log line that says what to do: CQEs of 128
 * bytes, compressed ones, data in CQEs (scatter to CQE), signed WQEs.
 *
 * Thread: one owner thread for a QP, its CQs, its SRQ and its doorbell register, as for hwq's own.
 */
#ifndef HWQ_OBJ_H
#define HWQ_OBJ_H

#include "hwq_qp.h"
#include "hwq_srq.h"

struct ibv_dm;
struct ibv_pd;
struct ibv_wq;

/** @return 0, and the number of a protection domain, as keys and queues made by commands carry it;
 *  or the errno of mlx5dv_init_obj(3). */
HWQ_API int hwq_obj_pdn(struct ibv_pd *pd, uint32_t *pdn);

/** Device memory as the CPU reaches it. */
struct hwq_obj_dm {
	void *addr;         /**< mapped here; copy with ibv_memcpy_to_dm(3), or aligned stores */
	uint64_t len;       /**< bytes of the mapping */
	uint64_t remote_va; /**< of memory of another kind than MEMIC; 0 otherwise */
};

/** @return 0; or the errno of mlx5dv_init_obj(3). */
HWQ_API int hwq_obj_dm(struct ibv_dm *dm, struct hwq_obj_dm *out);

/**
 * Takes a CQ over. hwq_obj_cq_release() ends it; the ibv_cq stays the caller's. Events: the caller
 * gets them by ibv_get_cq_event(3), then calls hwq_cq_event() and hwq_cq_arm().
 * @return 0; -EBUSY it has been polled already; -EOPNOTSUPP CQEs of 128 bytes, or compressed;
 *   -ENOMEM; or the errno of mlx5dv_init_obj(3) or of QUERY_CQ.
 */
HWQ_API int hwq_obj_cq(struct ibv_cq *ibcq, struct hwq_cq **cq);
/** @return 0; -EBUSY while queues of hwq's are on it; -EINVAL it is hwq's own. */
HWQ_API int hwq_obj_cq_release(struct hwq_cq *cq);

/** What a caller knows of a QP, and mlx5dv_init_obj(3) does not tell. */
struct hwq_obj_qp {
	struct ibv_qp *qp;
	struct hwq_cq *send_cq;  /**< the QP's; NULL if it has no send queue */
	struct hwq_cq *recv_cq;  /**< the QP's; NULL if it has no receive queue of its own */
	struct hwq_srq *srq;     /**< the QP's; NULL: none */
	bool sq_sig_all;         /**< as it was created */
	uint32_t max_sge;        /**< cap.max_send_sge that it was created with */
	uint32_t max_inline;     /**< cap.max_inline_data that creating it returned */
	uint16_t max_tso_header; /**< RAW_PACKET: as it was created */
	bool ip_csum;            /**< RAW_PACKET: the port computes checksums */
	/**
	 * The doorbell register of a thread domain (ibv_alloc_td(3)), if the QP was created in a parent
	 * domain of one: storage of the caller's, zeroed before the first QP, the same for all QPs of
	 * the thread domain. It alternates its halves and carries BlueFlame. NULL: the register may
	 * have other writers, libmlx5 among them; doorbells of 8 bytes at one place then.
	 */
	struct hwq_bf *bf;
	/** For memcpy: 64 bytes that the device may write, which no other queue uses, and their key. */
	uint64_t mmo_addr;
	uint32_t mmo_lkey;
	uint64_t max_memcpy_len; /**< of mlx5dv_query_device(3); 0: no memcpy */
};

/**
 * Takes a QP over: RC, UC, UD, XRC_SEND, DCI, RAW_PACKET; made by ibv_create_qp(3), ibv_create_qp_ex(3)
 * or mlx5dv_create_qp(3); RAW_PACKET by one of the last two, with send_ops_flags.
 * hwq_obj_qp_release() ends it; the ibv_qp stays the caller's.
 * @return 0; -EBUSY it has been posted to already; -EINVAL a queue without its CQ, or what is stated
 *   cannot be (bf is another register's); -ENOSPC a CQ has no room for a CQE of each of its WQEs: make
 *   it larger; -EOPNOTSUPP signed WQEs, data in CQEs, a type that is not listed, RAW_PACKET
 *   without ibv_wr_*(); -ENOMEM; or the errno of mlx5dv_init_obj(3), ibv_query_qp(3) or QUERY_QP.
 */
HWQ_API int hwq_obj_qp(const struct hwq_obj_qp *obj, struct hwq_qp **qp);
/** Forgets it. What is in its CQs stays there: to be polled, or dropped with the CQ. */
HWQ_API void hwq_obj_qp_release(struct hwq_qp *qp);

/**
 * To be called after each change of the QP's state, RESET above all. In RESET its indices start anew
 * and its completions are dropped from the CQs; only from RTS on hwq_wr_complete() posts.
 * @return the state, an enum ibv_qp_state; or the errno of ibv_query_qp(3).
 */
HWQ_API int hwq_obj_qp_sync(struct hwq_qp *qp);

/** Takes an SRQ over. cq: of an XRC SRQ, the CQ it was created with; else NULL.
 *  @return 0; -EBUSY it has been posted to already; -ENOSPC; -EOPNOTSUPP MLX5_SRQ_SIGNATURE is set;
 *   -ENOMEM; or the errno of mlx5dv_init_obj(3). */
HWQ_API int hwq_obj_srq(struct ibv_srq *ibsrq, struct hwq_cq *cq, struct hwq_srq **srq);
/** @return 0; -EBUSY while QPs of hwq's use it; -EINVAL it is hwq's own. */
HWQ_API int hwq_obj_srq_release(struct hwq_srq *srq);

/** A receive work queue (ibv_create_wq(3)). */
struct hwq_obj_rwq {
	struct hwq_rq rq; /**< every receive on its CQ is its */
	struct ibv_wq *wq;
};

/** Takes one over, whose CQ has no other receives.
 *  @return 0; -EBUSY; -ENOSPC; -EOPNOTSUPP MLX5_RWQ_SIGNATURE is set; -ENOMEM; or the errno of
 *   mlx5dv_init_obj(3). */
HWQ_API int hwq_obj_rwq(struct ibv_wq *wq, struct hwq_cq *cq, struct hwq_obj_rwq **rwq);
HWQ_API void hwq_obj_rwq_release(struct hwq_obj_rwq *rwq);

#endif
