/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Segments of WQEs. Only this file, hwq_umr.h (keys) and hwq_bsf.h (signatures, encryption) write
 * segments. The builders call the functions of these files:
 *
 *     hwq_wqe.h      one WQE at a time
 *     hwq_burst.h    bursts of equal WQEs
 *     hwq_wr.h       batches of work requests, as ibv_wr_post(3)
 *
 * A put function writes one segment, or a part of a segment, at the given address. The caller has
 * reserved the room. The bytes are those of libmlx5 (ibv_wr_post(3), mlx5dv_wr_post(3)).
 *
 * Thread: only the owner of the memory that the functions write calls these functions.
 */
#ifndef HWQ_SEG_H
#define HWQ_SEG_H

#include <stdbool.h>
#include <string.h>

#include "hwq_wire.h"

/** A function that is inlined wherever it is called: branches on constant arguments fold away. */
#define HWQ_INLINE inline __attribute__((always_inline))

/**
 * Flags of a WQE: bits of the control segment's fm_ce_se, with the meaning of IBV_SEND_* of
 * ibv_wr_post(3).
 */
enum hwq_wqe_flags {
	HWQ_WQE_SIGNALED = MLX5_WQE_CTRL_CQ_UPDATE,  /**< the WQE makes a CQE */
	HWQ_WQE_SOLICITED = MLX5_WQE_CTRL_SOLICITED, /**< the receiver's CQE raises an event */
	/** the WQE waits for earlier RDMA reads and atomics */
	HWQ_WQE_FENCE = MLX5_WQE_CTRL_FENCE,
	/**
	 * The WQE waits for earlier UMRs. Only for hwq_wqe.h: the builders of hwq_wr.h set this
	 * flag themselves.
	 */
	HWQ_WQE_AFTER_UMR = MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE,
	/* These two flags are not in the control segment. Some builders of hwq_wr.h read them. */
	HWQ_WQE_INLINE = 1 << 8,  /**< the layout of a key is in the WQE */
	HWQ_WQE_IP_CSUM = 1 << 9, /**< raw packets: the device computes IP, TCP and UDP checksums */
};

/**
 * Bits of fm_ce_se that decide when the WQE makes a CQE. HWQ_WQE_SIGNALED is one of their values.
 */
#define HWQ_WQE_CE_BITS (3u << 2)

/** One piece of local memory, as struct ibv_sge. */
struct hwq_sge {
	uint64_t addr; /**< the first byte, a virtual address or an offset in the key */
	uint32_t len;  /**< bytes */
	uint32_t lkey; /**< local key of the memory */
};

/** One piece of inline data, as struct ibv_data_buf. */
struct hwq_buf {
	const void *addr; /**< the first byte */
	size_t len;       /**< bytes */
};

/* ------------------------------------------------------------------ control */

#define HWQ_OPCODE_SHIFT 32 /**< shift of the opcode in the first 64 bits of a control segment */
#define HWQ_INDEX_SHIFT  40 /**< shift of the ring index in the same 64 bits */

/** one more WQEBB, in the form of hwq_index_qpn() */
#define HWQ_INDEX_STEP (1ull << HWQ_INDEX_SHIFT)

/* @return ring index and QPN << 8, in the form of a control segment's first 64 bits. */
static HWQ_INLINE uint64_t
hwq_index_qpn(uint16_t pi, uint32_t qpn_shifted)
{
	return (uint64_t)pi << HWQ_INDEX_SHIFT | qpn_shifted;
}

/**
 * Returns the address of a unit of a WQE.
 * @param wqe Address at which the WQE starts.
 * @param ds The unit's number, from 0.
 * @return The address.
 */
static HWQ_INLINE void *
hwq_at_ds(void *wqe, unsigned int ds)
{
	return (uint8_t *)wqe + (size_t)ds * HWQ_DS_LEN;
}

/* Writes two words by one store. */
static HWQ_INLINE void
hwq_put_pair(void *at, __be32 first, __be32 second)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
	uint64_t both = first | (uint64_t)second << 32;
