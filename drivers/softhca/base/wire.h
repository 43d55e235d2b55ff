/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout of all data that the program and the adapter exchange over the PCI bus: the byte
 * offset of each field of WQEs, CQEs, doorbells and doorbell records. Fields are big endian.
 *
 * Sources: the parts of the programmer's reference that are in public headers (the kernel's
 * include/linux/mlx5/qp.h and cq.h, mlx5dv.h). The libraries that write these bytes (libmlx5,
 * lib/hwq) have definitions of their own: with a shared struct, no test could find a wrong offset.
 */
#ifndef SOFTHCA_WIRE_H
#define SOFTHCA_WIRE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

enum wire_size {
	WQEBB = 64, /* a send WQE has a whole number of WQEBBs */
	WQE_SEG = 16,
	CQE64 = 64
};

/* Control segment: the first 16 bytes of a send WQE. */
enum wire_ctrl {
	CTRL_OPMOD_IDX_OPCODE = 0, /* 31:24 opmod, 23:8 index, 7:0 opcode */
	CTRL_QPN_DS = 4,           /* 31:8 QP number, 5:0 length in 16-byte units */
	CTRL_DCI_STREAM = 9,       /* 16 bits */
	CTRL_FM_CE_SE = 11,        /* 7:5 fence, 3:2 completion, 1 solicited */
	CTRL_IMM = 12
};

/*
 * The fence of a WQE, in the control segment: MLX5_FENCE_MODE_* of the kernel's
 * include/linux/mlx5/qp.h.
 */
enum wire_fence {
	FM_NONE = 0,
	FM_SMALL = 1,
	FM_FENCE = 2,
	FM_STRONG = 3,
	FM_SMALL_AND_FENCE = 4
};

enum wire_ce {
	CE_ON_ERROR = 0, /* make a completion only for an error, or if the WQE is flushed */
	/* make a completion only for the WQE's own error, not if the WQE is flushed */
	CE_NO_FLUSH = 1,
	CE_ALWAYS = 2,
	CE_ALWAYS_EVENT = 3
};

/* Fields of the 16-byte segments that follow the control segment. */
enum wire_seg {
	RADDR_VA = 0,
	RADDR_RKEY = 8,
	ATOMIC_SWAP_ADD = 0,
	ATOMIC_COMPARE = 8,
	DATA_LEN = 0, /* bit 31: inline data follow; bits 30:0: bytes, 0 means 2 GiB */
	DATA_LKEY = 4,
	DATA_VA = 8,
	INLINE_DATA = 4,
	XRC_SRQN = 0,
	AV_QKEY = 0,
	AV_DC_KEY = 0,
	AV_DEST_QPN = 8, /* 23:0 */
	AV_SL = 12,
	AV_LID = 14, /* InfiniBand: destination LID; RoCE v2: UDP source port */
	AV_MAC = 20,
	AV_TCLASS = 26,
	AV_HOP_LIMIT = 27,
	AV_GRH = 28, /* bit 30: GRH (only InfiniBand), 27:20: source GID index, 19:0: flow label */
	AV_GID = 32,
	AV_UNITS = 3,
	ETH_CS_FLAGS = 4,
	ETH_MSS = 6,
	ETH_INLINE_LEN = 12,
	/* first two bytes of the inline header; the other bytes of the header follow them */
	ETH_INLINE = 14,
	ETH_INLINE_FIRST = 2,
	ETH_L3_CSUM = 0x40,
	ETH_L4_CSUM = 0x80,
	XRC_UNITS = 1,
	/* offset in the 16-byte segment before the data segments of a shared receive queue's WQE */
	SRQ_NEXT_INDEX = 2,
	MMO_OPAQUE_LKEY = 4,
	MMO_OPAQUE_VA = 8
};

#define DATA_INLINE      0x80000000u
#define DATA_LEN_ZERO_IS 0x80000000u
#define DATA_END_LKEY    0x100u /* with length 0: marks the end of a receive WQE's list */
#define MMO_OPMOD_DMA    1
#define MMO_DS           4
#define MMO_OPAQUE_LEN   64
#define RC_MAX_MESSAGE   0x80000000u

/* Fields of a CQE, which is in the last 64 bytes of an entry. */
enum wire_cqe {
	CQE_UIDX = 32,
	CQE_SLID = 22,
	CQE_FLAGS_RQPN = 24, /* 23:0 QP number of the peer, if the transport has it */
	CQE_IMM_INVAL = 36,
	CQE_BYTE_CNT = 44,
	CQE_TIMESTAMP = 48,
	CQE_VENDOR = 54, /* in an error CQE, where other CQEs have the timestamp */
	CQE_SYNDROME = 55,
	CQE_OPCODE_QPN = 56, /* 31:24 opcode of the WQE, 23:0 QP number */
	CQE_WQE_COUNTER = 60,
	CQE_SIGNATURE = 62,
	CQE_OP_OWN = 63 /* 7:4 opcode, 3:2 format, 1 solicited, 0 owner */
};

