/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The wire: byte stream format (BSF) of keys that sign or encrypt, and SET_PSV, which are not in
 * infiniband/mlx5dv.h.
 *
 * In a UMR the BSFs follow the layout: first the BSF of the signature, then the BSF of encryption,
 * 64 bytes each. Formats: libmlx5 44's wqe.h; the kernel's mlx5_bsf, mlx5_seg_set_psv in
 * linux/mlx5/qp.h.
 */
#ifndef HWQ_WIRE_BSF_H
#define HWQ_WIRE_BSF_H

#include "hwq_wire.h"

#define HWQ_BSF_LEN 64u /**< bytes of a BSF */
#define HWQ_BSF_DS  4u  /**< DS units of a BSF */

/** The number of the key's BSFs: the two highest bits of the first byte. */
enum hwq_wire_bsf_size {
	HWQ_BSF_SIZE_INLINE = 2 << 6, /**< one BSF: of a signature or of encryption */
	/** Two BSFs: of the signature, and of encryption. */
	HWQ_BSF_SIZE_SIG_AND_CRYPTO = 3 << 6,
};

#define HWQ_BSF_SAME_STRUCTURE (1u << 4) /**< first byte: both domains have the same structure */
#define HWQ_BSF_TYPE_CRYPTO    1u        /**< first byte: a BSF of encryption */
/**
 * Bits of a word that contain the index of the domain's PSV; the byte above them is enum
 * hwq_wire_bsf_format.
 */
#define HWQ_BSF_PSV_MASK 0xffffffu

/**
 * Format of a domain's signature: the highest byte of the word with the domain's PSV. For T10-DIF
 * it is 0.
 */
enum hwq_wire_bsf_format {
	HWQ_BSF_CRC32 = 0x20u << 24,      /**< CRC-32 */
	HWQ_BSF_CRC32C = 0x40u << 24,     /**< CRC-32C */
	HWQ_BSF_CRC64_XP10 = 0x50u << 24, /**< CRC-64 XP10 */
	HWQ_BSF_CRC_REPEAT = 0x02u << 24, /**< each block has a CRC */
	HWQ_BSF_CRC_SEED_0 = 0x01u << 24, /**< the seed is 0, not all ones */
};

/** The T10-DIF of a domain. */
struct hwq_wire_bsf_dif {
	__be16 valid;        /**< HWQ_DIF_VALID and HWQ_DIF_REFRESH */
	__be16 app_tag;      /**< application tag */
	__be32 ref_tag;      /**< reference tag of the first block */
	uint8_t guard;       /**< HWQ_DIF_GUARD_* */
	uint8_t seed;        /**< HWQ_DIF_REPEAT, HWQ_DIF_SEED_ONES */
	uint8_t reserved[3]; /**< reserved */
	uint8_t flags;       /**< HWQ_DIF_REF_INCREMENTS, HWQ_DIF_*_ESCAPE */
	__be16 app_mask;     /**< bits of the application tag that are checked */
};

#define HWQ_DIF_VALID 0x8000u /**< bit of `valid`: the fields of this T10-DIF are used */
/** Bit of `valid`: MLX5_BSF_REFRESH_DIF of the kernel. */
#define HWQ_DIF_REFRESH        0x4000u
#define HWQ_DIF_GUARD_CRC      1u    /**< value of `guard`: a CRC-16 */
#define HWQ_DIF_GUARD_CHECKSUM 2u    /**< value of `guard`: an IP checksum */
#define HWQ_DIF_REPEAT         0x80u /**< bit of `seed`: each block has a T10-DIF */
/** bit of `seed`: the guard starts with all ones, not with 0 */
#define HWQ_DIF_SEED_ONES 0x08u
/** Bit of `flags`: the reference tag grows by 1 with each block. */
#define HWQ_DIF_REF_INCREMENTS 0x40u
/** Bit of `flags`: a block with application tag 0xffff is not checked. */
#define HWQ_DIF_APP_ESCAPE 0x01u
/** Bit of `flags`: a block with both tags all ones is not checked. */
#define HWQ_DIF_APP_REF_ESCAPE 0x02u

