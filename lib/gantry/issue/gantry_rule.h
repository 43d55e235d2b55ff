/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of descriptors: one row for each operation. */
#ifndef GANTRY_RULE_H
#define GANTRY_RULE_H

#include "gantry_slot.h"
#include "gantry_work.h"

/*
 * The fields of a descriptor that an operation uses, besides op, flags and cookie, and rules for
 * them.
 */
enum {
	RULE_IS_OP = 1 << 0, /* the row belongs to an operation */
	RULE_SRC = 1 << 1,
	RULE_DST = 1 << 2,
	RULE_LEN = 1 << 3,
	RULE_PEER = 1 << 4,
	RULE_KEY = 1 << 5,
	RULE_IMM = 1 << 6,
	RULE_ARG0 = 1 << 7,
	RULE_ARG1 = 1 << 8,
	/* src must be registered here; without this bit, src is memory of the peer. */
	RULE_LOCAL_SRC = 1 << 9,
	/* dst must be registered here; without this bit, dst is memory of the peer. */
	RULE_LOCAL_DST = 1 << 10,
	RULE_SOLICITS = 1 << 11,     /* the flag GANTRY_DESC_SOLICITED is possible */
	RULE_MAY_BE_EMPTY = 1 << 12, /* len may be 0; then src, dst and remote_key are not used */
	RULE_ONE_MESSAGE = 1 << 13,  /* the operation cannot be split */
	RULE_ATOMIC = 1 << 14,       /* the operation is an atomic: 8 bytes, aligned at dst */
	RULE_RAW = 1 << 15,          /* src is the address of a WQE */
	RULE_LISTS = 1 << 16,        /* src and dst are addresses of lists */
	RULE_SRC_LAYOUT = 1 << 17,   /* src may be the base address of a layout */
	RULE_DST_LAYOUT = 1 << 18,   /* dst may be the base address of a layout */
	RULE_NEEDS_LAYOUT = 1 << 19, /* the side that may have a layout must have a layout */
	RULE_CARRIED = 1 << 20,      /* GANTRY_DESC_BY_* or the policy chooses the carrier */
	RULE_TXN = 1 << 21,          /* src is the address of a transaction */

	/* Bits that several rows have in common. */
	RULE_COPIES = RULE_IS_OP | RULE_SRC | RULE_DST | RULE_LEN,
	RULE_REMOTE = RULE_COPIES | RULE_PEER | RULE_KEY,
	RULE_SENDS = RULE_IS_OP | RULE_SRC | RULE_LEN | RULE_PEER | RULE_LOCAL_SRC | RULE_SOLICITS |
		     RULE_MAY_BE_EMPTY | RULE_ONE_MESSAGE | RULE_SRC_LAYOUT,
	RULE_ATOMICS =
		RULE_IS_OP | RULE_DST | RULE_LEN | RULE_PEER | RULE_KEY | RULE_ARG0 | RULE_ATOMIC,
};

