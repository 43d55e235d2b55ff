/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the device knows of an opcode of a send queue: a row of the table in opcode_table.c.
 *
 * A new opcode is its number and its executor's name here, its row there, and its executor in an
 * exec_*.c. If it asks something new of a peer, the peer's answer is a function in a respond_*.c.
 */
#ifndef SOFTHCA_OPCODE_H
#define SOFTHCA_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "wire.h"

/* The numbers of mlx5dv.h, MLX5_OPCODE_*. */
enum opcode_number {
	OPC_NOP = 0x00,
	OPC_SEND_INV = 0x01,
	OPC_WRITE = 0x08,
	OPC_WRITE_IMM = 0x09,
	OPC_SEND = 0x0a,
	OPC_SEND_IMM = 0x0b,
	OPC_TSO = 0x0e,
	OPC_READ = 0x10,
	OPC_ATOMIC_CS = 0x11,
	OPC_ATOMIC_FA = 0x12,
	OPC_SET_PSV = 0x20,
	OPC_UMR = 0x25,
	OPC_MMO = 0x2f
};

/* Which headers an opcode's message has, and which requests its responder counts: carried.c. */
enum message_kind {
	MESSAGE_SEND,
	MESSAGE_SEND_MORE, /* with immediate data, or with a key to invalidate */
	MESSAGE_WRITE,
	MESSAGE_WRITE_IMM,
	MESSAGE_READ,
	MESSAGE_ATOMIC,
	MESSAGE_N_KINDS
};

struct answer;
struct message;
struct run;
struct wqe;

/* Runs one WQE: SYN_OK, the syndrome that it fails with, or enum message_result. */
typedef unsigned int exec_fn(struct run *run, const struct wqe *wqe);
/* Answers one message, at the QP that run->responder holds: as responder_ask(). */
typedef unsigned int respond_fn(struct run *run, const struct message *m, struct answer *answer);

exec_fn exec_nop, exec_send, exec_write, exec_read, exec_atomic, exec_tso, exec_mmo, exec_umr,
	exec_set_psv;
respond_fn respond_send, respond_write, respond_read, respond_compare_swap, respond_fetch_add;
/* SEND and TSO of a raw packet QP, and SEND over UD: the functions above hand these WQEs on. */
exec_fn exec_raw_send;
respond_fn respond_datagram;

struct opcode {
	exec_fn *exec;       /* NULL: not an opcode of this device */
	respond_fn *respond; /* NULL: no message reaches a responder */
	uint16_t qp_types;   /* QP_TYPE_BIT() of each QP type that may run it */
	/*
	 * 16-byte units before its data segments: control segment, remote address and operands, but
	 * not the address of a datagram. A WQE with fewer units is malformed.
	 */
	uint8_t head_ds;
	/*
	 * It stays inside the adapter. Other opcodes may have an address behind the control
	 * segment, need a link, and take port and round trip in the timing model.
	 */
	bool local;
	uint8_t access;        /* to its data segments: ACC_LOCAL_WRITE; 0: it reads them */
	uint8_t remote_access; /* to the responder's memory: one of ACC_REMOTE_*, or 0 */
	uint8_t kind;          /* of a message to a responder: enum message_kind */
	uint8_t recv; /* enum wire_cqe_opcode of the receive that it uses at the responder, or 0 */
};

/* The values of enum softhca_qp_type differ in their lowest four bits: see opcode_table.c. */
#define QP_TYPE_BIT(type) ((uint16_t)(1u << ((type)&15)))

static inline bool
opcode_runs_on(const struct opcode *op, enum softhca_qp_type type)
{
	return (op->qp_types >> (type & 15) & 1) != 0;
}

#endif
