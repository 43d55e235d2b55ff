/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Stops a send queue, cancels pending work requests, and resumes the queue
 * (mlx5dv_qp_cancel_posted_send_wrs(3)).
 *
 *     RTS --hwq_qp_stop, or a signature error--> SQD --hwq_qp_resume--> RTS
 *                                                 |
 *                                  hwq_qp_cancel_posted_send_wrs, hwq_qp_cancel_wqes
 *
 * Thread: only the owner of the queue's domain calls the functions of this file.
 */
#ifndef HWQ_CANCEL_H
#define HWQ_CANCEL_H

#include "hwq_qp.h"

/**
 * Moves the QP from RTS to SQD: the device completes the WQEs that it has begun, and begins no
 * further WQE. WQEs that are posted in SQD are not run before the queue is resumed.
 *
 * @param qp
 *   The QP.
 * @return
 *   0 on success, otherwise:
 * @retval -errno The error of ibv_modify_qp(3). The state has not changed; hwq_qp_state() returns
 *   it.
 */
HWQ_API int hwq_qp_stop(struct hwq_qp *qp);

/**
 * Moves the QP from SQD to RTS: the send queue continues where it stopped.
 *
 * @param qp
 *   The QP.
 * @return
 *   0 on success, otherwise:
 * @retval -errno The error of ibv_modify_qp(3). The state has not changed; hwq_qp_state() returns
 *   it.
 */
HWQ_API int hwq_qp_resume(struct hwq_qp *qp);

/**
 * Turns every pending work request with this wr_id into a NOP. A signalled work request still makes
 * a CQE, without error. A work request is pending if the device has not begun it; hwq asks the
 * device for the index of its next WQE.
 *
 * Use this only for queues to which hwq_wr.h posts. Other builders store no wr_ids, so their WQEs
 * would be compared with wr_ids of the ring's previous lap.
 *
 * The result counts WQEs. A configuration of a key that signs has up to three WQEs (hwq_wr_mkey.h).
 * A NOP of hwq_wr_nop() counts. A NOP that fills the ring's end does not count, nor does a raw WQE
 * that looks like this NOP: an unsignalled NOP of whole WQEBBs up to the ring's end.
 *
 * @param qp
 *   The QP.
 * @param wr_id
 *   The wr_id of the work requests.
 * @return
 *   Number of cancelled WQEs, from 0; or a negative value, and no WQE was cancelled:
 * @retval -EINVAL The QP is not in SQD, or WQEs still run: call again later. Or a pending work
 *   request with this wr_id was cancelled before: resume the queue first, or post with another
 *   wr_id in SQD.
 * @retval -EPROTO
 *   The device's index is not the index of a posted WQE.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of the command QUERY_QP.
 */
HWQ_API int hwq_qp_cancel_posted_send_wrs(struct hwq_qp *qp, uint64_t wr_id);

/**
 * Cancels as hwq_qp_cancel_posted_send_wrs() does, but the caller gives the ring indices of the
 * WQEs. This is for queues that store no wr_ids. One query of the device serves all WQEs.
 *
 * @param qp
 *   The QP.
 * @param index The ring index of each WQE: sq->last after its builder. Each must be an index at
 *   which a WQE starts.
 * @param n
 *   Number of WQEs.
 * @param cancelled
 *   n values, written on success. True: the WQE is a NOP now, or was a NOP before. False: the
 *   device has begun the WQE, which completes as it was posted.
 * @return
 *   Number of values that are true, from 0; or a negative value, and no WQE was cancelled:
 * @retval -EINVAL
 *   The QP is not in SQD, or WQEs still run: call again later.
 * @retval -EPROTO
 *   The device's index is not the index of a posted WQE.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of the command QUERY_QP.
 */
HWQ_API int hwq_qp_cancel_wqes(struct hwq_qp *qp, const uint16_t *index, unsigned int n,
	bool *cancelled);

#endif
