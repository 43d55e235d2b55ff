/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Work requests in batches, by the names and the meaning of ibv_wr_post(3) and mlx5dv_wr_post(3).
 *
 *     struct hwq_wr wr;
 *
 *     hwq_wr_start(&wr, sq);                        RC and UC; hwq_wr_start_ud() and others
 *     wr.wr_id = 1;                                 of the next builder; comes back with its CQE
 *     wr.wr_flags = HWQ_WQE_SIGNALED;
 *     hwq_wr_rdma_write(&wr, rkey, raddr);          a builder, then
 *     hwq_wr_set_sge(&wr, lkey, addr, len);         the data setter, where it takes data
 *     ...
 *     ret = hwq_wr_complete(&wr);                   0: all of it is posted, one doorbell
 *                                                   -errno: nothing of it is
 *
 *     n = hwq_wr_poll(sq, wr_id, N)                 good completions; see there for the others
 *
 * Builders and setters return nothing. The first error sticks, and comes out of hwq_wr_complete():
 *   -ENOMEM  the ring is full: poll, complete, post the batch again. Or a setter got more data
 *            segments or inline bytes than the QP was created for.
 *   -EINVAL  the length of a memcpy, IP_CSUM that the port cannot compute, headers too short or
 *            too long, or the QP is not in RTS yet; as with libmlx5. Also what libmlx5 does not
 *            notice: a builder without its setters, a setter too many, a raw WQE whose DS is 0, a
 *            start for another type of QP.
 *
 * Until hwq_wr_complete() the batch is in the handle: the queue's indices, its doorbell record and
 * the device do not change. hwq_wr_abort(), or an error, discards it. No other builder of the queue
 * may run between start and complete or abort, those of hwq_wqe.h and hwq_burst.h included.
 *
 * Declare the handle on the stack, and do not store its address: after inlining it lives in
 * registers.
 *
 * Files: hwq_wr_batch.h start, complete and abort; hwq_wr_ops.h builders; hwq_wr_set.h data
 * setters; hwq_wr_addr.h address setters of UD, XRC and DC; hwq_wr_eth.h raw packets. This one
 * includes them all. hwq_wr_umr.h and hwq_wr_mkey.h, which change keys, are included by those who
 * use them.
 *
 * An operation that the QP was not created for is refused at creation: see hwq_qp_conf.send_ops.
 *
 * Thread: the owner of the queue's domain, and no other.
 */
#ifndef HWQ_WR_H
#define HWQ_WR_H

#include "hwq_poll.h"
#include "hwq_wr_addr.h"
#include "hwq_wr_batch.h"
#include "hwq_wr_eth.h"
#include "hwq_wr_ops.h"
#include "hwq_wr_set.h"

#endif
