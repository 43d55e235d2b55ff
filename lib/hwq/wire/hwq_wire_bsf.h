/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The wire: byte stream format (BSF) of keys that sign or encrypt, and SET_PSV, which
 * infiniband/mlx5dv.h lacks.
 *
 * A UMR WQE carries them behind the key's layout: the signature's, then that of encryption, 64
 * bytes each. Formats: libmlx5 44's wqe.h; the kernel's mlx5_bsf, mlx5_seg_set_psv in
 * linux/mlx5/qp.h.
 */
#ifndef HWQ_WIRE_BSF_H
#define HWQ_WIRE_BSF_H

#include "hwq_wire.h"

#define HWQ_BSF_LEN 64u /**< bytes of each */
#define HWQ_BSF_DS  4u

/** Size of the description, two bits at the top of its first byte. */
enum hwq_wire_bsf_size {
	HWQ_BSF_SIZE_INLINE = 2 << 6,         /**< with what T10-DIF needs; or encryption alone */
	HWQ_BSF_SIZE_SIG_AND_CRYPTO = 3 << 6, /**< both are there */
};

#define HWQ_BSF_SAME_STRUCTURE (1u << 4) /**< first byte: both domains are alike */
#define HWQ_BSF_TYPE_CRYPTO    1u        /**< first byte: encryption */
#define HWQ_BSF_PSV_MASK       0xffffffu

/** Format of a domain's signature, upper byte of the word that names its PSV; T10-DIF is 0. */
enum hwq_wire_bsf_format {
	HWQ_BSF_CRC32 = 0x20u << 24,
	HWQ_BSF_CRC32C = 0x40u << 24,
	HWQ_BSF_CRC64_XP10 = 0x50u << 24,
	HWQ_BSF_CRC_REPEAT = 0x02u << 24, /**< one for each block */
	HWQ_BSF_CRC_SEED_0 = 0x01u << 24, /**< the seed is 0, not all ones */
};

/** T10-DIF of a domain. */
struct hwq_wire_bsf_dif {
	__be16 valid; /* HWQ_DIF_VALID and HWQ_DIF_REFRESH */
	__be16 app_tag;
	__be32 ref_tag;
	uint8_t guard; /* HWQ_DIF_GUARD_* */
	uint8_t seed;  /* HWQ_DIF_REPEAT, HWQ_DIF_SEED_ONES */
	uint8_t reserved[3];
	uint8_t flags; /* HWQ_DIF_REF_INCREMENTS, HWQ_DIF_*_ESCAPE */
	__be16 app_mask;
};

#define HWQ_DIF_VALID          0x8000u
#define HWQ_DIF_REFRESH        0x4000u
#define HWQ_DIF_GUARD_CRC      1u
#define HWQ_DIF_GUARD_CHECKSUM 2u
#define HWQ_DIF_REPEAT         0x80u
#define HWQ_DIF_SEED_ONES      0x08u
#define HWQ_DIF_REF_INCREMENTS 0x40u
#define HWQ_DIF_APP_ESCAPE     0x01u
#define HWQ_DIF_APP_REF_ESCAPE 0x02u

struct hwq_wire_sig_bsf {
	uint8_t size_same; /* HWQ_BSF_SIZE_*, HWQ_BSF_SAME_STRUCTURE */
	uint8_t check_mask;
	uint8_t wire; /* block size; copy mask where both domains are alike */
	uint8_t mem;  /* block size */
	__be32 raw_len;
	__be32 wire_format_psv;
	__be32 mem_format_psv;
	uint8_t extended[16];
	struct hwq_wire_bsf_dif wire_dif;
	struct hwq_wire_bsf_dif mem_dif;
};

/** Where encryption comes among the signatures (mlx5dv_wr_set_mkey_crypto(3)). */
enum hwq_wire_crypto_order {
	HWQ_CRYPTO_WIRE_SIGNATURE = 0,
	HWQ_CRYPTO_MEMORY_SIGNATURE = 1,
	HWQ_CRYPTO_RAW_WIRE = 2,
	HWQ_CRYPTO_RAW_MEMORY = 3,
};

struct hwq_wire_crypto_bsf {
	uint8_t size_type; /* HWQ_BSF_SIZE_*, HWQ_BSF_TYPE_CRYPTO */
	uint8_t order;     /* enum hwq_wire_crypto_order */
	uint8_t reserved0;
	uint8_t standard; /* 0: AES-XTS */
	__be32 raw_len;
	uint8_t data_unit; /* block size */
	uint8_t reserved1[7];
	uint8_t tweak[16];
	__be32 dek; /* 24 bits */
	uint8_t reserved2[4];
	uint8_t keytag[8];
	uint8_t reserved3[16];
};

/** Behind the control segment of MLX5_OPCODE_SET_PSV. */
struct hwq_wire_set_psv {
	__be32 index;
	__be16 syndrome;
	uint8_t reserved[2];
	__be64 transient;
};

/** Key context's flags_pd. */
#define HWQ_MKC_BSF_ENABLE    (1u << 30)
#define HWQ_MKC_SIG_ERR_SHIFT 26 /**< the errors told so far, modulo 2 */

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
