/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes an entry of a completion queue, with its owner bit. */
#include "cqe.h"

#include <string.h>

static void
cqe_write_sig_err(uint8_t *p, const struct cqe_sig_err *sig)
{
	put_be32(p + SIG_ERR_EXPECTED, (uint32_t)(sig->error.expected >> 32));
	put_be32(p + SIG_ERR_ACTUAL, (uint32_t)(sig->error.actual >> 32));
	put_be32(p + SIG_ERR_EXPECTED_LOW, (uint32_t)sig->error.expected);
	put_be32(p + SIG_ERR_ACTUAL_LOW, (uint32_t)sig->error.actual);
	put_be16(p + SIG_ERR_SYNDROME, sig->error.syndrome);
	p[SIG_ERR_DOMAIN] = sig->memory;
	put_be32(p + SIG_ERR_MKEY, sig->key);
	put_be64(p + SIG_ERR_OFFSET, sig->error.offset);
}

void
cqe_write(struct softhca_cq *cq, uint32_t index, const struct cqe *cqe, uint8_t format)
{
	uint8_t *p = cqe_at(cq, index);
	uint8_t op_own =
		(uint8_t)(cqe->opcode << 4 | format | (cqe->solicited ? CQE_SOLICITED : 0) |
			  ((index >> cq->log_n) & 1));

	if (cq->pad)
		memset(p - CQE64, 0, CQE64);
	memset(p, 0, CQE_TIMESTAMP);
	put_be16(p + CQE_SLID, cqe->slid);
	put_be32(p + CQE_FLAGS_RQPN, cqe->flags_rqpn);
	put_be32(p + CQE_UIDX, cqe->uidx);
	put_be32(p + CQE_IMM_INVAL, cqe->imm);
	put_be32(p + CQE_BYTE_CNT, cqe->byte_cnt);
	put_be64(p + CQE_TIMESTAMP, cqe->timestamp);
	if (cqe->syndrome != SYN_OK) {
		put_be64(p + CQE_TIMESTAMP, 0);
		p[CQE_VENDOR] = cqe->vendor;
		p[CQE_SYNDROME] = (uint8_t)cqe->syndrome;
	}
	if (cqe->sig_err != NULL)
		cqe_write_sig_err(p, cqe->sig_err);
	put_be32(p + CQE_OPCODE_QPN, cqe->opcode_qpn);
	put_be16(p + CQE_WQE_COUNTER, cqe->wqe_counter);
	p[CQE_SIGNATURE] = 0;
	/*
	 * The owner bit is stored last, with release order: a program that sees the bit change sees
	 * the whole entry.
	 */
	__atomic_store_n(&p[CQE_OP_OWN], op_own, __ATOMIC_RELEASE);
}