/* One row for each operation. A new operation needs a row here and a kind in gantry_work.h. */
static const struct gantry_rule {
	uint32_t uses;
	uint8_t kind; /* enum gantry_work_kind; for a COPY, the carrier decides about the kind */
} gantry_rules[GANTRY_OP_MAX] = {
	[GANTRY_OP_NOP] = {RULE_IS_OP},
	[GANTRY_OP_COPY] = {RULE_COPIES | RULE_LOCAL_SRC | RULE_LOCAL_DST | RULE_CARRIED},
	[GANTRY_OP_COPY_SG] = {RULE_COPIES | RULE_ARG0 | RULE_LISTS | RULE_CARRIED, GANTRY_WORK_SG},
	[GANTRY_OP_FILL] = {RULE_IS_OP | RULE_DST | RULE_LEN | RULE_ARG0 | RULE_LOCAL_DST |
				    RULE_CARRIED,
		GANTRY_WORK_FILL},
	[GANTRY_OP_GATHER] = {RULE_COPIES | RULE_LOCAL_SRC | RULE_LOCAL_DST | RULE_SRC_LAYOUT |
				      RULE_NEEDS_LAYOUT,
		GANTRY_WORK_READ},
	[GANTRY_OP_SCATTER] = {RULE_COPIES | RULE_LOCAL_SRC | RULE_LOCAL_DST | RULE_DST_LAYOUT |
				       RULE_NEEDS_LAYOUT,
		GANTRY_WORK_WRITE},
	[GANTRY_OP_WRITE] = {RULE_REMOTE | RULE_LOCAL_SRC | RULE_SRC_LAYOUT, GANTRY_WORK_WRITE},
	[GANTRY_OP_READ] = {RULE_REMOTE | RULE_LOCAL_DST | RULE_DST_LAYOUT, GANTRY_WORK_READ},
	[GANTRY_OP_WRITE_IMM] = {RULE_REMOTE | RULE_LOCAL_SRC | RULE_IMM | RULE_SOLICITS |
					 RULE_MAY_BE_EMPTY | RULE_SRC_LAYOUT,
		GANTRY_WORK_WRITE_IMM},
	[GANTRY_OP_SEND] = {RULE_SENDS, GANTRY_WORK_SEND},
	[GANTRY_OP_SEND_IMM] = {RULE_SENDS | RULE_IMM, GANTRY_WORK_SEND_IMM},
	[GANTRY_OP_SEND_INV] = {RULE_SENDS | RULE_IMM, GANTRY_WORK_SEND_INV},
	[GANTRY_OP_COMPARE_SWAP] = {RULE_ATOMICS | RULE_ARG1, GANTRY_WORK_COMPARE_SWAP},
	[GANTRY_OP_FETCH_ADD] = {RULE_ATOMICS, GANTRY_WORK_FETCH_ADD},
	[GANTRY_OP_RAW] = {RULE_IS_OP | RULE_SRC | RULE_LEN | RULE_PEER | RULE_ONE_MESSAGE |
				   RULE_RAW,
		GANTRY_WORK_RAW},
	[GANTRY_OP_TXN] = {RULE_IS_OP | RULE_SRC | RULE_LEN | RULE_PEER | RULE_TXN},
};

/* Initializes a field of a mask: all bits if the operation uses the field, otherwise 0. */
#define RULE_FIELD(uses, use, field) .field = ((uses) & (use)) != 0 ? (__typeof__(may.field))-1 : 0

/*
 * Returns true if all fields that the operation does not use are 0. uses: the used fields, from the
 * row of the operation. flags: the flags that are possible besides GANTRY_DESC_SOLICITED, as in a
 * head.
 */
static __rte_always_inline bool
gantry_rule_is_kept(const struct gantry_desc *d, uint32_t uses, uint64_t flags)
{
	const struct gantry_desc may = {
		.op = UINT8_MAX,
		.flags = (uses & RULE_SOLICITS) != 0 ? GANTRY_DESC_SOLICITED : 0,
		RULE_FIELD(uses, RULE_PEER, peer),
		RULE_FIELD(uses, RULE_SRC_LAYOUT | RULE_DST_LAYOUT, layout),
		RULE_FIELD(uses, RULE_SRC, src),
		RULE_FIELD(uses, RULE_DST, dst),
		RULE_FIELD(uses, RULE_LEN, len),
		RULE_FIELD(uses, RULE_KEY, remote_key),
		RULE_FIELD(uses, RULE_IMM, imm),
		RULE_FIELD(uses, RULE_ARG0, arg[0]),
		RULE_FIELD(uses, RULE_ARG1, arg[1]),
	};
	uint64_t key_imm, may_key_imm;

	memcpy(&key_imm, &d->remote_key, sizeof(key_imm));
	memcpy(&may_key_imm, &may.remote_key, sizeof(may_key_imm));
	return likely((gantry_desc_head(d) & ~(gantry_desc_head(&may) | flags)) == 0) &&
	       likely(((key_imm & ~may_key_imm) | (d->src & ~may.src) | (d->dst & ~may.dst) |
			      (d->len & ~may.len) | (d->arg[0] & ~may.arg[0]) |
			      (d->arg[1] & ~may.arg[1])) == 0);
}

#endif
