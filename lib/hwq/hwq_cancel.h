/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A send queue that stands still: stop, cancel what is pending, go on
 * (mlx5dv_qp_cancel_posted_send_wrs(3)).
 *
 *     RTS --hwq_qp_stop, or a signature error--> SQD --hwq_qp_resume--> RTS
 *                                                 |
 *                                  hwq_qp_cancel_posted_send_wrs
 *
 * Thread: the owner of the queue's domain, and no other.
 */
#ifndef HWQ_CANCEL_H
#define HWQ_CANCEL_H

#include "hwq_qp.h"

/** RTS to SQD: what runs ends, what is behind it waits. What is posted now waits too.
 *  @return 0, or the errno of ibv_modify_qp(3). */
HWQ_API int hwq_qp_stop(struct hwq_qp *qp);

/** SQD to RTS: the queue goes on where it stopped. @return 0, or the errno of ibv_modify_qp(3). */
HWQ_API int hwq_qp_resume(struct hwq_qp *qp);

/**
 * Turns every pending work request of wr_id into a NOP, which completes with a good CQE if the work
 * request asked for one. Pending is what the device, asked for its own next index, has not begun.
 *
 * For queues that are posted to by hwq_wr.h: other builders keep no wr_ids, and theirs would be
 * compared with those of the ring's last lap. What counts is WQEs: a configuration of a key that
 * signs is up to three (hwq_wr_mkey.h). A NOP by hwq_wr_nop() counts like any other. NOPs that fill
 * the ring's end do not; nor does one of whole WQEBBs that looks like them: unsignalled, and up to
 * the ring's end.
 *
 * @return how many were cancelled; -EINVAL the QP is not in SQD, or not yet: it drains; or one of
 *   wr_id that pends was cancelled before: resume, or give what is posted while the queue stands
 *   still a wr_id of its own; -ENOMEM; or the errno of the device's answer. Nothing was cancelled
 *   then.
 */
HWQ_API int hwq_qp_cancel_posted_send_wrs(struct hwq_qp *qp, uint64_t wr_id);

#endif
