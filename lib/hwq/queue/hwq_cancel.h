/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Stopping a send queue, cancelling pending work requests, and going on
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
 * RTS to SQD: the device ends the WQEs that it has begun, and begins no other. WQEs that are posted from
 * now on wait.
 * @return 0; or the errno of ibv_modify_qp(3): the state is as before; hwq_qp_state() shows it.
 */
HWQ_API int hwq_qp_stop(struct hwq_qp *qp);

/**
 * SQD to RTS: the queue goes on where it stopped.
 * @return 0; or the errno of ibv_modify_qp(3): the state is as before; hwq_qp_state() shows it.
 */
HWQ_API int hwq_qp_resume(struct hwq_qp *qp);

/**
 * Turns every pending work request of a wr_id into a NOP. The NOP completes with a good CQE if the work
 * request asked for a CQE. A work request is pending if the device has not begun it; the device is asked
 * for the index of its next WQE.
 *
 * Only for queues that are posted to by hwq_wr.h. Other builders keep no wr_ids: their WQEs would be
 * judged by wr_ids of the ring's last lap.
 *
 * The count is one of WQEs. A configuration of a key that signs is up to three WQEs (hwq_wr_mkey.h). A
 * NOP of hwq_wr_nop() counts too. A NOP that fills the ring's end does not count. Neither does a raw WQE
 * that looks the same: an unsignalled NOP of whole WQEBBs up to the ring's end.
 *
 * @return how many WQEs were cancelled; or, and nothing was cancelled then:
 *   -EINVAL the QP is not in SQD, or WQEs still run: call again later. Or a pending work request of wr_id
 *   was cancelled before: resume the queue first, or use another wr_id for what is posted in SQD;
 *   -EPROTO the device's index is not one that was posted; -ENOMEM; or the errno of the command QUERY_QP.
 */
HWQ_API int hwq_qp_cancel_posted_send_wrs(struct hwq_qp *qp, uint64_t wr_id);

/**
 * The same for WQEs that are named by where they start in the ring, for queues that keep no wr_ids. The device is
 * asked once for all of them.
 * @param index where each WQE starts: sq->last after its builder. Indices that no WQE starts at must not be given.
 * @param cancelled written on success: n values. True: the WQE is a NOP now, or was one. False: the device has begun
 *   it, and it completes as it was posted.
 * @return how many are true; or, and nothing was cancelled then: -EINVAL the QP is not in SQD, or WQEs still run:
 *   call again later; -EPROTO, -ENOMEM or the errno of QUERY_QP, as above.
 */
HWQ_API int hwq_qp_cancel_wqes(struct hwq_qp *qp, const uint16_t *index, unsigned int n,
	bool *cancelled);

#endif
