/* SPDX-License-Identifier: BSD-3-Clause */
/* Refusals of firmware commands: translates errors of other folders to refusals, and logs them. */
#include "devx_refuse.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "devx_qpc.h"
#include "log.h"

#define TOLD_MAX 64 /* maximum of logged refusals; a program that probes for features causes many */

int
devx_refuse_errno(int err, uint32_t bit)
{
	switch (err) {
	case 0:
		return 0;
	case -ENOSPC:
	case -ENOMEM:
		return DEVX_REFUSE(DEVX_NO_RES, bit);
	case -EBUSY:
		return DEVX_REFUSE(DEVX_BUSY, bit);
	default:
		return DEVX_REFUSE(DEVX_BAD_PARAM, bit);
	}
}

/* True if this refusal must be logged: it is new, and TOLD_MAX has not been reached. */
static bool
is_news(uint64_t what)
{
	static _Atomic uint64_t told[TOLD_MAX];

	for (size_t i = 0; i < TOLD_MAX; i++) {
		uint64_t old = 0;

		if (atomic_compare_exchange_strong(&told[i], &old, what))
			return true;
		if (old == what)
			return false;
	}
	return false;
}

static const char *
status_text(uint32_t status)
{
	switch (status) {
	case DEVX_BAD_OP:
		return "the adapter does not have this command";
	case DEVX_BAD_PARAM:
		return "a field has a wrong value";
	case DEVX_BAD_RES:
		return "a field names no object, or an object of a wrong kind";
	case DEVX_BUSY:
		return "an object is in use";
	case DEVX_NO_RES:
		return "the adapter has no more of these objects";
	case DEVX_BAD_QP_STATE:
		return "the queue pair is in another state";
	case DEVX_BAD_INP_LEN:
		return "the command is too short";
	default:
		return "the buffer for the answer is too short";
	}
}

/*
 * Answers of cards, from reports on the linux-rdma list and in forums. For each answer there is one
 * report. The report for CREATE_MKEY when the adapter has no more keys is openucx/ucx #6264; the
 * report for CREATE_CQ is snabbco/snabb #995. A program must not rely on these answers, because
 * they change with the firmware.
 */
static const struct {
	uint32_t opcode;
	int refusal;
	uint32_t status, syndrome;
} of_cards[] = {
	/* QUERY_HCA_CAP of another PCI function. */
	{0x100, DEVX_REFUSE(DEVX_BAD_PARAM, 0x40), DEVX_BAD_PARAM, 0x3a3846},
	/*
	 * CREATE_MKEY with a maximum of 0 entries; CREATE_MKEY when the adapter has no more keys.
	 */
	{0x200, DEVX_REFUSE(DEVX_BAD_PARAM, 0x80 + 0x1a0), DEVX_BAD_PARAM, 0x03bf6f},
	{0x200, DEVX_REFUSE(DEVX_NO_RES, 0), DEVX_EXCEED_LIM, 0x59c8a4},
	/* CREATE_CQ when the adapter has no more CQs. */
	{0x400, DEVX_REFUSE(DEVX_NO_RES, 0), DEVX_EXCEED_LIM, 0x62bbc6},
	/* CREATE_QP when the adapter has no more queue pairs. */
	{0x500, DEVX_REFUSE(DEVX_NO_RES, 0), DEVX_BAD_RES, 0x65b500},
	/*
	 * ALLOW_OTHER_VHCA_ACCESS for a kind of key that other functions may not use: ConnectX-7
	 * (openucx/ucx, pull request 10980).
	 */
	{0xb16, DEVX_REFUSE(DEVX_BAD_PARAM, 0xa0), DEVX_BAD_PARAM, 0x172df6},
	/* RST2INIT with a port that does not exist. */
	{0x502, DEVX_REFUSE(DEVX_BAD_PARAM, QPC_AT + QPC_PATH + ADS_PORT), DEVX_BAD_PARAM,
		0x177405},
};

static uint32_t
field(int refusal)
{
	return (uint32_t)refusal & 0xfffff;
}

void
devx_answer(uint32_t opcode, int refusal, uint32_t *status, uint32_t *syndrome)
{
	*status = DEVX_REFUSED_STATUS(refusal);
	*syndrome = field(refusal);
	for (size_t i = 0; i < sizeof(of_cards) / sizeof(of_cards[0]); i++) {
		if (of_cards[i].opcode != opcode || of_cards[i].refusal != refusal)
			continue;
		*status = of_cards[i].status;
		*syndrome = of_cards[i].syndrome;
	}
}

void
devx_tell_refusal(unsigned int device, uint32_t opcode, int refusal)
{
	uint32_t status, syndrome;

	devx_answer(opcode, refusal, &status, &syndrome);
	if (is_news((uint64_t)opcode << 32 | (uint32_t)refusal))
		softhca_log("mlx5_%u: firmware command 0x%x is refused, status 0x%x: %s; syndrome "
			    "0x%x: bit 0x%x of the command",
			device, opcode, status, status_text(DEVX_REFUSED_STATUS(refusal)), syndrome,
			field(refusal) - DEVX_FIELD);
}