#else
	uint64_t both = (uint64_t)first << 32 | second;
#endif

	memcpy(at, &both, sizeof(both));
}

/*
 * @return the word with signature, DC stream and fm_ce_se. The flags' low byte is fm_ce_se; all
 * other bytes are 0.
 */
static HWQ_INLINE __be32
hwq_fm_ce_se_word(uint32_t flags)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
	return flags << 24;
#else
	return flags & 0xff;
#endif
}

/*
 * Writes the first 64 bits of a control segment: opcode, ring index, QPN and DS. Index and QPN come
 * from hwq_index_qpn().
 */
static HWQ_INLINE void
hwq_put_ctrl_first(void *at, uint64_t index_qpn, uint8_t opmod, uint8_t opcode, unsigned int ds)
{
	/*
	 * The operands have no bit in common, so the sum equals their OR. A sum lets the compiler
	 * add the constants of a burst.
	 */
	__be64 word = htobe64(
		index_qpn + ((uint64_t)opmod << 56 | (uint64_t)opcode << HWQ_OPCODE_SHIFT | ds));

	memcpy(at, &word, sizeof(word));
}

/*
 * Writes the last 64 bits of a control segment by one store: fm_ce_se, which is the low byte of
 * flags, and imm.
 */
static HWQ_INLINE void
hwq_put_ctrl_rest(void *at, uint32_t flags, __be32 imm)
{
	hwq_put_pair((uint8_t *)at + HWQ_DS_LEN / 2, hwq_fm_ce_se_word(flags), imm);
}

/* As hwq_put_ctrl_rest(), by two stores: cheaper if neither value is a constant. */
static HWQ_INLINE void
hwq_put_ctrl_rest_apart(void *at, uint32_t flags, __be32 imm)
{
	__be32 word = hwq_fm_ce_se_word(flags);

	memcpy((uint8_t *)at + offsetof(struct mlx5_wqe_ctrl_seg, signature), &word, sizeof(word));
	memcpy((uint8_t *)at + offsetof(struct mlx5_wqe_ctrl_seg, imm), &imm, sizeof(imm));
}

/*
 * Writes the ring index into the first word of a control segment; all other bits are those of @p
 * word.
 */
static HWQ_INLINE void
hwq_put_ctrl_index(void *at, uint32_t word, uint16_t pi)
{
	__be32 first = htobe32((word & 0xff0000ff) | (uint32_t)pi << 8);

	memcpy(at, &first, sizeof(first));
}

/* Writes the stream of a DCI into a control segment that is complete except for the stream. */
static HWQ_INLINE void
hwq_put_ctrl_stream(uint8_t *wqe, uint16_t stream_id)
{
	__be16 stream = htobe16(stream_id);

	memcpy(wqe + offsetof(struct mlx5_wqe_ctrl_seg, dci_stream_channel_id), &stream,
		sizeof(stream));
}

/* ------------------------------------------------------------------ addresses and operands */

/**
 * Writes a remote address segment.
 * @param at Address for the segment; room for it is reserved.
 * @param raddr The first byte of remote memory.
 * @param rkey The remote key.
 */
static HWQ_INLINE void
hwq_put_raddr(void *at, uint64_t raddr, uint32_t rkey)
{
	struct mlx5_wqe_raddr_seg *seg = (struct mlx5_wqe_raddr_seg *)at;

	seg->raddr = htobe64(raddr);
	hwq_put_pair(&seg->rkey, htobe32(rkey), 0);
}

/**
 * Writes the operands of an atomic.
 * @param at Address for the segment; room for it is reserved.
 * @param swap_add Compare and swap: the new value. Fetch and add: the summand.
 * @param compare Compare and swap: the value to compare with. Fetch and add: 0.
 */
