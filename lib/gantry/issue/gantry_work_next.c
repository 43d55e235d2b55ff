/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the WQEs of work that is not a plain copy of one WQE. */
#include "gantry_work_next.h"

#include <hwq_wqe_umr.h>

#include "gantry_cell.h"
#include "gantry_dc_peer.h"
#include "gantry_doorbell.h"
#include "gantry_engine.h"
#include "gantry_fill.h"
#include "gantry_finish.h"
#include "gantry_queue.h"
#include "gantry_sg.h"

/*
 * Returns the bytes of the next RDMA operation or SEND. If MMO carries copies, max_len of the own
 * connection is the limit of MMO, and not that of RDMA.
 */
static uint64_t
message_len(const struct gantry_queue *q, const struct gantry_work *w)
{
	bool own_by_mmo = w->conn == GANTRY_CONN_OWN && q->mmo;

	return RTE_MIN(w->len, own_by_mmo ? q->g->max_msg_len : q->conn[w->conn].max_len);
}

/* Moves w forward: a WQE carries its next len bytes. */
static inline void
advance(struct gantry_work *w, uint64_t len)
{
	w->src += len;
	w->dst += len;
	w->len -= len;
	w->done = w->len == 0;
}

/* Writes a WQE that moves as many bytes as one WQE can. A long operation has several such WQEs. */
static bool
next_piece(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w, uint8_t kind)
{
	uint64_t len = kind == GANTRY_WORK_MEMCPY ? RTE_MIN(w->len, c->max_len) : message_len(q, w);

	if (!gantry_work_put(c, w, kind, len))
		return false;
	advance(w, len);
	return true;
}

/* Writes a WQE of a COPY_SG, for the bytes up to the next end of an entry. */
static bool
next_sg(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	struct gantry_work piece;

	if (!gantry_sg_piece(q, w, c->max_len, &piece)) {
		/* gantry_xlate() has checked the first piece, so this is a later piece. */
		w->finish |= GANTRY_FINISH_MEMORY_GONE;
		w->done = true;
		return false;
	}
	if (!gantry_work_put(c, &piece, piece.copy, piece.len))
		return false;
	gantry_sg_advance(w, piece.len);
	w->done = w->len == 0;
	return true;
}

/*
 * Writes a WQE of a fill, for as many bytes as one buffer has. w->src: the byte of the pattern with
 * which the next piece begins.
 */
static bool
next_fill(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	uint64_t len = RTE_MIN(RTE_MIN(w->len, c->max_len), GANTRY_FILL_LONG - w->src);
	uint64_t buffer =
		gantry_fill_get(&q->fill, &q->conn[GANTRY_CONN_OWN], w->arg[0], w->src + len);
	struct gantry_work piece = *w;

	if (buffer == 0)
		return false;
	piece.src = buffer + w->src;
	if (!gantry_work_put(c, &piece, w->copy, len))
		return false;
	gantry_fill_used(&q->fill, &q->conn[GANTRY_CONN_OWN], buffer);
	w->src = (w->src + len) % sizeof(w->arg[0]);
	w->dst += len;
	w->len -= len;
	w->done = w->len == 0;
	return true;
}

/*
 * The last step after each call of a builder below. The builder wrote a WQE without a CQE. n: the
 * builder's result. If n says that a WQE was written, asks for its CQE if it is the last WQE of a
 * quarter of the ring, and returns true.
 */
static bool
was_put(struct gantry_conn *c, uint16_t pi, int n)
{
	/* gantry_xlate.c has excluded every error except a full ring. */
	RTE_ASSERT(n >= 0);
	if (unlikely(n <= 0))
		return false;
	if (gantry_conn_signals(c, (uint16_t)(c->sq->pi - pi)))
		hwq_sq_signal_last(c->sq);
	return true;
}

/*
 * Writes a WQE of a WRITE, WRITE_IMM or SEND. If a WRITE_IMM is longer than a message, only its
 * last message has the immediate data, because the peer writes messages of one connection in order.
 * dest: the address of a DC peer, or NULL if the peer has a connection of its own.
 */
