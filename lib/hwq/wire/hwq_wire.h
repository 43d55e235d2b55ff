/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The wire: segments and numbers that are not in infiniband/mlx5dv.h. Every offset that hwq uses is
 * asserted.
 *
 * Declarations that mlx5dv.h has are used from mlx5dv.h. Offsets are those of the WQE and CQE
 * formats that libmlx5 writes and reads (mlx5dv_init_obj(3), infiniband/mlx5dv.h).
 */
#ifndef HWQ_WIRE_H
#define HWQ_WIRE_H

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>

#define HWQ_BB_LEN     64u /**< one WQEBB, bytes */
#define HWQ_DS_LEN     16u /**< one DS unit, bytes */
#define HWQ_DS_PER_BB  4u  /**< DS units of a WQEBB */
#define HWQ_DS_MAX     63u /**< largest DS: it has six bits in the control segment */
#define HWQ_WQE_MAX_BB 16u /**< WQEBBs of the longest WQE: 63 DS, rounded up */
/** longest ring in which 16-bit indices distinguish full from empty */
#define HWQ_SQ_MAX_BB 32768

#define HWQ_OPMOD_MMO_DMA  0x1u         /**< modifier of MLX5_OPCODE_MMO: memory copy */
#define HWQ_MMO_LEN_MAX    (1ull << 31) /**< 2 GiB, encoded as 0 */
#define HWQ_MMO_OPAQUE_LEN 64u          /**< bytes that the device may write for one MMO WQE */
#define HWQ_RCV_DBR        0u           /**< word of the QP's doorbell record: receive */
#define HWQ_SND_DBR        1u           /**< word of the QP's doorbell record: send */
#define HWQ_CQ_DBR_CI      0u           /**< word of the CQ's doorbell record: consumer index */
#define HWQ_CQ_DBR_ARM     1u           /**< word of the CQ's doorbell record: arm */
#define HWQ_CQ_CI_MASK     0xffffffu    /**< the consumer index has 24 bits on the wire */
/** DS units of control segment, UMR control segment and key context in a UMR */
#define HWQ_UMR_HEAD_DS    8u
#define HWQ_UMR_LAYOUT_MAX 52u /**< most units of layout and BSFs: DS has six bits */
/** the word in a layout's first unit that makes the layout a pattern */
#define HWQ_UMR_OP_PATTERN 0x400u
/** most bytes of a memory window: the largest length of one KLM */
#define HWQ_UMR_WINDOW_MAX (1ull << 31)
#define HWQ_AV_DS          3u /**< address vector of a datagram */

/**
 * Bytes of a cache line. Fields that different threads write are at least this many bytes apart.
 */
#define HWQ_LINE_LEN 64
/** Aligns a field to the start of a cache line. */
#define HWQ_ON_LINE __attribute__((aligned(HWQ_LINE_LEN)))

#define HWQ_INLINE_HDR_LEN 4u /**< bytes of the byte count before inline data */

/** Second segment of a memcpy WQE; source and destination data segments follow. */
struct hwq_wire_mmo_seg {
	__be32 control; /**< 0 */
	__be32 lkey;    /**< key of the opaque buffer */
	__be64 addr;    /**< address of the opaque buffer */
};

/** Inline segment: byte count with MLX5_INLINE_SEG set, then the data. */
struct hwq_wire_inline_seg {
	__be32 byte_count; /**< bytes of data, with MLX5_INLINE_SEG */
	/** The data. Standard C++ has no flexible array members. */
	__extension__ uint8_t data[];
};

/**
 * Bits of type and domain in a signature error's CQE; the bits above are reserved (libmlx5,
 * get_sig_err_info()).
 */
#define HWQ_SIG_ERR_BITS 0x7

