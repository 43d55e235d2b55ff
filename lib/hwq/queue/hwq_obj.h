/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Verbs objects of the caller that hwq uses: hwq takes over their rings (mlx5dv_init_obj(3)).
 *
 *     struct ibv_cq *cq = ...; struct ibv_qp *qp = ...;    the caller makes and connects them
 *
 *     hwq_obj_cq(cq, &hcq);                                   hwq has the data path from here on
 *     hwq_obj_qp(&(struct hwq_obj_qp){.qp = qp, .send_cq = hcq, .recv_cq = hcq, ...}, &hqp);
 *     ... hwq_wr_start(&wr, &hqp->sq) ... hwq_rq_post_list(&hqp->rq, ...) ...
 *     hwq_obj_qp_release(hqp); hwq_obj_cq_release(hcq);       before the caller destroys them
 *
 * Let hwq take over objects while they are new: before the first post or poll. After that, do not
 * call ibv_post_*(), ibv_wr_*(), ibv_poll_cq(), ibv_start_poll(), ibv_resize_cq() or
 * ibv_req_notify_cq() for them, because the indices of libmlx5 are out of date. The caller changes
 * a QP's state: ibv_modify_qp(3), then hwq_obj_qp_sync().
 *
 * The caller owns the verbs object, which must outlive hwq's struct. hwq owns the struct until its
 * release function.
 *
 * Functions of hwq_qp.h that connect, reset or destroy queues are for queues that hwq created. For
 * a caller's own queue they return -EINVAL, and a log line says what to call instead. In the same
 * way, the release functions of this file refuse objects that hwq created. hwq_qp_state(),
 * hwq_qp_fail(), hwq_qp_stop(), hwq_qp_resume() and hwq_qp_cancel_posted_send_wrs() accept both
 * kinds of queues. For address handles see hwq_ah_from_verbs() in hwq_ah.h.
 *
 * hwq does not support CQEs of 128 bytes, compressed CQEs, data in CQEs (scatter to CQE) or signed
 * WQEs. It refuses such objects with -EOPNOTSUPP, and a log line says what the caller can do.
 *
 * Thread: a QP, its CQs, its SRQ and its doorbell register have one owner thread, like objects that
 * hwq created. Only the owner calls the functions of this file for them. Any thread may call
 * hwq_obj_pdn() and hwq_obj_dm().
 */
#ifndef HWQ_OBJ_H
#define HWQ_OBJ_H

#include "hwq_qp.h"
#include "hwq_srq.h"

struct ibv_dm;
struct ibv_pd;
struct ibv_wq;

/**
 * Reads the number of a protection domain, for keys and queues that the caller creates by firmware
 * commands (mlx5dv_devx_obj_create(3)). Any thread may call this function.
 *
 * @param pd
 *   The protection domain.
 * @param pdn
 *   24 bits; written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of mlx5dv_init_obj(3).
 */
HWQ_API int hwq_obj_pdn(struct ibv_pd *pd, uint32_t *pdn);

/** Device memory (ibv_alloc_dm(3)) as the CPU can access it. */
struct hwq_obj_dm {
	/** address for the CPU: copy with ibv_memcpy_to_dm(3), or aligned stores */
	void *addr;
	uint64_t len;       /**< bytes of the mapping */
	uint64_t remote_va; /**< address for the device, if the memory is not MEMIC; otherwise 0 */
};

/**
 * Reads where device memory is mapped. The mapping lasts until ibv_free_dm(3). Any thread may call
 * this function.
 *
 * @param dm
 *   The device memory.
 * @param out
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of mlx5dv_init_obj(3).
 */
HWQ_API int hwq_obj_dm(struct ibv_dm *dm, struct hwq_obj_dm *out);

