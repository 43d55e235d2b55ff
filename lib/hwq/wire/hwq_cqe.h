/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * One completion: the 64 bytes of a CQE as a plain record.
 *
 * The opcode decides which further fields are valid:
 *
 *     opcode                          also filled in
 *     MLX5_CQE_REQ                    byte_cnt of reads and atomics
 *     MLX5_CQE_RESP_WR_IMM, _SEND*    byte_cnt, imm_inval, recv
 *     MLX5_CQE_REQ_ERR, _RESP_ERR     syndrome, vendor_err, hw_syndrome
 *     MLX5_CQE_SIG_ERR                sig and qpn; it completes no WQE
 *
 * The values are those that ibv_wc_read_*(3) of libmlx5 returns; for a signature error, those that
 * mlx5dv_mkey_check(3) uses. No installed header has the layout of a signature error, nor
 * hw_syndrome: see struct mlx5_sig_err_cqe and mlx5_err_cqe in the kernel's linux/mlx5/device.h.
 *
 * Threads: the functions of this file only read their arguments. Any thread may call them. They
 * have no errors.
 */
#ifndef HWQ_CQE_H
#define HWQ_CQE_H

#include <stdbool.h>

#include "hwq_api.h"
#include "hwq_wire.h"

/**
 * The reason why a WQE failed: the syndrome of an error CQE, hwq_cqe.syndrome. The values are the
 * device's, as MLX5_CQE_SYNDROME_* of infiniband/mlx5dv.h; ibv_poll_cq(3) describes the matching
 * IBV_WC_*_ERR.
 */
enum hwq_syndrome {
	HWQ_SYNDROME_NONE = 0, /**< not an error CQE */
	/** the message is longer than its buffers, or longer than allowed */
	HWQ_SYNDROME_LOCAL_LENGTH = 0x01,
	HWQ_SYNDROME_LOCAL_QP_OP = 0x02, /**< the QP cannot run this WQE */
	HWQ_SYNDROME_LOCAL_PROT = 0x04,  /**< a local key does not allow the access */
	/** the WQE did not run, because the QP was in error before */
	HWQ_SYNDROME_WR_FLUSH = 0x05,
	HWQ_SYNDROME_MW_BIND = 0x06,  /**< a UMR or a memory window was refused */
	HWQ_SYNDROME_BAD_RESP = 0x10, /**< the responder's answer is not valid */
	/** a local key does not allow a peer's write with immediate */
	HWQ_SYNDROME_LOCAL_ACCESS = 0x11,
	HWQ_SYNDROME_REMOTE_INVAL_REQ = 0x12, /**< the responder refused a request of this kind */
	HWQ_SYNDROME_REMOTE_ACCESS = 0x13,    /**< the responder's key does not allow the access */
	HWQ_SYNDROME_REMOTE_OP = 0x14,        /**< the responder failed to run the request */
	HWQ_SYNDROME_TRANSPORT_RETRY_EXC = 0x15, /**< no answer after all retries */
	HWQ_SYNDROME_RNR_RETRY_EXC = 0x16,       /**< no receive was ready after all RNR retries */
	HWQ_SYNDROME_REMOTE_ABORTED = 0x22,      /**< the responder aborted the request */
};

/**
 * Returns the text for a syndrome. Any thread may call this function.
 *
 * @param syndrome
 *   hwq_cqe.syndrome.
 * @return
 *   A string that is never NULL and never freed; "unknown syndrome" for a value that is not in enum
 *   hwq_syndrome.
 */
HWQ_API const char *hwq_syndrome_str(uint8_t syndrome);

/**
 * Converts a syndrome to the status that ibv_poll_cq(3) reports. Any thread may call this function.
 *
 * @param syndrome
 *   hwq_cqe.syndrome.
 * @return
 *   An enum ibv_wc_status: IBV_WC_SUCCESS for 0, IBV_WC_GENERAL_ERR for a value that is not in enum
 *   hwq_syndrome.
 */