static HWQ_INLINE void
hwq_put_atomic(void *at, uint64_t swap_add, uint64_t compare)
{
	struct mlx5_wqe_atomic_seg *seg = (struct mlx5_wqe_atomic_seg *)at;

	seg->swap_add = htobe64(swap_add);
	seg->compare = htobe64(compare);
}

/**
 * Writes the address vector of a datagram or a DC work request.
 * @param at Address for the segment; room for it is reserved.
 * @param av The path to the peer's port.
 * @param number The QPN or DCT number of the remote queue, 24 bits.
 * @param key UD: the qkey in the upper 32 bits. DC: the DC key.
 */
static HWQ_INLINE void
hwq_put_av(void *at, const struct mlx5_wqe_av *av, uint32_t number, uint64_t key)
{
	struct mlx5_wqe_av *seg = (struct mlx5_wqe_av *)at;
	__be64 key_be = htobe64(key);

	memcpy(seg, av, sizeof(*seg));
	memcpy(&seg->key, &key_be, sizeof(key_be));
	seg->dqp_dct = htobe32(number | MLX5_EXTENDED_UD_AV);
}

/**
 * Writes an XRC segment.
 * @param at Address for the segment; room for it is reserved.
 * @param srqn The number of an SRQ at the peer, 24 bits.
 */
static HWQ_INLINE void
hwq_put_xrc(void *at, uint32_t srqn)
{
	hwq_put_pair(at, htobe32(srqn), 0);
	memset((uint8_t *)at + 8, 0, 8);
}

/* ------------------------------------------------------------------ data */

/**
 * Writes a data segment.
 * @param at Address for the segment; room for it is reserved.
 * @param lkey The local key.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes.
 */
static HWQ_INLINE void
hwq_put_data(void *at, uint32_t lkey, uint64_t addr, uint32_t len)
{
	struct mlx5_wqe_data_seg *seg = (struct mlx5_wqe_data_seg *)at;

	seg->byte_count = htobe32(len);
	seg->lkey = htobe32(lkey);
	seg->addr = htobe64(addr);
}

/*
 * @return the key in the form of a data segment's first word, for hwq_put_data_with(). A loop over
 * memory of one key converts the key once.
 */
static HWQ_INLINE uint64_t
hwq_key_word(uint32_t lkey)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
	return (uint64_t)htobe32(lkey) << 32;
#else
	return lkey;
#endif
}

/**
 * Writes a data segment, with a key that is converted already.
 * @param at Address for the segment; room for it is reserved.
 * @param key_word hwq_key_word() of the local key.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes.
 */
static HWQ_INLINE void
hwq_put_data_with(void *at, uint64_t key_word, uint64_t addr, uint32_t len)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
	uint64_t words[2] = {key_word | htobe32(len), htobe64(addr)};
#else
	uint64_t words[2] = {key_word | (uint64_t)len << 32, addr};
#endif

	memcpy(at, words, sizeof(words));
}

/**
 * Writes the data segments of a list, and leaves out pieces of length 0.
 * @param at Address for the segment; room for it is reserved.
 * @param sge The pieces.
 * @param n_sge Number of pieces.
 * @return DS units written.
 */
static HWQ_INLINE unsigned int
hwq_put_data_list(void *at, const struct hwq_sge *sge, unsigned int n_sge)
{
	struct mlx5_wqe_data_seg *seg = (struct mlx5_wqe_data_seg *)at;
	unsigned int i, n = 0;

	for (i = 0; i < n_sge; i++) {
		if (sge[i].len == 0)
			continue;
		hwq_put_data(&seg[n++], sge[i].lkey, sge[i].addr, sge[i].len);
	}
	return n;
}

/**
 * Computes the length of an inline segment.
 * @param len Bytes of data.
 * @return DS units; 0 for no data.
 */
static HWQ_INLINE unsigned int
hwq_inline_ds(size_t len)
{
	return len == 0 ? 0
			: (unsigned int)((len + HWQ_INLINE_HDR_LEN + HWQ_DS_LEN - 1) / HWQ_DS_LEN);
}

