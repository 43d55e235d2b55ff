/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Data setters of work requests: each work request that takes data needs exactly one data setter.
 * Call order, errors and the thread rule are those of hwq_wr.h. A setter without an open work
 * request, or a second setter, makes hwq_wr_complete() return -EINVAL. Lengths are bytes.
 */
#ifndef HWQ_WR_SET_H
#define HWQ_WR_SET_H

#include "hwq_wr_batch.h"
#include "hwq_wr_eth.h"

static HWQ_INLINE bool
hwq_wr_wants_data(const struct hwq_wr *wr)
{
	return (wr->open & HWQ_WR_DATA) != 0;
}

/**
 * The data are one piece of memory (ibv_wr_set_sge(3)), which the device uses until the work
 * request has completed. Writes one data segment. If length is 0, writes none: the message has no
 * data.
 * @param wr The batch.
 * @param lkey The key of local memory.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param length Bytes.
 */
static HWQ_INLINE void
hwq_wr_set_sge(struct hwq_wr *wr, uint32_t lkey, uint64_t addr, uint32_t length)
{
	if (__builtin_expect(!hwq_wr_wants_data(wr), 0)) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	if (hwq_wr_wants_header(wr)) {
		struct hwq_sge one = {addr, length, lkey};

		hwq_wr_eth_sge_list(wr, 1, &one);
		return;
	}
	/* Without a transport segment, one data segment always fits into the first WQEBB. */
	if (wr->transport != HWQ_TRANSPORT_NONE && !hwq_wr_grow(wr, wr->ds + (length != 0)))
		return;
	if (__builtin_expect(length != 0, 1)) {
		hwq_put_data(hwq_at_ds(wr->wqe, wr->ds), lkey, addr, length);
		hwq_wr_done(wr, HWQ_WR_DATA, wr->ds + 1);
	} else {
		hwq_wr_done(wr, HWQ_WR_DATA, wr->ds);
	}
}

/**
 * The data are a list of pieces of memory, in order (ibv_wr_set_sge_list(3)). The device uses the
 * memory until the work request has completed. Writes one data segment for each piece whose length
 * is not 0. The error is -ENOMEM if num_sge is more than hwq_qp_conf.max_sge.
 * @param wr The batch.
 * @param num_sge Number of pieces.
 * @param sg_list The pieces, read during the call.
 */
static HWQ_INLINE void
hwq_wr_set_sge_list(struct hwq_wr *wr, size_t num_sge, const struct hwq_sge *sg_list)
{
	unsigned int ds = wr->ds;
	size_t i;

	if (__builtin_expect(!hwq_wr_wants_data(wr) || num_sge > wr->sq->max_sge, 0)) {
		hwq_wr_fail(wr, hwq_wr_wants_data(wr) ? -ENOMEM : -EINVAL);
		return;
	}
	if (hwq_wr_wants_header(wr)) {
		hwq_wr_eth_sge_list(wr, num_sge, sg_list);
		return;
	}
	for (i = 0; i < num_sge; i++)
		ds += sg_list[i].len != 0;
	if (!hwq_wr_grow(wr, ds))
		return;
	hwq_put_data_list(hwq_at_ds(wr->wqe, wr->ds), sg_list, (unsigned int)num_sge);
	hwq_wr_done(wr, HWQ_WR_DATA, ds);
}

/**
 * The data are copied into the WQE (ibv_wr_set_inline_data(3)), so the caller may use the buffer
 * again after the call. For SEND and RDMA write. The error is -ENOMEM if length is more than
 * hwq_qp_conf.max_inline.
 * @param wr The batch.
 * @param addr The bytes, read during the call.
 * @param length Bytes.
 */
static HWQ_INLINE void
hwq_wr_set_inline_data(struct hwq_wr *wr, const void *addr, size_t length)
{
	unsigned int ds;

	if (__builtin_expect(!hwq_wr_wants_data(wr), 0)) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	if (hwq_wr_wants_header(wr) && !hwq_wr_eth_header_of(wr, &addr, &length))
		return;
	if (__builtin_expect(length > wr->sq->max_inline, 0)) {
		hwq_wr_fail(wr, -ENOMEM);
		return;
	}
	ds = wr->ds + hwq_inline_ds(length);
	if (!hwq_wr_grow(wr, ds))
		return;
	hwq_put_inline(hwq_at_ds(wr->wqe, wr->ds), addr, length);
	hwq_wr_done(wr, HWQ_WR_DATA, ds);
}

/**
 * The data of several buffers are copied into the WQE, one after the other
 * (ibv_wr_set_inline_data_list(3)). For SEND and RDMA write. If the sum of the lengths is more than
 * hwq_qp_conf.max_inline, the error is -ENOMEM, or -EINVAL for a RAW_PACKET queue.
 * @param wr The batch.
 * @param num_buf Number of buffers.
 * @param buf_list The buffers, read during the call.
 */
static HWQ_INLINE void
hwq_wr_set_inline_data_list(struct hwq_wr *wr, size_t num_buf, const struct hwq_buf *buf_list)
{
	size_t i, len = 0;
	unsigned int ds;

	if (__builtin_expect(!hwq_wr_wants_data(wr), 0)) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	if (hwq_wr_wants_header(wr)) {
		hwq_wr_eth_inline_list(wr, num_buf, buf_list);
		return;
	}
	for (i = 0; i < num_buf; i++) {
		/* Huge lengths would make the sum wrap back into range. */
		if (__builtin_expect(buf_list[i].len > wr->sq->max_inline - len, 0)) {
			hwq_wr_fail(wr, wr->transport == HWQ_TRANSPORT_ETH ? -EINVAL : -ENOMEM);
			return;
		}
		len += buf_list[i].len;
	}
	ds = wr->ds + hwq_inline_ds(len);
	if (!hwq_wr_grow(wr, ds))
		return;
	hwq_put_inline_list(hwq_at_ds(wr->wqe, wr->ds), buf_list, (unsigned int)num_buf, len);
	hwq_wr_done(wr, HWQ_WR_DATA, ds);
}

#endif