HWQ_API int hwq_syndrome_status(uint8_t syndrome);

/** Flags of a receive. */
enum hwq_recv_flags {
	HWQ_RECV_WITH_IMM = 1 << 0, /**< imm_inval is immediate data */
	HWQ_RECV_WITH_INV = 1 << 1, /**< imm_inval is the key that was invalidated */
	HWQ_RECV_GRH = 1 << 2,      /**< the first 40 bytes are a GRH (UD: ibv_poll_cq(3)) */
	HWQ_RECV_L3_OK = 1 << 3,    /**< the checksum of the IP header is correct */
	HWQ_RECV_L4_OK = 1 << 4,    /**< the checksum of TCP or UDP is correct */
	HWQ_RECV_IPV4 = 1 << 5,     /**< the packet is IPv4 */
	HWQ_RECV_IPV6 = 1 << 6,     /**< the packet is IPv6 */
	/** The flags that IBV_WC_IP_CSUM_OK needs, on a queue whose device checks checksums. */
	HWQ_RECV_IP_CSUM_OK = HWQ_RECV_L3_OK | HWQ_RECV_L4_OK | HWQ_RECV_IPV4,
};

/** Fields of a receive's CQE. */
struct hwq_cqe_recv {
	uint32_t src_qp; /**< the sender's QPN (UD) */
	uint32_t uidx;   /**< user index of the queue; in CQEs of version 0, the SRQ number */
	uint16_t slid;   /**< InfiniBand: the sender's LID */
	/** UD: index of the P_Key; otherwise the low half of imm_inval. */
	uint16_t pkey_index;
	/** Tag of the VLAN header that the device removed from an Ethernet frame. */
	uint16_t vlan;
	uint8_t sl;             /**< service level */
	uint8_t dlid_path_bits; /**< InfiniBand: path bits of the destination LID */
	uint8_t flags;          /**< enum hwq_recv_flags */
};

/**
 * The wrong part of a signature. If several parts are wrong, the first of them in this order, as in
 * libmlx5.
 */
enum hwq_sig_kind {
	HWQ_SIG_UNKNOWN, /**< the CQE does not say which part is wrong */
	HWQ_SIG_REFTAG,  /**< the reference tag of T10-DIF */
	HWQ_SIG_APPTAG,  /**< the application tag of T10-DIF */
	HWQ_SIG_GUARD,   /**< the guard of T10-DIF, or the CRC */
};

/** Bits of hwq_cqe_sig.syndrome. */
#define HWQ_SIG_SYNDROME_REFTAG (1u << 11) /**< the reference tag */
#define HWQ_SIG_SYNDROME_APPTAG (1u << 12) /**< the application tag */
#define HWQ_SIG_SYNDROME_GUARD  (1u << 13) /**< the guard */

/** Fields of a signature error's CQE. */
struct hwq_cqe_sig {
	uint32_t mkey;     /**< lkey or rkey of the key with the wrong signature */
	uint16_t syndrome; /**< HWQ_SIG_SYNDROME_*: all parts that are wrong */
	/** enum hwq_sig_kind: the part whose values are in expected and actual */
	uint8_t kind;
	/** True: the memory domain's signature is wrong; false: the wire domain's. */
	bool memory;
	bool transaction;   /**< true: a transaction's signature is wrong; false: a block's */
	uint8_t raw_domain; /**< 0 wire, 1 memory; other values are unknown */
	uint8_t raw_type;   /**< 0 block, 1 transaction; other values are unknown */
	/**
	 * The value that the device expected: a tag; or a guard, which is in the upper bits
	 * (hwq_sig_guard()).
	 */
	uint64_t expected;
	uint64_t actual; /**< the value that the device found, in the same form */
	uint64_t offset; /**< offset of the error in the key's data, bytes */
};

