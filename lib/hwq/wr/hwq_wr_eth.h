/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Raw packets: frames with an Ethernet segment, and large TCP segments that the device cuts into
 * frames (TSO). Call order, errors and the thread rule are those of hwq_wr.h.
 *
 *     control | Ethernet segment: checksums to compute, MSS, inline headers | data
 *
 * Some devices need the first 18 bytes of a frame inline. The data setters then copy these bytes
 * from the data's address into the WQE.
 */
#ifndef HWQ_WR_ETH_H
#define HWQ_WR_ETH_H

#include "hwq_wr_batch.h"

#define HWQ_TSO_HDR_MIN 14u /**< bytes of the shortest headers, a MAC header */

/*
 * Opens a WQE with an Ethernet segment, whose checksum flags are set and whose other fields are 0.
 * @return the segment; NULL if the batch has failed, and there is no WQE.
 */
static HWQ_INLINE uint8_t *
hwq_wr_eth_begin(struct hwq_wr *wr, uint8_t opcode, unsigned int eth_ds)
{
	bool csum = (wr->wr_flags & HWQ_WQE_IP_CSUM) != 0;
	uint8_t *eth;

	if (!hwq_wr_begin(wr, 0, opcode, 0, hwq_ds_to_bb(1 + eth_ds)))
		return NULL;
	if (__builtin_expect(csum && !wr->sq->wr.ip_csum, 0)) {
		hwq_wr_fail(wr, -EINVAL);
		return NULL;
	}
	eth = (uint8_t *)hwq_at_ds(wr->wqe, 1);
	hwq_put_eth(eth, eth_ds, csum);
	wr->ds = 1 + eth_ds;
	return eth;
}

static HWQ_INLINE void
hwq_wr_eth_send(struct hwq_wr *wr)
{
	hwq_wr_eth_begin(wr, MLX5_OPCODE_SEND, hwq_eth_ds(wr->sq->wr.eth_inline));
}

/**
 * Sends a TCP segment that the device cuts into frames (ibv_wr_send_tso(3)). Each frame has the
 * headers at hdr, adjusted by the device, and at most mss bytes of data. Writes an Ethernet segment
 * with the headers inline; a data setter follows.
 * @param wr The batch.
 * @param hdr The headers of the first frame, read during the call.
 * @param hdr_sz Bytes of the headers; -EINVAL if fewer than 14, or more than
 *   hwq_qp_conf.max_tso_header.
 * @param mss Bytes of data in each frame except the last frame.
 */
static HWQ_INLINE void
hwq_wr_send_tso(struct hwq_wr *wr, const void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	bool good = hdr_sz >= HWQ_TSO_HDR_MIN && hdr_sz <= wr->sq->wr.max_tso_header;
	uint8_t *eth;

	if (wr->transport != HWQ_TRANSPORT_ETH)
		hwq_wr_fail(wr, -EINVAL);
	eth = hwq_wr_eth_begin(wr, MLX5_OPCODE_TSO, hwq_eth_ds(good ? hdr_sz : 0));
	if (eth == NULL)
		return;
	if (__builtin_expect(!good, 0)) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	hwq_put_eth_tso(eth, hdr, hdr_sz, mss);
}

/* ------------------------------------------------------------------ inline headers */

/* @return true if the first bytes of the open WQE's frame must be inline. */
static HWQ_INLINE bool
hwq_wr_wants_header(const struct hwq_wr *wr)
{
	return wr->transport == HWQ_TRANSPORT_ETH && wr->opcode == MLX5_OPCODE_SEND &&
	       wr->sq->wr.eth_inline != 0;
}

/** The position at which the inline headers end in a list of pieces. */
struct hwq_eth_taken {
	/** index of the piece in which the headers end */
	size_t i, off;  /**< number of the piece's bytes that belong to the headers */
	bool too_short; /**< the list has fewer bytes than the headers */
};

/*
 * Copies `left` bytes of headers out of a list of n pieces. piece() returns the address and length
 * of a piece.
 */
