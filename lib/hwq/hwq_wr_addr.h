/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Where work requests of UD, XRC and DC go: setters that go with each, before its data setter or
 * behind; hwq_wr.h includes them and says how they are used.
 */
#ifndef HWQ_WR_ADDR_H
#define HWQ_WR_ADDR_H

#include "hwq_ah.h"
#include "hwq_wr_batch.h"

/* The setter's address vector; number and key are those of the remote queue. */
static HWQ_INLINE void
hwq_wr_put_av(struct hwq_wr *wr, const struct hwq_ah *ah, uint32_t number, uint64_t key)
{
	hwq_put_av(hwq_at_ds(wr->wqe, 1), &ah->av, number, key);
	hwq_wr_done(wr, HWQ_WR_ADDR, wr->ds);
}

/* True if the WQE waits for its address; else the batch has failed. */
static HWQ_INLINE bool
hwq_wr_wants_addr(struct hwq_wr *wr, enum hwq_transport transport)
{
	if (__builtin_expect(wr->transport == transport && (wr->open & HWQ_WR_ADDR) != 0, 1))
		return true;
	hwq_wr_fail(wr, -EINVAL);
	return false;
}

/** Where a datagram goes (ibv_wr_set_ud_addr(3)). A qkey with bit 31 set stands for the QP's own. */
static HWQ_INLINE void
hwq_wr_set_ud_addr(struct hwq_wr *wr, const struct hwq_ah *ah, uint32_t remote_qpn,
	uint32_t remote_qkey)
{
	if (hwq_wr_wants_addr(wr, HWQ_TRANSPORT_UD))
		hwq_wr_put_av(wr, ah, remote_qpn, (uint64_t)remote_qkey << 32);
}

/** The SRQ at the peer that a work request is for (ibv_wr_set_xrc_srqn(3)). */
static HWQ_INLINE void
hwq_wr_set_xrc_srqn(struct hwq_wr *wr, uint32_t remote_srqn)
{
	if (!hwq_wr_wants_addr(wr, HWQ_TRANSPORT_XRC))
		return;
	hwq_put_xrc(hwq_at_ds(wr->wqe, 1), remote_srqn);
	hwq_wr_done(wr, HWQ_WR_ADDR, wr->ds);
}

/** The DCT that a work request is for (mlx5dv_wr_set_dc_addr(3)). */
static HWQ_INLINE void
hwq_wr_set_dc_addr(struct hwq_wr *wr, const struct hwq_ah *ah, uint32_t remote_dctn,
	uint64_t remote_dc_key)
{
	if (hwq_wr_wants_addr(wr, HWQ_TRANSPORT_DC))
		hwq_wr_put_av(wr, ah, remote_dctn, remote_dc_key);
}

/** The same, and the stream of the DCI that it is of (mlx5dv_wr_set_dc_addr_stream(3)); 0 is what
 *  hwq_wr_set_dc_addr() is of. */
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
