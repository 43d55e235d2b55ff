/* SPDX-License-Identifier: BSD-3-Clause */
/* How firmware commands are refused. */
#ifndef SOFTHCA_DEVX_REFUSE_H
#define SOFTHCA_DEVX_REFUSE_H

#include <stdint.h>

/* The firmware's status: 8 bits, the first of an answer. */
enum devx_status {
	DEVX_BAD_OP = 0x02,
	DEVX_BAD_PARAM = 0x03,
	DEVX_BAD_RES = 0x05, /* a number names no object, or an object of another kind */
	DEVX_BUSY = 0x06,
	DEVX_EXCEED_LIM = 0x08, /* only where a card was seen to say so: devx_answer() */
	DEVX_NO_RES = 0x0f,
	DEVX_BAD_QP_STATE = 0x10,
	DEVX_BAD_INP_LEN = 0x50,
	DEVX_BAD_OUTP_LEN = 0x51
};

/*
 * What a handler of a firmware command returns: 0; or -errno, as the kernel refuses; or
 * DEVX_REFUSE(), as the firmware refuses. In the last case the call fails with EREMOTEIO, and the
 * answer has a status and a syndrome: those of a card where they are known, else this status, and
 * the bit offset of the wrong field plus DEVX_FIELD. Assumed: refused-syndrome.
 */
#define DEVX_FIELD                   0x10000
#define DEVX_REFUSE(status, bit)     ((int)(status) << 20 | DEVX_FIELD | (int)(bit))
#define DEVX_REFUSED_STATUS(refusal) ((uint32_t)(refusal) >> 20)

/*
 * The refusal for an -errno that a creation failed with; bit: the field that is wrong. 0 stays 0.
 */
int devx_refuse_errno(int err, uint32_t bit);
/* What the answer to the refused command says. */
void devx_answer(uint32_t opcode, int refusal, uint32_t *status, uint32_t *syndrome);
/* Logs that a command is refused, and why: each combination once, up to a number of them. */
void devx_tell_refusal(unsigned int device, uint32_t opcode, int refusal);

#endif