/** BSF of a signature. */
struct hwq_wire_sig_bsf {
	uint8_t size_same;  /**< HWQ_BSF_SIZE_*, HWQ_BSF_SAME_STRUCTURE */
	uint8_t check_mask; /**< bytes of the signature that the device checks */
	/**
	 * Block size of the wire domain; if both domains have the same structure, the copy mask.
	 */
	uint8_t wire;
	uint8_t mem;                      /**< block size of the memory domain */
	__be32 raw_len;                   /**< bytes of the transfer; all ones: any length */
	__be32 wire_format_psv;           /**< format and PSV of the wire domain */
	__be32 mem_format_psv;            /**< format and PSV of the memory domain */
	uint8_t extended[16];             /**< 0 */
	struct hwq_wire_bsf_dif wire_dif; /**< T10-DIF of the wire domain */
	struct hwq_wire_bsf_dif mem_dif;  /**< T10-DIF of the memory domain */
};

/** Whether data are encrypted together with their signature (mlx5dv_wr_set_mkey_crypto(3)). */
enum hwq_wire_crypto_order {
	/** On the wire, the data are encrypted with their signature. */
	HWQ_CRYPTO_WIRE_SIGNATURE = 0,
	/** In memory, the data are encrypted with their signature. */
	HWQ_CRYPTO_MEMORY_SIGNATURE = 1,
	HWQ_CRYPTO_RAW_WIRE = 2,   /**< on the wire, the data are encrypted without signature */
	HWQ_CRYPTO_RAW_MEMORY = 3, /**< in memory, the data are encrypted without signature */
};

/** BSF of encryption. */
struct hwq_wire_crypto_bsf {
	uint8_t size_type;     /**< HWQ_BSF_SIZE_*, HWQ_BSF_TYPE_CRYPTO */
	uint8_t order;         /**< enum hwq_wire_crypto_order */
	uint8_t reserved0;     /**< reserved */
	uint8_t standard;      /**< 0: AES-XTS */
	__be32 raw_len;        /**< bytes of the transfer; all ones: any length */
	uint8_t data_unit;     /**< size of a data unit, coded as a block size */
	uint8_t reserved1[7];  /**< reserved */
	uint8_t tweak[16];     /**< tweak of the first data unit */
	__be32 dek;            /**< object id of the DEK, 24 bits */
	uint8_t reserved2[4];  /**< reserved */
	uint8_t keytag[8];     /**< the DEK's keytag */
	uint8_t reserved3[16]; /**< reserved */
};

/** The segment of MLX5_OPCODE_SET_PSV, which follows the control segment. */
struct hwq_wire_set_psv {
	__be32 index;        /**< index of the PSV */
	__be16 syndrome;     /**< 0 */
	uint8_t reserved[2]; /**< reserved */
	__be64 transient;    /**< the start value of the running signature */
};

#define HWQ_MKC_BSF_ENABLE (1u << 30) /**< bit of flags_pd of a key context: the key has BSFs */
/**
 * Bit number in flags_pd of a key context: the low bit of the number of errors, as told to the
 * device.
 */
#define HWQ_MKC_SIG_ERR_SHIFT 26

static_assert(sizeof(struct hwq_wire_bsf_dif) == 16, "T10-DIF of a domain: one DS");
static_assert(offsetof(struct hwq_wire_bsf_dif, guard) == 8, "");
static_assert(offsetof(struct hwq_wire_bsf_dif, flags) == 13, "");
static_assert(sizeof(struct hwq_wire_sig_bsf) == HWQ_BSF_LEN, "");
static_assert(offsetof(struct hwq_wire_sig_bsf, wire_format_psv) == 8, "");
static_assert(offsetof(struct hwq_wire_sig_bsf, wire_dif) == 32, "");
static_assert(sizeof(struct hwq_wire_crypto_bsf) == HWQ_BSF_LEN, "");
static_assert(offsetof(struct hwq_wire_crypto_bsf, data_unit) == 8, "");
static_assert(offsetof(struct hwq_wire_crypto_bsf, tweak) == 16, "");
static_assert(offsetof(struct hwq_wire_crypto_bsf, dek) == 32, "");
static_assert(offsetof(struct hwq_wire_crypto_bsf, keytag) == 40, "");
static_assert(sizeof(struct hwq_wire_set_psv) == HWQ_DS_LEN, "");
static_assert(offsetof(struct hwq_wire_set_psv, transient) == 8, "");

#endif
