/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of opcodes: one row for each. */
#ifndef SOFTHCA_OPCODE_TABLE_H
#define SOFTHCA_OPCODE_TABLE_H

#include "opcode.h"

/*
 * Indexed by a WQE's opcode field. Every value has a row; in the row of an unknown opcode, no QP
 * type is allowed and there is no executor.
 */
extern const struct opcode opcodes[UINT8_MAX + 1];

#endif