static __attribute__((noinline, cold, unused)) struct hwq_eth_taken
hwq_eth_take(uint8_t *to, size_t left, const void *list, size_t n,
	struct hwq_buf (*piece)(const void *list, size_t i))
{
	struct hwq_eth_taken t = {0, 0, false};

	while (left != 0 && t.i < n) {
		struct hwq_buf from = piece(list, t.i);
		size_t take = from.len < left ? from.len : left;

		if (take != 0)
			memcpy(to, from.addr, take);
		to += take;
		left -= take;
		t.off = take == from.len ? 0 : take;
		t.i += take == from.len;
	}
	t.too_short = left != 0;
	return t;
}

static inline struct hwq_buf
hwq_eth_sge_piece(const void *list, size_t i)
{
	const struct hwq_sge *sge = (const struct hwq_sge *)list + i;
	struct hwq_buf piece = {(const void *)(uintptr_t)sge->addr, sge->len};

	return piece;
}

static inline struct hwq_buf
hwq_eth_buf_piece(const void *list, size_t i)
{
	return ((const struct hwq_buf *)list)[i];
}

static HWQ_INLINE uint8_t *
hwq_wr_eth_header(struct hwq_wr *wr)
{
	return hwq_put_eth_hdr_len(hwq_at_ds(wr->wqe, 1), wr->sq->wr.eth_inline);
}

static HWQ_INLINE void
hwq_wr_eth_sge_list(struct hwq_wr *wr, size_t n, const struct hwq_sge *sge)
{
	struct hwq_eth_taken t = hwq_eth_take(hwq_wr_eth_header(wr), wr->sq->wr.eth_inline, sge, n,
		hwq_eth_sge_piece);
	unsigned int ds = wr->ds;
	size_t i;

	if (t.too_short) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	for (i = t.i; i < n; i++)
		ds += sge[i].len != 0;
	if (!hwq_wr_grow(wr, ds))
		return;
	for (i = t.i, ds = wr->ds; i < n; i++, t.off = 0) {
		if (sge[i].len != 0)
			hwq_put_data(hwq_at_ds(wr->wqe, ds++), sge[i].lkey, sge[i].addr + t.off,
				sge[i].len - (uint32_t)t.off);
	}
	hwq_wr_done(wr, HWQ_WR_DATA, ds);
}

/*
 * Copies the headers out of one piece of inline data, and moves the piece's start to the byte after
 * them. @return false if the piece is shorter than the headers.
 */
static HWQ_INLINE bool
hwq_wr_eth_header_of(struct hwq_wr *wr, const void **addr, size_t *length)
{
	size_t len = wr->sq->wr.eth_inline;

	if (*length < len) {
		hwq_wr_fail(wr, -EINVAL);
		return false;
	}
	memcpy(hwq_wr_eth_header(wr), *addr, len);
	*addr = (const uint8_t *)*addr + len;
	*length -= len;
	return true;
}

static HWQ_INLINE void
hwq_wr_eth_inline_list(struct hwq_wr *wr, size_t n, const struct hwq_buf *buf)
{
	struct hwq_eth_taken t = hwq_eth_take(hwq_wr_eth_header(wr), wr->sq->wr.eth_inline, buf, n,
		hwq_eth_buf_piece);
	size_t i, len = 0;
	uint8_t *to;

	if (t.too_short) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	for (i = t.i; i < n; i++) {
		size_t piece = buf[i].len - (i == t.i ? t.off : 0);

		if (piece > wr->sq->max_inline - len) {
			hwq_wr_fail(wr, -EINVAL);
			return;
		}
		len += piece;
	}
	if (!hwq_wr_grow(wr, wr->ds + hwq_inline_ds(len)))
		return;
	if (len != 0) {
		to = hwq_put_inline_hdr(hwq_at_ds(wr->wqe, wr->ds), len);
		for (i = t.i; i < n; i++, t.off = 0) {
			if (buf[i].len != 0)
				memcpy(to, (const uint8_t *)buf[i].addr + t.off,
					buf[i].len - t.off);
			to += buf[i].len - t.off;
		}
	}
	hwq_wr_done(wr, HWQ_WR_DATA, wr->ds + hwq_inline_ds(len));
}

#endif
