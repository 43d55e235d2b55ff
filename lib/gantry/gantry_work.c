/* SPDX-License-Identifier: BSD-3-Clause */
/* The WQEs of work that is not a plain copy of one WQE. */
#include "gantry_work.h"

#include <hwq_wqe_umr.h>

#include "gantry_cell.h"
#include "gantry_engine.h"
#include "gantry_fill.h"
#include "gantry_finish.h"
#include "gantry_queue.h"
#include "gantry_sg.h"

/* Bytes of the next RDMA or SEND. If copies go by MMO, the own connection's limit is theirs. */
static uint64_t
message_len(const struct gantry_queue *q, const struct gantry_work *w)
{
	bool own_by_mmo = w->conn == GANTRY_CONN_OWN && q->mmo;

	return RTE_MIN(w->len, own_by_mmo ? q->g->max_msg_len : q->conn[w->conn].max_len);
}

/* Writes WQEs that move as many bytes as one WQE can: a long operation is several of them. */
static bool
next_piece(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w, uint8_t kind)
{
	uint64_t len = kind == GANTRY_WORK_MEMCPY ? RTE_MIN(w->len, c->max_len) : message_len(q, w);

	if (!gantry_work_put(c, w, kind, len))
		return false;
	w->src += len;
	w->dst += len;
	w->len -= len;
	w->done = w->len == 0;
	return true;
}

/* What carries copies to the own connection. */
static uint8_t
copy_kind(const struct gantry_queue *q)
{
	return q->mmo ? GANTRY_WORK_MEMCPY : GANTRY_WORK_WRITE;
}

/* A COPY_SG: the bytes up to the next end of an entry. */
static bool
next_sg(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	struct gantry_work piece;

	if (!gantry_sg_piece(q, w, c->max_len, &piece)) {
		/* The first piece was checked by gantry_xlate(), so this is a later one. */
		w->finish |= GANTRY_FINISH_NOT_REGISTERED;
		w->done = true;
		return false;
	}
	if (!gantry_work_put(c, &piece, copy_kind(q), piece.len))
		return false;
	gantry_sg_advance(w, piece.len);
	w->done = w->len == 0;
	return true;
}

/* A fill: as much as one buffer has. src is where in the pattern the next piece begins. */
static bool
next_fill(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	uint64_t len = RTE_MIN(RTE_MIN(w->len, c->max_len), GANTRY_FILL_LEN - w->src);
	uint64_t buffer = gantry_fill_get(q, w->arg[0], w->src + len);
	struct gantry_work piece = *w;

	if (buffer == 0)
		return false;
	piece.src = buffer + w->src;
	if (!gantry_work_put(c, &piece, copy_kind(q), len))
		return false;
	gantry_fill_used(q, buffer);
	w->src = (w->src + len) % sizeof(w->arg[0]);
	w->dst += len;
	w->len -= len;
	w->done = w->len == 0;
	return true;
}

/*
 * The last step of each builder call below, which made a WQE without a CQE. n: what the builder
 * returned. True: it wrote a WQE, and that makes a CQE if it is the last of a quarter of the ring.
 */
static bool
was_put(struct gantry_conn *c, uint16_t pi, int n)
{
	/* The checks of gantry_xlate.c left no other reason than a full ring. */
	RTE_ASSERT(n >= 0);
	if (unlikely(n <= 0))
		return false;
	if (gantry_conn_signals(c, (uint16_t)(c->sq->pi - pi)))
		hwq_sq_signal_last(c->sq);
	return true;
}

static uint8_t
opcode_of(enum gantry_work_kind kind)
{
	switch (kind) {
	case GANTRY_WORK_WRITE_IMM:
		return MLX5_OPCODE_RDMA_WRITE_IMM;
	case GANTRY_WORK_SEND:
		return MLX5_OPCODE_SEND;
	case GANTRY_WORK_SEND_IMM:
		return MLX5_OPCODE_SEND_IMM;
	case GANTRY_WORK_SEND_INV:
		return MLX5_OPCODE_SEND_INVAL;
	default:
		return MLX5_OPCODE_RDMA_WRITE;
	}
}