/** The CQE of a signature error (linux/mlx5/device.h, struct mlx5_sig_err_cqe). */
struct hwq_wire_sig_err_cqe {
	uint8_t reserved0[16]; /**< reserved */
	/** Expected values: guard and application tag; or the upper half of a longer guard. */
	__be32 expected_guard_app;
	__be32 actual_guard_app; /**< actual values, in the same form */
	/** Expected values: reference tag; or the lower half of a longer guard. */
	__be32 expected_ref;
	__be32 actual_ref;     /**< actual values, in the same form */
	__be16 syndrome;       /**< HWQ_SIG_SYNDROME_* */
	uint8_t sig_type;      /**< signature of 0: a block, 1: a transaction */
	uint8_t domain;        /**< 0: wire, 1: memory */
	__be32 mkey;           /**< the key whose data are wrong */
	__be64 offset;         /**< offset of the error in the key's data, bytes */
	uint8_t reserved48[8]; /**< reserved */
	__be32 qpn;            /**< the QP's number, low 24 bits */
	uint8_t reserved60[2]; /**< reserved */
	uint8_t signature;     /**< checksum of the CQE, not used */
	uint8_t op_own;        /**< opcode and owner bit, as in every CQE */
};

/** offset of hw_err_synd in an error CQE (linux/mlx5/device.h) */
#define HWQ_ERR_CQE_HW_SYNDROME 52u

static_assert(sizeof(struct mlx5_wqe_ctrl_seg) == 16, "control segment: one DS");
static_assert(offsetof(struct mlx5_wqe_ctrl_seg, opmod_idx_opcode) == 0, "");
static_assert(offsetof(struct mlx5_wqe_ctrl_seg, qpn_ds) == 4, "");
static_assert(offsetof(struct mlx5_wqe_ctrl_seg, signature) == 8, "");
static_assert(offsetof(struct mlx5_wqe_ctrl_seg, fm_ce_se) == 11, "");
static_assert(offsetof(struct mlx5_wqe_ctrl_seg, imm) == 12, "");
static_assert(offsetof(struct mlx5_wqe_ctrl_seg, dci_stream_channel_id) == 9,
	"signature, stream and fm_ce_se are one word");
static_assert(sizeof(struct mlx5_wqe_raddr_seg) == 16, "remote address segment: one DS");
static_assert(offsetof(struct mlx5_wqe_raddr_seg, rkey) == 8, "");
static_assert(sizeof(struct mlx5_wqe_data_seg) == 16, "data segment: one DS");
static_assert(offsetof(struct mlx5_wqe_data_seg, lkey) == 4, "");
static_assert(offsetof(struct mlx5_wqe_data_seg, addr) == 8, "");
static_assert(sizeof(struct mlx5_wqe_atomic_seg) == 16, "atomic segment: one DS");
static_assert(offsetof(struct mlx5_wqe_atomic_seg, compare) == 8, "");
static_assert(sizeof(struct mlx5_wqe_umr_ctrl_seg) == 48, "UMR control segment: three DS");
static_assert(offsetof(struct mlx5_wqe_umr_ctrl_seg, klm_octowords) == 4, "");
static_assert(offsetof(struct mlx5_wqe_umr_ctrl_seg, mkey_mask) == 8, "");
static_assert(sizeof(struct mlx5_wqe_mkey_context_seg) == 64, "key context segment: four DS");
static_assert(offsetof(struct mlx5_wqe_mkey_context_seg, qpn_mkey) == 4, "");
static_assert(offsetof(struct mlx5_wqe_mkey_context_seg, access_flags) == 2, "");
static_assert(offsetof(struct mlx5_wqe_mkey_context_seg, start_addr) == 16, "");
static_assert(offsetof(struct mlx5_wqe_mkey_context_seg, len) == 24, "");
static_assert(sizeof(struct mlx5_wqe_umr_klm_seg) == 16, "an entry of a list: one DS");
static_assert(offsetof(struct mlx5_wqe_umr_klm_seg, mkey) == 4, "");
static_assert(offsetof(struct mlx5_wqe_umr_klm_seg, address) == 8, "");
static_assert(sizeof(struct mlx5_wqe_umr_repeat_block_seg) == 16, "head of a pattern: one DS");
static_assert(sizeof(struct mlx5_wqe_umr_repeat_ent_seg) == 16, "its entry: one DS");
static_assert(HWQ_UMR_HEAD_DS + HWQ_UMR_LAYOUT_MAX <= HWQ_DS_MAX, "");
static_assert(sizeof(struct mlx5_wqe_av) == HWQ_AV_DS * HWQ_DS_LEN, "address vector: three DS");
static_assert(offsetof(struct mlx5_wqe_av, key) == 0, "");
static_assert(offsetof(struct mlx5_wqe_av, dqp_dct) == 8, "");
static_assert(sizeof(struct mlx5_wqe_eth_seg) == 32, "Ethernet segment: one DS, and header bytes");
static_assert(offsetof(struct mlx5_wqe_eth_seg, cs_flags) == 4, "");
static_assert(offsetof(struct mlx5_wqe_eth_seg, mss) == 6, "");
static_assert(offsetof(struct mlx5_wqe_eth_seg, inline_hdr_sz) == 12, "");
static_assert(offsetof(struct mlx5_wqe_eth_seg, inline_hdr_start) == 14, "");
static_assert(sizeof(struct hwq_wire_mmo_seg) == 16, "MMO segment: one DS");
static_assert(offsetof(struct hwq_wire_mmo_seg, lkey) == 4, "");
static_assert(offsetof(struct hwq_wire_mmo_seg, addr) == 8, "");
static_assert(sizeof(struct hwq_wire_inline_seg) == HWQ_INLINE_HDR_LEN, "");
static_assert(HWQ_WQE_MAX_BB * HWQ_DS_PER_BB >= HWQ_DS_MAX, "");