enum wire_cqe_opcode {
	CQE_REQ = 0,
	CQE_RESP_WRITE_IMM = 1,
	CQE_RESP_SEND = 2,
	CQE_RESP_SEND_IMM = 3,
	CQE_RESP_SEND_INV = 4,
	CQE_RESIZE = 5,
	CQE_SIG_ERR = 12,
	CQE_REQ_ERR = 13,
	CQE_RESP_ERR = 14
};

#define CQE_SOLICITED  2
#define CQE_COMPRESSED 0xc /* format of a title CQE: cq_zip.c */

enum wire_syndrome {
	SYN_OK = 0,
	SYN_LOC_LEN = 0x01,
	SYN_QP_OP = 0x02,
	SYN_LOC_PROT = 0x04,
	SYN_FLUSH = 0x05,
	SYN_MW_BIND = 0x06,
	SYN_REM_INV_REQ = 0x12,
	SYN_REM_ACCESS = 0x13,
	SYN_REM_OP = 0x14,
	SYN_RETRY = 0x15,
	SYN_RNR = 0x16
};

/*
 * The failed check. exec/failure.c translates it to the vendor syndrome that a card reports. A
 * value from 1 to 255 is already a vendor syndrome, which a fault on demand sets.
 */
enum wire_vendor {
	VEN_NONE = 0,
	VEN_CHECKS = 0x100,
	VEN_WQE_INDEX = VEN_CHECKS,
	VEN_WQE_QPN,
	VEN_WQE_DS,
	VEN_WQE_OPCODE,
	VEN_DOORBELL,
	VEN_BLUEFLAME,
	VEN_SEGMENT,
	VEN_LENGTH,
	VEN_MMO_OFF,
	VEN_KEY_INDEX,
	VEN_KEY_VARIANT,
	VEN_KEY_FREE,
	VEN_KEY_PD,
	VEN_KEY_ACCESS,
	VEN_KEY_BOUNDS,
	VEN_QP_ACCESS,
	VEN_ALIGNMENT,
	VEN_RNR,
	VEN_NO_PEER,
	VEN_PEER_RECEIVE,
	VEN_XRC_SRQ,
	VEN_QP_TYPE,
	/* there are more than KEY_MAX_DEPTH indirect keys between the message and memory */
	VEN_KEY_DEPTH,
	VEN_KEY_WINDOW, /* a window is used as a local key, inside another key, or by another QP */
	VEN_KEY_PIECES, /* the message would have too many pieces of memory */
	VEN_UMR_KIND,   /* a work request cannot configure this kind of key in this way */
	VEN_UMR_FIELDS, /* fields of the WQE are unknown or contradict each other */
	VEN_UMR_ROOM,   /* the layout has more entries than the key can have */
	VEN_SIG_PSV,    /* the PSV of a signature does not exist, or belongs to another PD */
	VEN_SIG_BLOCK,  /* the data are not a whole number of blocks with signatures */
	VEN_UMR_BOUND,  /* the window is already bound, or is bound to another QP */
	/* A key made for encryption is not configured for encryption, or is inside another key. */
	VEN_CRYPTO,
	VEN_KEY_PAGE, /* a page of memory on demand is not mapped, or is not writable */
	VEN_DEK,      /* the DEK does not exist, belongs to another PD, or has another keytag */
	/* the offset or length of the data is not allowed for the data units of encryption */
	VEN_CRYPTO_UNIT,
	/* an alias is used inside another key, or its owner has ended the key or the adapter */
	VEN_KEY_ALIAS,
	VEN_END
};

/* The vendor syndromes that a card reports for flushed WQEs: failure.c has the sources. */
enum wire_vendor_flushed {
	VENDOR_MOVED_TO_ERROR = 0xf5, /* first send WQE after a command moved its QP to error */
	VENDOR_FLUSHED = 0xf9
};

/*
 * Fields of a UMR WQE. The immediate of the control segment is the key. After the control segment
 * the WQE has the mask of fields to change, the new values, and the layout. The fields are those of
 * mlx5dv.h (mlx5_wqe_umr_ctrl_seg, mlx5_wqe_mkey_context_seg, mlx5_wqe_umr_klm_seg,
 * mlx5_wqe_umr_repeat_block_seg).
 */
enum wire_umr {
	UMR_CTRL_UNIT = 1, /* first 16-byte unit of this segment */
	UMR_FLAGS = 0,
	UMR_KLM_UNITS = 4,
	UMR_OFFSET_OR_BSF_UNITS = 6,
	UMR_MASK = 8,
	UMR_MKC_UNIT = 4,
	UMR_LAYOUT_UNIT = 8,
	UMR_LAYOUT_ALIGN = 4
};