/** One completion, decoded. */
struct hwq_cqe {
	uint32_t qpn;         /**< number of the queue pair */
	uint16_t wqe_counter; /**< ring index of the WQE, for hwq_sq_complete() */
	uint8_t opcode;       /**< MLX5_CQE_* */
	uint8_t wqe_opcode;   /**< MLX5_OPCODE_* of the WQE; requester CQEs only */
	uint8_t syndrome;     /**< error CQE: enum hwq_syndrome; otherwise 0 */
	uint8_t vendor_err;   /**< error CQE: the vendor's code */
	uint8_t hw_syndrome;  /**< error CQE: the hardware's syndrome (hw_err_synd) */
	uint8_t solicited;    /**< 1: the sender asked for an event (HWQ_WQE_SOLICITED) */
	uint32_t byte_cnt;    /**< bytes moved; 0 in an error CQE */
	__be32 imm_inval;     /**< immediate data, or the key that was invalidated */
	/** Ticks of the device's clock; 0 in error and signature error CQEs. */
	uint64_t timestamp;
	union {
		struct hwq_cqe_recv recv; /**< opcode RESP_*, but not RESP_ERR */
		struct hwq_cqe_sig sig;   /**< opcode SIG_ERR */
	};
};

/**
 * Extracts the guard from hwq_cqe_sig.expected or hwq_cqe_sig.actual.
 * @param value The field's value.
 * @param bits Length of the guard: 16 for T10-DIF, 32 or 64 for a CRC.
 * @return The guard.
 */
static inline uint64_t
hwq_sig_guard(uint64_t value, unsigned int bits)
{
	return value >> (64 - bits);
}

/**
 * Returns the key that the sender invalidated. The value is valid only if recv.flags has
 * HWQ_RECV_WITH_INV.
 * @param cqe The completion.
 * @return The rkey, in the byte order of the CPU.
 */
static inline uint32_t
hwq_cqe_inval_rkey(const struct hwq_cqe *cqe)
{
	return be32toh(cqe->imm_inval);
}

static inline uint8_t
hwq_cqe_recv_flags(const struct mlx5_cqe64 *e, uint8_t opcode)
{
	uint8_t l3 = (e->l4_hdr_type_etc >> 2) & 3;
	uint8_t flags = 0;

	if (opcode == MLX5_CQE_RESP_WR_IMM || opcode == MLX5_CQE_RESP_SEND_IMM)
		flags |= HWQ_RECV_WITH_IMM;
	if (opcode == MLX5_CQE_RESP_SEND_INV)
		flags |= HWQ_RECV_WITH_INV;
	if ((be32toh(e->flags_rqpn) >> 28 & 3) != 0)
		flags |= HWQ_RECV_GRH;
	if (e->hds_ip_ext & MLX5_CQE_L3_OK)
		flags |= HWQ_RECV_L3_OK;
	if (e->hds_ip_ext & MLX5_CQE_L4_OK)
		flags |= HWQ_RECV_L4_OK;
	if (l3 == MLX5_CQE_L3_HDR_TYPE_IPV4)
		flags |= HWQ_RECV_IPV4;
	if (l3 == MLX5_CQE_L3_HDR_TYPE_IPV6)
		flags |= HWQ_RECV_IPV6;
	return flags;
}

static inline void
hwq_cqe_decode_recv(const struct mlx5_cqe64 *e, struct hwq_cqe *out)
{
	struct hwq_cqe_recv *recv = &out->recv;
	uint32_t flags_rqpn = be32toh(e->flags_rqpn);

	recv->src_qp = flags_rqpn & 0xffffff;
	recv->uidx = be32toh(e->srqn_uidx) & 0xffffff;
	recv->slid = be16toh(e->slid);
	recv->pkey_index = (uint16_t)(be32toh(e->imm_inval_pkey) & 0xffff);
	recv->vlan = be16toh(e->vlan_info);
	recv->sl = (flags_rqpn >> 24) & 0xf;
	recv->dlid_path_bits = e->ml_path & 0x7f;
	recv->flags = hwq_cqe_recv_flags(e, out->opcode);
}