static_assert(sizeof(struct mlx5_cqe64) == 64, "");
static_assert(offsetof(struct mlx5_cqe64, srqn_uidx) == 32, "");
static_assert(offsetof(struct mlx5_cqe64, imm_inval_pkey) == 36, "");
static_assert(offsetof(struct mlx5_cqe64, byte_cnt) == 44, "");
static_assert(offsetof(struct mlx5_cqe64, timestamp) == 48, "");
static_assert(offsetof(struct mlx5_cqe64, sop_drop_qpn) == 56, "");
static_assert(offsetof(struct mlx5_cqe64, wqe_counter) == 60, "");
static_assert(offsetof(struct mlx5_cqe64, op_own) == 63, "");
static_assert(MLX5_CQE_REQ == 0, "a good requester's CQE has no opcode bit");
static_assert(sizeof(struct mlx5_err_cqe) == 64, "");
static_assert(offsetof(struct mlx5_err_cqe, vendor_err_synd) == 54, "");
static_assert(offsetof(struct mlx5_err_cqe, syndrome) == 55, "");
static_assert(offsetof(struct mlx5_err_cqe, s_wqe_opcode_qpn) == 56, "same place as in a good CQE");
static_assert(offsetof(struct mlx5_err_cqe, wqe_counter) == 60, "same place as in a good CQE");
static_assert(offsetof(struct mlx5_err_cqe, op_own) == 63, "same place as in a good CQE");
static_assert(sizeof(struct hwq_wire_sig_err_cqe) == 64, "");
static_assert(offsetof(struct hwq_wire_sig_err_cqe, syndrome) == 32, "");
static_assert(offsetof(struct hwq_wire_sig_err_cqe, mkey) == 36, "");
static_assert(offsetof(struct hwq_wire_sig_err_cqe, offset) == 40, "");
static_assert(offsetof(struct hwq_wire_sig_err_cqe, qpn) == 56, "same place as in a good CQE");
static_assert(offsetof(struct hwq_wire_sig_err_cqe, op_own) == 63, "same place as in a good CQE");

#endif
