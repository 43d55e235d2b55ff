/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of opcodes: one row for each. */
#ifndef SOFTHCA_OPCODE_TABLE_H
#define SOFTHCA_OPCODE_TABLE_H

#include "opcode.h"

/*
 * By a WQE's opcode field. Every value has a row: unknown opcodes have no executor, and no QP type
 * runs them.
 */
extern const struct opcode opcodes[UINT8_MAX + 1];

#endif
