/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a checked descriptor still asks of the hardware, and the WQEs that it becomes.
 *
 *   gantry_xlate()       makes the work
 *   gantry_work_next()   writes its next WQE, and moves the work forward by what that WQE does
 *   ... until gantry_work_is_done()
 *
 * Whoever posts knows only these two calls: splitting, and work of several different WQEs, are
 * steps of the same kind.
 */
#ifndef GANTRY_WORK_H
#define GANTRY_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include <hwq_wqe.h>

#include "gantry_conn.h"

struct gantry_queue;

enum gantry_work_kind {
	GANTRY_WORK_MEMCPY,
	GANTRY_WORK_WRITE,
	GANTRY_WORK_READ,
	GANTRY_WORK_WRITE_IMM,
	GANTRY_WORK_SEND,
	GANTRY_WORK_SEND_IMM,
	GANTRY_WORK_SEND_INV,
	GANTRY_WORK_COMPARE_SWAP,
	GANTRY_WORK_FETCH_ADD,
	GANTRY_WORK_RAW,
	GANTRY_WORK_SG,
	GANTRY_WORK_FILL,

	/* A bit beside one of the kinds above: it goes to a DC peer, which each WQE names. */
	GANTRY_WORK_DC = 1 << 7,
};

/* The layout that one side of the work has. That side's addresses are offsets in the key. */
enum gantry_work_layout {
	GANTRY_WORK_NO_LAYOUT = 0,
	GANTRY_WORK_SRC_LAYOUT, /* src_key is to be the key's number */
	GANTRY_WORK_DST_LAYOUT, /* dst_key */
};

/* A checked descriptor: addresses with keys, and the connection that carries it. */
struct gantry_work {
	uint64_t src;
	uint64_t dst;
	uint64_t len; /* bytes that no WQE carries yet */
	/* Operands of an atomic; arg[0] is the pattern of a fill. Of lists: gantry_sg_piece(). */
	uint64_t arg[2];
	/* What the slot keeps for gantry_finish(): its completion's `result` until then. */
	uint64_t kept;
	uint32_t src_key;
	uint32_t dst_key;
	uint16_t conn;   /* index in gantry_queue::conn; GANTRY_CONN_NONE: the CPU carries it */
	uint8_t kind;    /* enum gantry_work_kind */
	uint8_t carrier; /* enum gantry_carrier: of a copy; else GANTRY_CARRIER_USUAL */
	bool done;       /* every WQE is written */
	bool solicited;  /* GANTRY_DESC_SOLICITED */
	uint8_t layout;  /* enum gantry_work_layout */
	uint8_t flags;   /* HWQ_WQE_*: of each WQE */
	uint8_t copy;    /* of fills and pieces of lists: the kind of their WQEs */
	bool no_inline;  /* the CPU cannot read src */
	uint16_t key;    /* if there is a layout: number in gantry_keys */
	uint16_t peer;   /* of GANTRY_WORK_DC: number in gantry_queue::peer */
	uint32_t imm;    /* immediate data, or the key to invalidate; in the CPU's byte order */
	uint32_t finish; /* GANTRY_FINISH_*: what gantry_finish() has to do, see gantry_finish.h */
};

/* The work goes to a DC peer. */
static inline void
gantry_work_set_dc(struct gantry_work *w, uint16_t peer)
{
	w->kind |= GANTRY_WORK_DC;
	w->peer = peer;
}

/* True: every WQE of the work is written. */
static inline bool
gantry_work_is_done(const struct gantry_work *w)
{
	return w->done;
}

/*
 * Writes the next WQE of the work to the connection that carries it. c->posted is as it was before:
 * the caller moves it by what the send queue's producer index moved, with the NOP at the ring's end.
 * Owner thread.
 * True: one WQE is written and *w is moved forward. False: there is no room for it now, and *w is as
 * it was.
 */
bool gantry_work_next(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w);

/* The WQEs of work with a layout name this key from now on. */
void gantry_work_take_key(const struct gantry_queue *q, struct gantry_work *w, uint16_t key);

/* False: no raw WQE is len bytes long. */
bool gantry_work_raw_len_is_possible(uint64_t len);
/* False: the WQE does not say that it is len bytes long, or it is too long for the send queue. */
bool gantry_work_raw_is_possible(const struct gantry_queue *q, uint32_t conn, const void *wqe,
	uint64_t len);

/*
 * Writes one WQE of one WQEBB for the first len bytes of the work, of a constant `kind`. Moves
 * neither *w nor c->posted. False: the send queue is full and nothing was written.
 */
static __rte_always_inline bool
gantry_work_put(struct gantry_conn *c, const struct gantry_work *w, uint8_t kind, uint32_t len)
{
	/* gantry_conn_signals(c, 1), in one comparison. */
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

#endif