/**
 * Takes over a CQ. hwq_obj_cq_release() gives it back. The caller gets the CQ's events by
 * ibv_get_cq_event(3), and then calls hwq_cq_event() and hwq_cq_arm() of hwq_event.h.
 *
 * @param ibcq The verbs object; the caller keeps owning it.
 * @param cq
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   The CQ has been polled already: create a new one.
 * @retval -EOPNOTSUPP
 *   The CQEs have 128 bytes or are compressed.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of mlx5dv_init_obj(3) or of the command QUERY_CQ.
 */
HWQ_API int hwq_obj_cq(struct ibv_cq *ibcq, struct hwq_cq **cq);

/**
 * Gives a CQ back: frees hwq's structure. Call it before the caller destroys the ibv_cq. After an
 * error nothing has changed.
 *
 * @param cq
 *   The CQ.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   Queues use the CQ: release them first.
 * @retval -EINVAL
 *   hwq created the CQ: call hwq_cq_destroy().
 */
HWQ_API int hwq_obj_cq_release(struct hwq_cq *cq);

/** A QP to take over, with properties that mlx5dv_init_obj(3) does not report. */
struct hwq_obj_qp {
	struct ibv_qp *qp;      /**< the verbs object; the caller keeps owning it */
	struct hwq_cq *send_cq; /**< the QP's send CQ; NULL if the QP has no send queue */
	struct hwq_cq *recv_cq; /**< the QP's receive CQ; NULL if the QP receives nothing */
	struct hwq_srq *srq;    /**< the QP's SRQ; NULL: none */
	bool sq_sig_all;        /**< value of sq_sig_all when the QP was created */
	uint32_t max_sge;       /**< value of cap.max_send_sge when the QP was created */
	/** the cap.max_inline_data that the creation returned, in bytes */
	uint32_t max_inline;
	/** RAW_PACKET: value of max_tso_header when the QP was created, in bytes */
	uint16_t max_tso_header;
	bool ip_csum; /**< RAW_PACKET: the port computes checksums */
	/**
	 * Only for a QP in a parent domain with a thread domain (ibv_alloc_td(3)): the state of the
	 * thread domain's doorbell register. The caller owns the storage, zeroes it before the
	 * first QP, and passes the same storage for all QPs of the thread domain. Doorbells then
	 * alternate between the register's halves, and BlueFlame is used. NULL: other code, for
	 * example libmlx5, may write the register. Every doorbell is then one store of 8 bytes at
	 * the same address.
	 */
	struct hwq_bf *bf;
	/**
	 * For memcpy: the address of 64 bytes that the device may write. No other queue may use
	 * these bytes.
	 */
	uint64_t mmo_addr;
	uint32_t mmo_lkey;       /**< for memcpy: the key of these 64 bytes */
	uint64_t max_memcpy_len; /**< longest memcpy, bytes: mlx5dv_query_device(3); 0: no memcpy */
};

/**
 * Takes over a QP. hwq_obj_qp_release() gives it back.
 *
 * The QP's type is RC, UC, UD, XRC_SEND, DCI or RAW_PACKET. It was created by ibv_create_qp(3),
 * ibv_create_qp_ex(3) or mlx5dv_create_qp(3). A RAW_PACKET QP must come from ibv_create_qp_ex(3) or
 * mlx5dv_create_qp(3), with send_ops_flags.
 *
 * The send CQ needs a free entry for each WQEBB of the send ring. The receive CQ needs a free entry
 * for each entry of the receive ring and of obj->srq. If the send CQ is also the receive CQ, it
 * needs the sum. If QPs share an SRQ and a receive CQ, only the first QP needs entries for the SRQ.
 *
 * With MLX5DV_QP_CREATE_OOO_DP (mlx5dv_create_qp(3)) the device may use a later receive first, and
 * libmlx5 makes the ring twice as long. mlx5dv_init_obj(3) does not report this flag: the caller
 * keeps at most half of the entries posted.
 *
 * @param obj The QP and its properties; read during the call. obj->bf must last as long as the QP.
 * @param qp
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   Work requests were posted to the QP already: create a new one.
 * @retval -EINVAL A queue has no CQ in obj, the sizes are larger than hwq supports, or obj->bf is
 *   of another register.
 * @retval -ENOSPC
 *   A CQ has no room for all CQEs that the QP may have in it at once: create a larger CQ.
 * @retval -EOPNOTSUPP
 *   The QP's WQEs are signed, its CQEs contain data, its type is not listed above, or it is a
 *   RAW_PACKET QP without ibv_wr_*().
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of mlx5dv_init_obj(3), of ibv_query_qp(3) or of the command QUERY_QP.
 */