static inline void
hwq_cqe_decode_err(const struct mlx5_cqe64 *e, struct hwq_cqe *out)
{
	const struct mlx5_err_cqe *bad = (const struct mlx5_err_cqe *)e;

	out->syndrome = bad->syndrome;
	out->vendor_err = bad->vendor_err_synd;
	out->hw_syndrome = ((const uint8_t *)e)[HWQ_ERR_CQE_HW_SYNDROME];
	out->byte_cnt = 0;
	out->imm_inval = 0;
	out->timestamp = 0;
}

static inline void
hwq_cqe_decode_sig(const struct mlx5_cqe64 *e, struct hwq_cqe *out)
{
	const struct hwq_wire_sig_err_cqe *bad = (const struct hwq_wire_sig_err_cqe *)e;
	uint64_t expected =
		(uint64_t)be32toh(bad->expected_guard_app) << 32 | be32toh(bad->expected_ref);
	uint64_t actual = (uint64_t)be32toh(bad->actual_guard_app) << 32 | be32toh(bad->actual_ref);
	struct hwq_cqe_sig *sig = &out->sig;

	/* A signature error belongs to no WQE: these fields are reserved in its CQE. */
	out->wqe_counter = 0;
	out->wqe_opcode = 0;
	out->byte_cnt = 0;
	out->imm_inval = 0;
	out->timestamp = 0;
	sig->mkey = be32toh(bad->mkey);
	sig->syndrome = be16toh(bad->syndrome);
	sig->raw_domain = bad->domain & HWQ_SIG_ERR_BITS;
	sig->raw_type = bad->sig_type & HWQ_SIG_ERR_BITS;
	sig->memory = sig->raw_domain == 1;
	sig->transaction = sig->raw_type == 1;
	sig->offset = be64toh(bad->offset);
	sig->kind = HWQ_SIG_UNKNOWN;
	if (sig->syndrome & HWQ_SIG_SYNDROME_REFTAG) {
		sig->kind = HWQ_SIG_REFTAG;
		expected &= 0xffffffff;
		actual &= 0xffffffff;
	} else if (sig->syndrome & HWQ_SIG_SYNDROME_APPTAG) {
		sig->kind = HWQ_SIG_APPTAG;
		expected = expected >> 32 & 0xffff;
		actual = actual >> 32 & 0xffff;
	} else if (sig->syndrome & HWQ_SIG_SYNDROME_GUARD) {
		sig->kind = HWQ_SIG_GUARD;
	}
	sig->expected = expected;
	sig->actual = actual;
}

/**
 * Decodes the 64 bytes of a CQE into a record. hwq_cq_peek() calls it.
 * @param e The CQE.
 * @param out The record; recv and sig are written only for opcodes that use them.
 */
static inline void
hwq_cqe_decode(const struct mlx5_cqe64 *e, struct hwq_cqe *out)
{
	uint32_t sop_qpn = be32toh(e->sop_drop_qpn);
	uint8_t opcode = e->op_own >> 4;

	out->qpn = sop_qpn & 0xffffff;
	out->wqe_counter = be16toh(e->wqe_counter);
	out->opcode = opcode;
	out->wqe_opcode = (uint8_t)(sop_qpn >> 24);
	out->syndrome = 0;
	out->vendor_err = 0;
	out->hw_syndrome = 0;
	out->solicited = (e->op_own >> 1) & 1;
	out->byte_cnt = be32toh(e->byte_cnt);
	out->imm_inval = e->imm_inval_pkey;
	out->timestamp = be64toh(e->timestamp);
	if (__builtin_expect(opcode == MLX5_CQE_REQ, 1))
		return;
	if (opcode <= MLX5_CQE_RESP_SEND_INV)
		hwq_cqe_decode_recv(e, out);
	else if (opcode == MLX5_CQE_REQ_ERR || opcode == MLX5_CQE_RESP_ERR)
		hwq_cqe_decode_err(e, out);
	else if (opcode == MLX5_CQE_SIG_ERR)
		hwq_cqe_decode_sig(e, out);
}

#endif
