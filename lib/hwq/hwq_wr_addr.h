/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Where work requests of UD, XRC and DC go: setters that go with each, before its data setter or
 * behind; hwq_wr.h includes them and says how they are used.
 */
#ifndef HWQ_WR_ADDR_H
#define HWQ_WR_ADDR_H

#include "hwq_ah.h"
#ifndef HWQ_WR_H
#error "include hwq_wr.h, which includes this"
#endif

/* Address vector and what the work request adds to it. */
static HWQ_INLINE void
hwq_wr_put_av(struct hwq_wr *wr, const struct hwq_ah *ah, __be32 number, __be64 key)
{
	struct mlx5_wqe_av *av = (struct mlx5_wqe_av *)hwq_at_ds(wr->wqe, 1);

	memcpy(av, &ah->av, sizeof(*av));
	memcpy(&av->key, &key, sizeof(key));
	av->dqp_dct = number | htobe32(MLX5_EXTENDED_UD_AV);
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
		hwq_wr_put_av(wr, ah, htobe32(remote_qpn), htobe64((uint64_t)remote_qkey << 32));
}

/** The SRQ at the peer that a work request is for (ibv_wr_set_xrc_srqn(3)). */
static HWQ_INLINE void
hwq_wr_set_xrc_srqn(struct hwq_wr *wr, uint32_t remote_srqn)
{
	uint8_t *seg = (uint8_t *)hwq_at_ds(wr->wqe, 1);

	if (!hwq_wr_wants_addr(wr, HWQ_TRANSPORT_XRC))
		return;
	hwq_put_pair(seg, htobe32(remote_srqn), 0);
	memset(seg + 8, 0, 8);
	hwq_wr_done(wr, HWQ_WR_ADDR, wr->ds);
}

/** The DCT that a work request is for (mlx5dv_wr_set_dc_addr(3)). */
static HWQ_INLINE void
hwq_wr_set_dc_addr(struct hwq_wr *wr, const struct hwq_ah *ah, uint32_t remote_dctn,
	uint64_t remote_dc_key)
{
	if (hwq_wr_wants_addr(wr, HWQ_TRANSPORT_DC))
		hwq_wr_put_av(wr, ah, htobe32(remote_dctn), htobe64(remote_dc_key));
}

/** The same, and the stream of the DCI that it is of (mlx5dv_wr_set_dc_addr_stream(3)); 0 is what
 *  hwq_wr_set_dc_addr() is of. */
static HWQ_INLINE void
hwq_wr_set_dc_addr_stream(struct hwq_wr *wr, const struct hwq_ah *ah, uint32_t remote_dctn,
	uint64_t remote_dc_key, uint16_t stream_id)
{
	__be16 stream = htobe16(stream_id);

	if (!hwq_wr_wants_addr(wr, HWQ_TRANSPORT_DC))
		return;
	memcpy(wr->wqe + offsetof(struct mlx5_wqe_ctrl_seg, dci_stream_channel_id), &stream,
		sizeof(stream));
	hwq_wr_put_av(wr, ah, htobe32(remote_dctn), htobe64(remote_dc_key));
}

#endif
