/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A row of the table in opcode_table.c: the properties of an opcode of send queues.
 *
 * To add an opcode: add its number and the name of its executor in this file, its row in the table,
 * and its executor in an exec_*.c. If its message needs a new kind of answer, add a function to a
 * respond_*.c.
 */
#ifndef SOFTHCA_OPCODE_H
#define SOFTHCA_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca.h"
#include "wire.h"

/* The numbers MLX5_OPCODE_* of mlx5dv.h. */
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

/*
 * The kind of an opcode's message. It selects the headers and the responder's counter: carried.c.
 */
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

/*
 * Runs one WQE. Returns SYN_OK, or enum message_result, or the syndrome with which the WQE fails.
 */
typedef unsigned int exec_fn(struct run *run, const struct wqe *wqe);
/* Answers one message at run->responder.qp. Returns as responder_ask(). */
typedef unsigned int respond_fn(struct run *run, const struct message *m, struct answer *answer);

exec_fn exec_nop, exec_send, exec_write, exec_read, exec_atomic, exec_tso, exec_mmo, exec_umr,
	exec_set_psv;
respond_fn respond_send, respond_write, respond_read, respond_compare_swap, respond_fetch_add;
/*
 * Called by the executors and responders above: exec_raw_send() executes SEND and TSO of a raw
 * packet QP, and respond_datagram() answers SEND of UD.
 */
exec_fn exec_raw_send;
respond_fn respond_datagram;

struct opcode {
	exec_fn *exec;       /* NULL: the device lacks this opcode */
	respond_fn *respond; /* NULL: the opcode sends no message to a responder */
	uint16_t qp_types;   /* QP_TYPE_BIT() of each QP type that may run it */
	/*
	 * The number of 16-byte units before the data segments: control segment, remote address and
	 * operands, without the address of a datagram. A WQE with fewer units is malformed.
	 */
	uint8_t head_ds;
	/*
	 * True: the opcode stays inside the adapter. False: a WQE may have an address after the
	 * control segment, needs a link, and takes port time and a round trip in the timing model.
	 */
	bool local;
	/* access to the memory of the WQE's data segments: ACC_LOCAL_WRITE, or 0 for reading */
	uint8_t access;
	uint8_t remote_access; /* access to the responder's memory: one of ACC_REMOTE_*, or 0 */
	uint8_t number;        /* the opcode, if it has a responder */
	uint8_t kind;          /* enum message_kind of the message to the responder */
	/*
	 * opcode (enum wire_cqe_opcode) of the receive's completion at the responder; 0: the
	 * message uses no receive
	 */
	uint8_t recv;
};

/*
 * A bit for each QP type. The values of enum softhca_qp_type differ in their lowest four bits:
 * opcode_table.c asserts this.
 */
#define QP_TYPE_BIT(type) ((uint16_t)(1u << ((type)&15)))

static inline bool
opcode_runs_on(const struct opcode *op, enum softhca_qp_type type)
{
	return (op->qp_types >> (type & 15) & 1) != 0;
}

#endif