/*
 * Writes the header and the zeroed padding of an inline segment of len > 0 bytes. @return the
 * address at which the caller writes the data.
 */
static HWQ_INLINE uint8_t *
hwq_put_inline_hdr(void *at, size_t len)
{
	struct hwq_wire_inline_seg *seg = (struct hwq_wire_inline_seg *)at;

	/* The padding is in the last DS. Clear the whole DS: the data are written later. */
	memset((uint8_t *)at + (hwq_inline_ds(len) - 1) * HWQ_DS_LEN, 0, HWQ_DS_LEN);
	seg->byte_count = htobe32((uint32_t)len | MLX5_INLINE_SEG);
	return seg->data;
}

/*
 * Copies len > 0 bytes of inline data, mostly few. Up to 64 bytes, copying parts that overlap costs
 * less than a loop or a call.
 */
static HWQ_INLINE void
hwq_copy_inline(uint8_t *to, const uint8_t *from, size_t len)
{
	if (__builtin_constant_p(len) || len < HWQ_DS_LEN || len > 4 * HWQ_DS_LEN) {
		memcpy(to, from, len);
		return;
	}
	memcpy(to, from, HWQ_DS_LEN);
	if (__builtin_expect(len > 2 * HWQ_DS_LEN, 0)) {
		memcpy(to + HWQ_DS_LEN, from + HWQ_DS_LEN, HWQ_DS_LEN);
		memcpy(to + len - 2 * HWQ_DS_LEN, from + len - 2 * HWQ_DS_LEN, HWQ_DS_LEN);
	}
	memcpy(to + len - HWQ_DS_LEN, from + len - HWQ_DS_LEN, HWQ_DS_LEN);
}

/**
 * Writes an inline segment; nothing if len is 0.
 * @param at Address for the segment; room for it is reserved.
 * @param data The bytes to copy.
 * @param len Bytes.
 * @return DS units written.
 */
static HWQ_INLINE unsigned int
hwq_put_inline(void *at, const void *data, size_t len)
{
	if (len == 0)
		return 0;
	hwq_copy_inline(hwq_put_inline_hdr(at, len), (const uint8_t *)data, len);
	return hwq_inline_ds(len);
}

/**
 * Writes one inline segment with the bytes of several buffers.
 * @param at Address for the segment; room for it is reserved.
 * @param buf The buffers.
 * @param n_buf Number of buffers.
 * @param len The sum of the buffers' lengths, bytes.
 * @return DS units written.
 */
static HWQ_INLINE unsigned int
hwq_put_inline_list(void *at, const struct hwq_buf *buf, unsigned int n_buf, size_t len)
{
	uint8_t *to;
	unsigned int i;

	if (len == 0)
		return 0;
	to = hwq_put_inline_hdr(at, len);
	for (i = 0; i < n_buf; i++) {
		if (buf[i].len != 0)
			memcpy(to, buf[i].addr, buf[i].len);
		to += buf[i].len;
	}
	return hwq_inline_ds(len);
}

/**
 * Ends the list of data segments of a receive WQE if the WQE has room for more segments.
 * @param seg The first data segment of the entry.
 * @param n Data segments written.
 * @param max Data segments that the entry has room for.
 */
static HWQ_INLINE void
hwq_put_recv_end(struct mlx5_wqe_data_seg *seg, unsigned int n, unsigned int max)
{
	if (n < max)
		hwq_put_data(&seg[n], MLX5_INVALID_LKEY, 0, 0);
}

/* ------------------------------------------------------------------ bodies of whole operations */

/**
 * Writes the body of an RDMA write or read, which follows the control segment, with one piece of
 * memory.
 * @param wqe Address at which the WQE starts.
 * @param rkey The remote key.
 * @param raddr The first byte of remote memory.
 * @param lkey The local key.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes.
 */
static HWQ_INLINE void
hwq_put_rdma(uint8_t *wqe, uint32_t rkey, uint64_t raddr, uint32_t lkey, uint64_t addr,
	uint32_t len)
{
	hwq_put_raddr(hwq_at_ds(wqe, 1), raddr, rkey);
	hwq_put_data(hwq_at_ds(wqe, 2), lkey, addr, len);
}

