/* SPDX-License-Identifier: BSD-3-Clause */
/* Refusals of firmware commands. */
#ifndef SOFTHCA_DEVX_REFUSE_H
#define SOFTHCA_DEVX_REFUSE_H

#include <stdint.h>

/* The firmware's status: the first 8 bits of an answer. */
enum devx_status {
	DEVX_BAD_OP = 0x02,
	DEVX_BAD_PARAM = 0x03,
	DEVX_BAD_RES = 0x05, /* no object has the number, or the object is of a wrong kind */
	DEVX_BUSY = 0x06,
	DEVX_EXCEED_LIM = 0x08, /* used only if a report shows it for a card: devx_answer() */
	DEVX_NO_RES = 0x0f,
	DEVX_BAD_QP_STATE = 0x10,
	DEVX_BAD_INP_LEN = 0x50,
	DEVX_BAD_OUTP_LEN = 0x51
};

/*
 * The result of a handler of a firmware command: 0; -errno if the kernel refuses the command; or
 * DEVX_REFUSE() if the firmware refuses it. In the last case the call fails with EREMOTEIO, and the
 * answer has a status and a syndrome. If a card's values for this refusal are known, the answer has
 * these values. Otherwise it has `status`, and as syndrome DEVX_FIELD plus `bit`, the bit offset of
 * the wrong field. Assumed: refused-syndrome.
 */
#define DEVX_FIELD                   0x10000
#define DEVX_REFUSE(status, bit)     ((int)(status) << 20 | DEVX_FIELD | (int)(bit))
#define DEVX_REFUSED_STATUS(refusal) ((uint32_t)(refusal) >> 20)

/*
 * Translates the -errno of a creation to a refusal. bit: the offset of the wrong field. 0 stays 0.
 */
int devx_refuse_errno(int err, uint32_t bit);
/* Returns the status and syndrome in the answer to a refused command. */
void devx_answer(uint32_t opcode, int refusal, uint32_t *status, uint32_t *syndrome);
/*
 * Logs a refused command and the reason. Each combination is logged once, and at most TOLD_MAX
 * combinations are logged.
 */
void devx_tell_refusal(unsigned int device, uint32_t opcode, int refusal);

#endif
