/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of opcodes: one row for each. */
#ifndef SOFTHCA_OPCODE_TABLE_H
#define SOFTHCA_OPCODE_TABLE_H

#include "opcode.h"

#define OPCODES 64
extern const struct opcode opcodes[OPCODES];

/* The row of a WQE's opcode field. Every value has one: unknown opcodes have no executor. */
static inline const struct opcode *
opcode_find(uint32_t opcode)
{
	return &opcodes[opcode < OPCODES ? opcode : OPCODES - 1];
}

#endif