/*
 * WRITE, WRITE_IMM or a SEND. Of a WRITE_IMM that is longer than a message, the last message alone
 * has the immediate data: the peer places messages of one connection in their order.
 */
static bool
next_message(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	uint64_t len = message_len(q, w);
	bool last = len == w->len;
	uint8_t opcode = opcode_of(last ? w->kind : GANTRY_WORK_WRITE);
	unsigned int flags = w->flags | (w->solicited && last ? HWQ_WQE_SOLICITED : 0);
	__be32 imm = last ? htobe32(w->imm) : 0;
	uint16_t pi = c->sq->pi;

	int n;

	if (len <= c->max_inline && w->layout == GANTRY_WORK_NO_LAYOUT)
		n = hwq_wqe_inline_imm(c->sq, opcode, w->dst_key, w->dst, (const void *)w->src, len,
			flags, imm);
	else
		n = hwq_wqe_one_imm(c->sq, opcode, w->dst_key, w->dst, w->src_key, w->src, len,
			flags, imm);
	if (!was_put(c, pi, n))
		return false;
	w->src += len;
	w->dst += len;
	w->len -= len;
	w->done = last;
	return true;
}

/* The old value goes to a cell of the queue, where gantry_finish() takes it. */
static bool
next_atomic(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	struct hwq_sq *sq = c->sq;
	uint16_t pi = sq->pi;
	uint64_t *cell = gantry_cell_get(&q->cells);
	int n;

	if (cell == NULL)
		return false;
	if (w->kind == GANTRY_WORK_COMPARE_SWAP)
		n = hwq_wqe_atomic_cmp_swp(sq, w->dst_key, w->dst, q->cells.mr.lkey,
			(uintptr_t)cell, w->arg[0], w->arg[1], 0);
	else
		n = hwq_wqe_atomic_fetch_add(sq, w->dst_key, w->dst, q->cells.mr.lkey,
			(uintptr_t)cell, w->arg[0], 0);
	if (!was_put(c, pi, n)) {
		gantry_cell_put(&q->cells, cell);
		return false;
	}
	w->kept = (uintptr_t)cell;
	w->finish = GANTRY_FINISH_ATOMIC;
	w->done = true;
	return true;
}

bool
gantry_work_raw_len_is_possible(uint64_t len)
{
	return len % HWQ_DS_LEN == 0 && len / HWQ_DS_LEN <= HWQ_DS_MAX;
}

bool
gantry_work_raw_is_possible(const struct gantry_conn *c, const void *wqe, uint64_t len)
{
	uint64_t ds = len / HWQ_DS_LEN;

	return hwq_raw_ds(wqe) == ds && 2 * hwq_ds_to_bb(ds) <= hwq_sq_n_bb(c->sq);
}

static bool
next_raw(struct gantry_conn *c, struct gantry_work *w)
{
	uint16_t pi = c->sq->pi;

	w->done = was_put(c, pi, hwq_wqe_raw(c->sq, (const void *)w->src, 0));
	return w->done;
}

void
gantry_work_take_key(const struct gantry_queue *q, struct gantry_work *w, uint16_t key)
{
	uint32_t number = gantry_keys_number(q, key);

	w->key = key;
	if (w->layout == GANTRY_WORK_SRC_LAYOUT)
		w->src_key = number;
	else
		w->dst_key = number;
	/* The WQEs behind the UMR wait for it. Behind one that is done nobody has to. */
	w->flags = gantry_keys_is_fresh(q, key) ? HWQ_WQE_AFTER_UMR : 0;
}

/* Work with a layout: the key first, then the WQEs that name it. */
static bool
next_with_layout(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	uint16_t pi = c->sq->pi, key;

	if (w->key == GANTRY_NO_KEY) {
		key = gantry_keys_post(q, w->conn);
		if (!was_put(c, pi, key != GANTRY_NO_KEY))
			return false;
		gantry_work_take_key(q, w, key);
		return true;
	}
	if (w->kind == GANTRY_WORK_READ ? !next_piece(q, c, w, GANTRY_WORK_READ)
					: !next_message(q, c, w))
		return false;
	gantry_keys_used(q, w->key);
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
	}
	return false;
}