HWQ_API int hwq_obj_qp(const struct hwq_obj_qp *obj, struct hwq_qp **qp);

/**
 * Gives a QP back: frees hwq's structure. The QP's completions stay in the CQs until they are
 * polled. A QP that hwq created does not change; a log line says to call hwq_qp_destroy().
 *
 * @param qp
 *   The QP.
 */
HWQ_API void hwq_obj_qp_release(struct hwq_qp *qp);

/**
 * Asks the device for the QP's state. Call it after each ibv_modify_qp(3). If the state is RESET,
 * it empties the rings, sets their indices to 0, and drops the QP's completions from the CQs.
 * hwq_wr_complete() returns -EINVAL until this function has found RTS.
 *
 * @param qp
 *   The QP.
 * @return
 *   The state, an enum ibv_qp_state; or a negative value:
 * @retval -errno
 *   The error of ibv_query_qp(3): call again.
 */
HWQ_API int hwq_obj_qp_sync(struct hwq_qp *qp);

/**
 * Takes over an SRQ. hwq_obj_srq_release() gives it back.
 *
 * @param ibsrq The verbs object; the caller keeps owning it.
 * @param cq
 *   XRC SRQ: the CQ with which it was created; otherwise NULL.
 * @param srq
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   Entries were posted to the SRQ already: create a new one.
 * @retval -ENOSPC
 *   cq has fewer free entries than the SRQ has entries: create a larger CQ.
 * @retval -EOPNOTSUPP
 *   The environment variable MLX5_SRQ_SIGNATURE is set: unset it.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of mlx5dv_init_obj(3).
 */
HWQ_API int hwq_obj_srq(struct ibv_srq *ibsrq, struct hwq_cq *cq, struct hwq_srq **srq);

/**
 * Gives an SRQ back: frees hwq's structure. After an error nothing has changed.
 *
 * @param srq
 *   The SRQ.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   QPs receive from the SRQ: release them first.
 * @retval -EINVAL
 *   hwq created the SRQ: call hwq_srq_destroy().
 */
HWQ_API int hwq_obj_srq_release(struct hwq_srq *srq);

/** A receive work queue (ibv_create_wq(3)) that hwq uses. */
struct hwq_obj_rwq {
	/** the queue's ring, for hwq_rq_post_list(), hwq_rq_ring(), hwq_rq_poll() */
	struct hwq_rq rq;
	struct ibv_wq *wq; /**< the verbs object */
};

/**
 * Takes over a receive work queue. hwq_obj_rwq_release() gives it back.
 *
 * @param wq The verbs object; the caller keeps owning it.
 * @param cq
 *   The queue's CQ, which must not be used by other receive queues.
 * @param rwq
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   Entries were posted to the queue already: create a new one.
 * @retval -ENOSPC
 *   cq has fewer free entries than the queue has entries: create a larger CQ.
 * @retval -EOPNOTSUPP
 *   The environment variable MLX5_RWQ_SIGNATURE is set: unset it.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of mlx5dv_init_obj(3).
 */
HWQ_API int hwq_obj_rwq(struct ibv_wq *wq, struct hwq_cq *cq, struct hwq_obj_rwq **rwq);

/**
 * Gives a receive work queue back: frees hwq's structure. Its completions stay in the CQ.
 *
 * @param rwq
 *   The receive work queue.
 */
HWQ_API void hwq_obj_rwq_release(struct hwq_obj_rwq *rwq);

#endif