/**
 * Writes the body of a memcpy, which follows the control segment.
 * @param wqe Address at which the WQE starts.
 * @param mmo The key and address of the device's scratch memory; each queue has its own.
 * @param dst_lkey The key of the destination.
 * @param dst The first byte of the destination.
 * @param src_lkey The key of the source.
 * @param src The first byte of the source.
 * @param byte_count Bytes; 0 means 2 GiB, as on the wire.
 */
static HWQ_INLINE void
hwq_put_memcpy(uint8_t *wqe, const struct hwq_wire_mmo_seg *mmo, uint32_t dst_lkey, uint64_t dst,
	uint32_t src_lkey, uint64_t src, uint32_t byte_count)
{
	memcpy(hwq_at_ds(wqe, 1), mmo, sizeof(*mmo));
	hwq_put_data(hwq_at_ds(wqe, 2), src_lkey, src, byte_count);
	hwq_put_data(hwq_at_ds(wqe, 3), dst_lkey, dst, byte_count);
}

/* ------------------------------------------------------------------ raw packets */

/** Units of an Ethernet segment whose inline headers have at most 2 bytes. */
#define HWQ_ETH_DS     1u
#define HWQ_ETH_HDR_AT 14u /**< offset of the inline headers in the segment, bytes */
/** The device computes the checksums of IP, TCP and UDP. */
#define HWQ_ETH_CSUM_FLAGS (MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM)

/**
 * Computes the length of an Ethernet segment.
 * @param hdr_len Bytes of inline headers.
 * @return DS units.
 */
static HWQ_INLINE unsigned int
hwq_eth_ds(unsigned int hdr_len)
{
	return hdr_len <= 2 ? HWQ_ETH_DS : (HWQ_ETH_HDR_AT + hdr_len + HWQ_DS_LEN - 1) / HWQ_DS_LEN;
}

/**
 * Writes an Ethernet segment without inline headers.
 * @param at Address for the segment; room for it is reserved.
 * @param eth_ds Its DS units: hwq_eth_ds().
 * @param csum True: the device computes the checksums of IP, TCP and UDP.
 */
static HWQ_INLINE void
hwq_put_eth(void *at, unsigned int eth_ds, bool csum)
{
	struct mlx5_wqe_eth_seg *eth = (struct mlx5_wqe_eth_seg *)at;

	memset(eth, 0, (size_t)eth_ds * HWQ_DS_LEN);
	eth->cs_flags = csum ? HWQ_ETH_CSUM_FLAGS : 0;
}

/**
 * Writes the length of an Ethernet segment's inline headers.
 * @param at The Ethernet segment.
 * @param hdr_len Bytes of inline headers.
 * @return The address at which the caller writes the headers.
 */
static HWQ_INLINE uint8_t *
hwq_put_eth_hdr_len(void *at, uint16_t hdr_len)
{
	struct mlx5_wqe_eth_seg *eth = (struct mlx5_wqe_eth_seg *)at;

	eth->inline_hdr_sz = htobe16(hdr_len);
	return (uint8_t *)at + HWQ_ETH_HDR_AT;
}

/**
 * Writes the inline headers of a TSO WQE, and the MSS.
 * @param at The Ethernet segment.
 * @param hdr The headers, which are copied.
 * @param hdr_len Bytes of the headers.
 * @param mss Bytes of data in each frame except the last frame.
 */
static HWQ_INLINE void
hwq_put_eth_tso(void *at, const void *hdr, uint16_t hdr_len, uint16_t mss)
{
	struct mlx5_wqe_eth_seg *eth = (struct mlx5_wqe_eth_seg *)at;

	eth->mss = htobe16(mss);
	memcpy(hwq_put_eth_hdr_len(at, hdr_len), hdr, hdr_len);
}

#endif
