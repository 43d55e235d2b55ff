/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Address setters of UD, XRC and DC queues. Each work request that takes data needs one address
 * setter, before or after its data setter. Call order, errors and the thread rule are those of
 * hwq_wr.h. A setter for another type of queue, or a second setter, makes hwq_wr_complete() return
 * -EINVAL.
 */
#ifndef HWQ_WR_ADDR_H
#define HWQ_WR_ADDR_H

#include "hwq_ah.h"
#include "hwq_wr_batch.h"

/*
 * Writes the address vector. number: QPN or DCT number of the remote queue; key: its qkey or DC
 * key.
 */
static HWQ_INLINE void
hwq_wr_put_av(struct hwq_wr *wr, const struct hwq_ah *ah, uint32_t number, uint64_t key)
{
	hwq_put_av(hwq_at_ds(wr->wqe, 1), &ah->av, number, key);
	hwq_wr_done(wr, HWQ_WR_ADDR, wr->ds);
}

/* @return true if the open WQE still needs its address. Otherwise false: the batch has failed. */
static HWQ_INLINE bool
hwq_wr_wants_addr(struct hwq_wr *wr, enum hwq_transport transport)
{
	if (__builtin_expect(wr->transport == transport && (wr->open & HWQ_WR_ADDR) != 0, 1))
		return true;
	hwq_wr_fail(wr, -EINVAL);
	return false;
}

/**
 * Sets the QP to which a datagram is sent (ibv_wr_set_ud_addr(3)). Writes the address vector.
 * @param wr The batch.
 * @param ah The path to the peer's port, read during the call.
 * @param remote_qpn The number of the remote QP.
 * @param remote_qkey The qkey of the remote QP; with bit 31 set, the device sends the qkey of its
 *   own QP instead.
 */
static HWQ_INLINE void
hwq_wr_set_ud_addr(struct hwq_wr *wr, const struct hwq_ah *ah, uint32_t remote_qpn,
	uint32_t remote_qkey)
{
	if (hwq_wr_wants_addr(wr, HWQ_TRANSPORT_UD))
		hwq_wr_put_av(wr, ah, remote_qpn, (uint64_t)remote_qkey << 32);
}

/**
 * Sets the peer's XRC SRQ to which a work request is sent (ibv_wr_set_xrc_srqn(3)). Writes the XRC
 * segment.
 * @param wr The batch.
 * @param remote_srqn The number of the SRQ.
 */
static HWQ_INLINE void
hwq_wr_set_xrc_srqn(struct hwq_wr *wr, uint32_t remote_srqn)
{
	if (!hwq_wr_wants_addr(wr, HWQ_TRANSPORT_XRC))
		return;
	hwq_put_xrc(hwq_at_ds(wr->wqe, 1), remote_srqn);
	hwq_wr_done(wr, HWQ_WR_ADDR, wr->ds);
}

/**
 * Sets the DC target to which a work request is sent (mlx5dv_wr_set_dc_addr(3)). Writes the address
 * vector, with stream 0.
 * @param wr The batch.
 * @param ah The path to the peer's port, read during the call.
 * @param remote_dctn The number of the DC target.
 * @param remote_dc_key The DC key of the target.
 */
static HWQ_INLINE void
hwq_wr_set_dc_addr(struct hwq_wr *wr, const struct hwq_ah *ah, uint32_t remote_dctn,
	uint64_t remote_dc_key)
{
	if (hwq_wr_wants_addr(wr, HWQ_TRANSPORT_DC))
		hwq_wr_put_av(wr, ah, remote_dctn, remote_dc_key);
}

/**
 * Sets the DC target, as hwq_wr_set_dc_addr() does, and the stream of the DCI to which the work
 * request belongs (mlx5dv_wr_set_dc_addr_stream(3)).
 * @param wr The batch.
 * @param ah The path to the peer's port, read during the call.
 * @param remote_dctn The number of the DC target.
 * @param remote_dc_key The DC key of the target.
 * @param stream_id The number of the stream.
 */
static HWQ_INLINE void
hwq_wr_set_dc_addr_stream(struct hwq_wr *wr, const struct hwq_ah *ah, uint32_t remote_dctn,
	uint64_t remote_dc_key, uint16_t stream_id)
{
	if (!hwq_wr_wants_addr(wr, HWQ_TRANSPORT_DC))
		return;
	hwq_put_ctrl_stream(wr->wqe, stream_id);
	hwq_wr_put_av(wr, ah, remote_dctn, remote_dc_key);
}

#endif