static __rte_always_inline bool
message(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w, uint8_t kind,
	const struct hwq_dc_dest *dest)
{
	uint64_t len = message_len(q, w);
	bool last = len == w->len;
	uint8_t opcode = gantry_work_opcodes[last ? kind : GANTRY_WORK_WRITE];
	unsigned int flags = w->flags | (w->solicited && last ? HWQ_WQE_SOLICITED : 0);
	bool in_wqe = len <= c->max_inline && w->layout == GANTRY_WORK_NO_LAYOUT && !w->no_inline;
	__be32 imm = last ? htobe32(w->imm) : 0;
	uint16_t pi = c->sq->pi;
	int n = gantry_work_put_message(c->sq, dest, in_wqe, opcode, w->dst_key, w->dst, w->src_key,
		w->src, len, flags, imm);

	if (!was_put(c, pi, n))
		return false;
	advance(w, len);
	return true;
}

static bool
next_message(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	return message(q, c, w, w->kind, NULL);
}

/*
 * Writes the WQE of an atomic. The device writes the old value to a cell of the queue, from which
 * gantry_finish() reads it. dest: as in message().
 */
static __rte_always_inline bool
atomic(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w, uint8_t kind,
	const struct hwq_dc_dest *dest)
{
	uint64_t *cell = gantry_cell_get(&q->cells);
	uint16_t pi = c->sq->pi;
	int n;

	if (cell == NULL)
		return false;
	n = gantry_work_put_atomic(c->sq, dest, kind == GANTRY_WORK_COMPARE_SWAP, w->dst_key,
		w->dst, q->cells.mr.lkey, (uintptr_t)cell, w->arg);
	if (!was_put(c, pi, n)) {
		gantry_cell_put(&q->cells, cell);
		return false;
	}
	w->kept = (uintptr_t)cell;
	w->finish = GANTRY_FINISH_ATOMIC;
	w->done = true;
	return true;
}

static bool
next_atomic(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	return atomic(q, c, w, w->kind, NULL);
}

bool
gantry_work_raw_len_is_possible(uint64_t len)
{
	return len % HWQ_DS_LEN == 0 && len / HWQ_DS_LEN <= HWQ_DS_MAX;
}

bool
gantry_work_raw_is_possible(const struct gantry_queue *q, uint32_t conn, const void *wqe,
	uint64_t len)
{
	uint64_t ds = len / HWQ_DS_LEN;

	if (conn == GANTRY_CONN_DCI && !hwq_dc_raw_is_possible(wqe))
		return false;
	return hwq_raw_ds(wqe) == ds && 2 * hwq_ds_to_bb(ds) <= q->conn[conn].n_bb;
}

static bool
next_raw(struct gantry_conn *c, struct gantry_work *w)
{
	uint16_t pi = c->sq->pi;

	w->done = was_put(c, pi, hwq_wqe_raw(c->sq, (const void *)w->src, 0));
	return w->done;
}

static bool
next_dc_read(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w,
	const struct hwq_dc_dest *dest)
{
	uint64_t len = message_len(q, w);
	uint16_t pi = c->sq->pi;

	if (!was_put(c, pi,
		    hwq_wqe_dc_one(c->sq, dest, MLX5_OPCODE_RDMA_READ, w->src_key, w->src,
			    w->dst_key, w->dst, len, w->flags, 0)))
		return false;
	advance(w, len);
	return true;
}

static bool
next_dc_raw(struct gantry_conn *c, struct gantry_work *w, const struct hwq_dc_dest *dest)
{
	uint16_t pi = c->sq->pi;

	w->done = was_put(c, pi, hwq_wqe_dc_raw(c->sq, dest, (const void *)w->src, 0));
	return w->done;
}

static bool
put_dc(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	const struct hwq_dc_dest *dest = &q->peer_more[w->peer].dc->dest;
	uint8_t kind = w->kind & ~GANTRY_WORK_DC;

	switch (kind) {
	case GANTRY_WORK_READ:
		return next_dc_read(q, c, w, dest);
	case GANTRY_WORK_COMPARE_SWAP:
	case GANTRY_WORK_FETCH_ADD:
		return atomic(q, c, w, kind, dest);
	case GANTRY_WORK_RAW:
		return next_dc_raw(c, w, dest);
	default:
		return message(q, c, w, kind, dest);
	}
}

/*
 * Writes a WQE to a DC peer, and stores the peer in the slot. gantry_peer.c needs the peer, and the
 * connection does not identify it, because all DC peers have the same connection.
 */
static __rte_noinline bool
next_dc(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	struct gantry_stream *s = c->stream;

	if (!put_dc(q, c, w))
		return false;
	gantry_stream_pend(s, s->issue)->peer = w->peer;
	return true;
}

