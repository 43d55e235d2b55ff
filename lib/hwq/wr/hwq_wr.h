/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Work requests in batches, with the names and the meaning of ibv_wr_post(3) and mlx5dv_wr_post(3).
 *
 *     struct hwq_wr wr;
 *
 *     hwq_wr_start(&wr, sq);                        RC, UC; for UD hwq_wr_start_ud(), ...
 *     wr.wr_id = 1;                                 for the next builder; its CQE returns it
 *     wr.wr_flags = HWQ_WQE_SIGNALED;
 *     hwq_wr_rdma_write(&wr, rkey, raddr);          a builder, then
 *     hwq_wr_set_sge(&wr, lkey, addr, len);         and its data setter, if the builder needs data
 *     ...
 *     ret = hwq_wr_complete(&wr);                   0: all is posted, with one doorbell
 *                                                   -errno: nothing is posted
 *
 *     n = hwq_wr_poll(sq, wr_id, N)                 good completions; failed: see hwq_poll.h
 *
 * Builders and setters return nothing. hwq_wr_complete() returns the first error of the batch:
 *
 *     -ENOMEM  the ring is full: poll, complete, post the batch again. Or a setter got more data
 *              segments or inline bytes than the QP was created for.
 *     -EINVAL  as in libmlx5: a memcpy has a length that is not possible, the port cannot compute
 *              IP_CSUM, headers are too short or too long, or the QP is not in RTS yet. Beyond
 *              libmlx5: a setter is missing, or is one too many; DS of a raw WQE is 0; the start
 *              function is for another type of QP.
 *
 * Until hwq_wr_complete(), the batch is only in the handle: the queue's indices, its doorbell
 * record and the device do not change. hwq_wr_abort(), or an error, discards the batch. Between
 * start and complete (or abort), no other builder of the queue may run; this includes the builders
 * of hwq_wqe.h and hwq_burst.h.
 *
 * Declare the handle on the stack, and do not store its address: only then can the compiler keep
 * its fields in registers.
 *
 * Files: hwq_wr_batch.h start, complete and abort; hwq_wr_ops.h builders; hwq_wr_set.h data
 * setters; hwq_wr_addr.h address setters of UD, XRC and DC; hwq_wr_eth.h raw packets. This header
 * includes all these files. Programs that change keys include hwq_wr_umr.h or hwq_wr_mkey.h
 * themselves.
 *
 * The caller chooses the operations when it creates the QP (hwq_qp_conf.send_ops). Operations that
 * the device does not have are refused there.
 *
 * Thread: only the owner of the queue's domain calls these functions.
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