enum wire_umr_flags {
	UMR_INLINE = 1 << 7,
	UMR_CHECK_FREE = 1 << 5,
	UMR_TRANSLATION_OFFSET = 1 << 4,
	UMR_CHECK_QPN = 1 << 3
};

enum wire_umr_mask {
	UMR_MASK_LEN = 1 << 0,
	UMR_MASK_START = 1 << 6,
	UMR_MASK_SIG_ERR = 1 << 9,
	UMR_MASK_BSF = 1 << 12,
	UMR_MASK_VARIANT = 1 << 13,
	UMR_MASK_QPN = 1 << 14,
	UMR_MASK_LW = 1 << 18,
	UMR_MASK_RR = 1 << 19,
	UMR_MASK_RW = 1 << 20,
	UMR_MASK_ATOMIC = 1 << 21,
	UMR_MASK_FREE = 1 << 29
};

/* Fields of the mkey context segment, which has the key's new values. */
enum wire_mkc {
	MKC_FREE = 0, /* bit 6 */
	MKC_ACCESS = 2,
	MKC_QPN_VARIANT = 4,
	MKC_FLAGS_PD = 12,
	MKC_START = 16,
	MKC_LEN = 24
};

/*
 * Fields of the BSFs, which follow the layout: a BSF for a signature, a BSF for encryption, or both
 * in this order.
 */
enum wire_bsf {
	BSF_KIND = 0, /* low 4 bits */
	BSF_KIND_CRYPTO = 1,
	BSF_UNITS = 4
};

#define MKC_FREE_BIT    0x40
#define MKC_BSF_ENABLED 0x40000000u /* bit of the flags: the key has a signature */
#define MKC_SIG_ERR     0x04000000u /* number of acknowledged errors, modulo 2 */

/* Fields of SET_PSV. */
enum wire_psv {
	PSV_UNIT = 1,
	PSV_INDEX = 0,
	PSV_TRANSIENT = 8
};

/*
 * Fields of a SIG_ERR completion, before the timestamp. The expected and the actual signature have
 * 64 bits each, in two halves: guard and application tag, then reference tag.
 */
enum wire_sig_err {
	SIG_ERR_EXPECTED = 16,
	SIG_ERR_ACTUAL = 20,
	SIG_ERR_EXPECTED_LOW = 24,
	SIG_ERR_ACTUAL_LOW = 28,
	SIG_ERR_SYNDROME = 32, /* 16 bits */
	SIG_ERR_DOMAIN = 35,   /* 0 wire, 1 memory */
	SIG_ERR_MKEY = 36,
	SIG_ERR_OFFSET = 40
};

enum wire_mkc_access {
	MKC_LW = 1 << 3,
	MKC_RR = 1 << 4,
	MKC_RW = 1 << 5,
	MKC_ATOMIC = 1 << 6
};

/*
 * Fields of one unit of a layout: a KLM, the head of a repeated list, or an entry of such a list.
 */
enum wire_klm {
	KLM_LEN = 0,
	KLM_KEY = 4,
	KLM_VA = 8,
	REPEAT_BLOCK_LEN = 0,
	REPEAT_OP = 4,
	REPEAT_COUNT = 8,
	REPEAT_ENTRIES = 14,     /* 16 bits */
	REPEAT_ENTRY_STRIDE = 0, /* 16 bits */
	REPEAT_ENTRY_LEN = 2     /* 16 bits */
};

#define REPEAT_OP_STRIDED 0x400u

/* Fields of a doorbell record: two 32-bit words in the program's memory. */
enum wire_dbrec {
	DB_RECV = 0, /* QP: number of posted receive WQEs, 15:0 */
	DB_SEND = 1, /* QP: number of posted WQEBBs, 15:0 */
	DB_CQ_CI = 0,
	DB_CQ_ARM = 1 /* 29:28 arm sequence, 24 solicited only, 23:0 consumer index */
};

#define CQ_MAX_ENTRIES   (1u << 23)
#define CQ_INDEX_MASK    0xffffffu
#define CQ_ARM_SOLICITED 0x01000000u

/*
 * Offsets in a UAR page: the CQ doorbell, the doorbell of send queues without a doorbell record
 * (rdma-core, tests/mlx5_base.py), and two BlueFlame registers of two buffers each.
 */
#define UAR_CQ_DOORBELL 0x20
#define UAR_NO_RECORD   0x600
#define UAR_BF_BASE     0x800
#define UAR_BF_SPACING  0x200

static inline uint32_t
get_be16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline uint32_t
get_be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint64_t
get_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline void
put_be16(uint8_t *p, uint32_t v)
{
	uint16_t be = htobe16((uint16_t)v);

	memcpy(p, &be, sizeof(be));
}

static inline void
put_be32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
put_be64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

#endif