void
gantry_work_take_key(const struct gantry_queue *q, struct gantry_work *w, uint16_t key)
{
	uint32_t number = gantry_keys_number(&q->keys, key);

	w->key = key;
	if (w->layout == GANTRY_WORK_SRC_LAYOUT)
		w->src_key = number;
	else
		w->dst_key = number;
	/* WQEs behind the UMR wait for the UMR, unless it is done. */
	w->flags = gantry_keys_is_fresh(&q->keys, key) ? HWQ_WQE_AFTER_UMR : 0;
}

/*
 * Lets the own connection post a UMR for a key of the DC initiator. The two send queues are
 * independent, so the descriptor has to wait for the UMR's CQE. The descriptor finds the key when
 * it is tried again.
 */
static void
lay_out_for_dc(struct gantry_queue *q)
{
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	uint16_t pi = own->sq->pi;
	uint32_t n_bb;

	if (own->state != GANTRY_CONN_READY)
		return;
	was_put(own, pi, gantry_keys_post(&q->keys) != GANTRY_NO_KEY);
	n_bb = (uint16_t)(own->sq->pi - pi);
	own->posted += n_bb;
	gantry_note_posted(q, GANTRY_CONN_OWN, n_bb);
	gantry_counter_add(&q->stats.own_others, n_bb);
}

/*
 * Notes that WQEs with the work's key were written. begins: true if they are the descriptor's first
 * ones. WQEs behind pi are not in c->posted yet. If no earlier descriptor has used the key, its UMR
 * was posted for this descriptor, which is a miss.
 */
static void
note_key(struct gantry_queue *q, const struct gantry_conn *c, const struct gantry_work *w,
	uint16_t pi, bool begins)
{
	if (begins)
		gantry_counter_add(q->keys.key[w->key].used_to != 0 ? &q->keys.hits
								    : &q->keys.misses,
			1);
	gantry_keys_used(&q->keys, w->key, c->posted + (uint16_t)(c->sq->pi - pi));
}

/* Returns true if no WQE with the work's layout was written yet. */
static bool
layout_begins(const struct gantry_work *w)
{
	return (w->layout == GANTRY_WORK_SRC_LAYOUT ? w->src : w->dst) == 0;
}

static bool
next_dc_with_layout(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	bool begins = layout_begins(w);
	uint16_t pi = c->sq->pi;

	if (w->key == GANTRY_NO_KEY)
		lay_out_for_dc(q);
	if (w->key == GANTRY_NO_KEY || gantry_keys_is_fresh(&q->keys, w->key) || !next_dc(q, c, w))
		return false;
	note_key(q, c, w, pi, begins);
	return true;
}

/* Writes work with a layout: first the UMR of the key, then the WQEs that use the key. */
static bool
next_with_layout(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	bool begins = layout_begins(w);
	uint16_t pi = c->sq->pi, key;

	if (w->conn == GANTRY_CONN_DCI)
		return next_dc_with_layout(q, c, w);
	if (w->key == GANTRY_NO_KEY) {
		key = gantry_keys_post(&q->keys);
		if (!was_put(c, pi, key != GANTRY_NO_KEY))
			return false;
		gantry_work_take_key(q, w, key);
		return true;
	}
	if (w->kind == GANTRY_WORK_READ ? !next_piece(q, c, w, GANTRY_WORK_READ)
					: !next_message(q, c, w))
		return false;
	note_key(q, c, w, pi, begins);
	return true;
}

bool
gantry_work_next(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	if (w->layout != GANTRY_WORK_NO_LAYOUT)
		return next_with_layout(q, c, w);
	switch ((enum gantry_work_kind)w->kind) {
	case GANTRY_WORK_MEMCPY:
		return next_piece(q, c, w, GANTRY_WORK_MEMCPY);
	case GANTRY_WORK_READ:
		return next_piece(q, c, w, GANTRY_WORK_READ);
	case GANTRY_WORK_WRITE:
	case GANTRY_WORK_WRITE_IMM:
	case GANTRY_WORK_SEND:
	case GANTRY_WORK_SEND_IMM:
	case GANTRY_WORK_SEND_INV:
		return next_message(q, c, w);
	case GANTRY_WORK_COMPARE_SWAP:
	case GANTRY_WORK_FETCH_ADD:
		return next_atomic(q, c, w);
	case GANTRY_WORK_RAW:
		return next_raw(c, w);
	case GANTRY_WORK_SG:
		return next_sg(q, c, w);
	case GANTRY_WORK_FILL:
		return next_fill(q, c, w);
	default:
		return next_dc(q, c, w);
	}
}
