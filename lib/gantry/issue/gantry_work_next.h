/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the WQEs of work.
 *
 *   gantry_xlate()       makes the work
 *   gantry_work_next()   writes its next WQE, and moves the work forward by what that WQE does
 *   ... until gantry_work_is_done()
 *
 * Callers need only these calls. Each call writes one WQE, also if the operation is split or its
 * WQEs are of different kinds.
 */
#ifndef GANTRY_WORK_NEXT_H
#define GANTRY_WORK_NEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include <hwq_wqe_dc.h>

#include "gantry_conn.h"
#include "gantry_work.h"

struct gantry_queue;

/*
 * Writes the next WQE of the work to the connection that carries it. Does not change c->posted: the
 * caller adds the advance of the send queue's producer index, which includes a NOP at the ring's
 * end. Owner thread. Returns true if one WQE is written; *w has then moved forward. Returns false
 * if the send queue has too few free WQEBBs now; *w has then not changed.
 */
bool gantry_work_next(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w);

/* Sets the key that the further WQEs of work with a layout use. */
void gantry_work_take_key(const struct gantry_queue *q, struct gantry_work *w, uint16_t key);

/* Returns false if no raw WQE is len bytes long. */
bool gantry_work_raw_len_is_possible(uint64_t len);
/*
 * Returns false if the WQE's own length is not len bytes, or the WQE is too long for the send
 * queue.
 */
bool gantry_work_raw_is_possible(const struct gantry_queue *q, uint32_t conn, const void *wqe,
	uint64_t len);

/*
 * Writes one WQE of one WQEBB for the first len bytes of the work. kind: a constant. Does not
 * change *w or c->posted. Returns false if the send queue is full; nothing is written then.
 */
static __rte_always_inline bool
gantry_work_put(struct gantry_conn *c, const struct gantry_work *w, uint8_t kind, uint32_t len)
{
	/* This is gantry_conn_signals(c, 1) in one comparison. */
	bool signal = (c->posted & c->signal_mask) == c->signal_mask;
	unsigned int flags = (signal ? HWQ_WQE_SIGNALED : 0) | w->flags;
	int n;

	if (kind == GANTRY_WORK_MEMCPY)
		n = hwq_wqe_memcpy(c->sq, w->dst_key, w->dst, w->src_key, w->src, len, flags);
	else if (kind == GANTRY_WORK_WRITE)
		n = hwq_wqe_rdma_write(c->sq, w->dst_key, w->dst, w->src_key, w->src, len, flags);
	else
		n = hwq_wqe_rdma_read(c->sq, w->src_key, w->src, w->dst_key, w->dst, len, flags);
	return likely(n > 0);
}

/* The opcodes of messages. The index is enum gantry_work_kind. */
static const uint8_t gantry_work_opcodes[] = {
	[GANTRY_WORK_WRITE] = MLX5_OPCODE_RDMA_WRITE,
	[GANTRY_WORK_READ] = MLX5_OPCODE_RDMA_READ,
	[GANTRY_WORK_WRITE_IMM] = MLX5_OPCODE_RDMA_WRITE_IMM,
	[GANTRY_WORK_SEND] = MLX5_OPCODE_SEND,
	[GANTRY_WORK_SEND_IMM] = MLX5_OPCODE_SEND_IMM,
	[GANTRY_WORK_SEND_INV] = MLX5_OPCODE_SEND_INVAL,
};

/*
 * Writes a SEND, an RDMA write or an RDMA read that makes no CQE. dest: the address of a DC peer,
 * or NULL if the peer has a connection of its own. in_wqe: the data are copied into the WQE.
 * Returns the number of WQEBBs, or 0 if the send queue is full; nothing is written then.
 */
static __rte_always_inline int
gantry_work_put_message(struct hwq_sq *sq, const struct hwq_dc_dest *dest, bool in_wqe,
	uint8_t opcode, uint32_t rkey, uint64_t raddr, uint32_t lkey, uint64_t addr, uint32_t len,
	unsigned int flags, __be32 imm)
{
	const void *data = (const void *)(uintptr_t)addr;

	if (likely(dest == NULL))
		return in_wqe ? hwq_wqe_inline(sq, opcode, rkey, raddr, data, len, flags, imm)
			      : hwq_wqe_one(sq, opcode, rkey, raddr, lkey, addr, len, flags, imm);
	return in_wqe ? hwq_wqe_dc_inline(sq, dest, opcode, rkey, raddr, data, len, flags, imm)
		      : hwq_wqe_dc_one(sq, dest, opcode, rkey, raddr, lkey, addr, len, flags, imm);
}

/* Returns the number of WQEBBs of a message. dc: true if the message goes to a DC peer. */
static __rte_always_inline unsigned int
gantry_work_message_bb(bool dc, bool in_wqe, uint8_t opcode, uint32_t len)
{
	return hwq_ds_to_bb((dc ? hwq_wqe_dc_head_ds(opcode) : hwq_wqe_head_ds(opcode)) +
			    (in_wqe ? hwq_inline_ds(len) : 1));
}

/*
 * As gantry_work_put_message(), for an atomic. The device writes the old value to addr. arg: the
 * operands as in gantry_desc::arg.
 */
static __rte_always_inline int
gantry_work_put_atomic(struct hwq_sq *sq, const struct hwq_dc_dest *dest, bool swap, uint32_t rkey,
	uint64_t raddr, uint32_t lkey, uint64_t addr, const uint64_t arg[2])
{
	uint8_t opcode = swap ? MLX5_OPCODE_ATOMIC_CS : MLX5_OPCODE_ATOMIC_FA;
	uint64_t swap_add = swap ? arg[1] : arg[0], compare = swap ? arg[0] : 0;

	return likely(dest == NULL)
		       ? hwq_wqe_atomic(sq, opcode, rkey, raddr, lkey, addr, swap_add, compare, 0)
		       : hwq_wqe_dc_atomic(sq, dest, opcode, rkey, raddr, lkey, addr, swap_add,
				 compare, 0);
}

#endif
