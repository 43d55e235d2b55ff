/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of opcodes: one row for each opcode. */
#ifndef SOFTHCA_OPCODE_TABLE_H
#define SOFTHCA_OPCODE_TABLE_H

#include "opcode.h"

/*
 * Indexed by a WQE's opcode field. Each of the 256 values has a row. The row of an unknown opcode
 * allows no QP type and has no executor.
 */
extern const struct opcode opcodes[UINT8_MAX + 1];

#endif
