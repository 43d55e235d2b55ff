/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the device knows of each opcode of a send queue: one row of one table.
 *
 * A new opcode is a row in opcode.c and its executor.
 */
#ifndef SOFTHCA_OPCODE_H
#define SOFTHCA_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "wire.h"

struct run;
struct wqe;

/* Runs one WQE: SYN_OK, the syndrome it fails with, or an enum exec_result. */
typedef unsigned int exec_fn(struct run *run, const struct wqe *wqe);

struct opcode {
	exec_fn *exec;     /* NULL: not an opcode of this device */
	uint16_t qp_types; /* QP_TYPE_BIT() of each QP type that may run it */
	/*
	 * 16-byte units before its data segments: control segment, remote address and operands, but
	 * not the address of a datagram. A WQE with fewer units is malformed.
	 */
	uint8_t head_ds;
	/*
	 * Stays inside the adapter. Otherwise it goes to a peer or onto the wire: an address may
	 * precede its segments, it needs a link, and it takes port and round trip in the timing model.
	 */
	bool local;
	uint32_t
		access; /* to the memory of its data segments: ACC_LOCAL_WRITE, or 0 to read them */
	uint32_t remote_access;    /* to the responder's memory: one of ACC_REMOTE_*, or 0 */
	enum wire_cqe_opcode recv; /* completion of the receive that it uses at the peer */
	bool uses_receive;
};

/* The values of enum softhca_qp_type differ in their lowest four bits: see opcode.c. */
#define QP_TYPE_BIT(type) ((uint16_t)(1u << ((type)&15)))

#define OPCODES 64
extern const struct opcode opcodes[OPCODES];

/* The row of a WQE's opcode field. Every value has one: unknown opcodes have no executor. */
static inline const struct opcode *
opcode_find(uint32_t opcode)
{
	return &opcodes[opcode < OPCODES ? opcode : OPCODES - 1];
}

static inline bool
opcode_runs_on(const struct opcode *op, enum softhca_qp_type type)
{
	return (op->qp_types & QP_TYPE_BIT(type)) != 0;
}

#endif
