/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a transaction, and finds the keys of its memory. Writes nothing to the hardware. */
#include "gantry_txn_check.h"

#include <string.h>

#include <rte_branch_prediction.h>

#include "gantry_engine.h"
#include "gantry_mem.h"
#include "gantry_queue.h"

/* A transaction that is being checked. No function that is not inline takes its address: so it lies in registers. */
struct check {
	struct gantry_queue *q;
	const struct gantry_txn *txn;
	const struct gantry_profile *p;
	uint32_t len; /* bytes of data */
	bool local;
	bool read; /* data come from the wire */
	struct gantry_txn_plan *plan;
};

static inline bool
is_aligned(const void *p)
{
	return p != NULL && (uintptr_t)p % sizeof(uint64_t) == 0;
}

/* True: [addr, addr + len) has bytes, and at most max. */
static inline bool
is_range(uint64_t addr, uint64_t len, uint64_t max)
{
	return len - 1 < max && addr + len >= addr;
}

/* ------------------------------------------------------------------ fields */

/* gantry_txn_tags as a word, of which the bits of `none` must be 0. */
static inline bool
tags_are_possible(const struct gantry_txn_tags *tags, uint64_t none)
{
	uint64_t word;

	memcpy(&word, tags, sizeof(word));
	return (word & none) == 0;
}

static inline bool
reply_is_possible(const struct gantry_txn_response *r, bool local)
{
	return r->zero == 0 && (r->len != 0 ? !local : r->addr == 0);
}

static inline bool
fields_are_possible(const struct check *k)
{
	const struct gantry_txn *t = k->txn;

	return (t->zero[0] | t->zero[1] | t->zero[2]) == 0 &&
	       (k->read || t->op == GANTRY_OP_WRITE) &&
	       tags_are_possible(&t->mem, k->p->no_mem_tags) &&
	       tags_are_possible(&t->wire, k->p->no_wire_tags) &&
	       (t->pi.len != 0 ? k->p->mem.sig_len != 0 : t->pi.addr == 0) &&
	       reply_is_possible(&t->good, k->local) && reply_is_possible(&t->bad, k->local);
}

/* ------------------------------------------------------------------ memory here */

/* GANTRY_OK and the region; or why the device cannot use it. */
static inline enum gantry_status
find(struct gantry_queue *q, uint64_t addr, uint64_t len, bool to, const struct gantry_region **r)
{
	*r = gantry_region_find(&q->view, &q->view.dst, addr, len);
	if (unlikely(*r == NULL))
		return GANTRY_NOT_REGISTERED;
	return unlikely((*r)->read_only) && to ? GANTRY_READ_ONLY : GANTRY_OK;
}

/* Buffers one after the other, which have `len` bytes together. */
static inline enum gantry_status
check_list(struct check *k, uint32_t len)
{
	const struct gantry_sge *e = k->txn->data;
	struct hwq_sge *sge = k->plan->sge;
	uint32_t left = k->txn->n_data;

	k->plan->n_sge = left;
	do {
		const struct gantry_region *r;
		enum gantry_status status;

		if (!is_range(e->addr, e->len, len))
			return GANTRY_BAD_LENGTH;
		status = find(k->q, e->addr, e->len, k->read, &r);
		if (status != GANTRY_OK)
			return status;
		*sge++ =
			(struct hwq_sge){.addr = e->addr - r->bias, .len = e->len, .lkey = r->lkey};
		len -= e->len;
		e++;
	} while (--left != 0);
	return len == 0 ? GANTRY_OK : GANTRY_BAD_LENGTH;
}

/* One buffer of a pattern: a piece of it in each round. */
static enum gantry_status
check_column(struct gantry_queue *q, const struct gantry_txn_plan *plan, const struct gantry_sge *e,
	uint32_t piece, struct mlx5dv_mr_interleaved *to)
{
	const struct gantry_region *r;
	enum gantry_status status;

	if (e->len != (uint64_t)plan->rounds * piece || !is_range(e->addr, e->len, e->len))
		return GANTRY_BAD_LENGTH;
	status = find(q, e->addr, e->len, plan->read, &r);
	if (status != GANTRY_OK)
		return status;
	*to = (struct mlx5dv_mr_interleaved){.addr = e->addr - r->bias,
		.bytes_count = piece,
		.lkey = r->lkey};
	return GANTRY_OK;
}

/* Data in one buffer, and their signatures in another: a piece of both for each block. */
static __rte_noinline enum gantry_status
check_pattern(struct gantry_queue *q, uint32_t blocks, struct gantry_txn_plan *plan)
{
	const struct gantry_profile_domain *mem = &plan->profile->mem;
	enum gantry_status status;

	if (plan->txn->n_data != 1)
		return GANTRY_BAD_LENGTH;
	plan->n_sge = 0;
	plan->rounds = blocks;
	status = check_column(q, plan, plan->txn->data, mem->block_size, &plan->pattern[0]);
	if (status == GANTRY_OK)
		status = check_column(q, plan, &plan->txn->pi, mem->sig_len, &plan->pattern[1]);
	return status;
}

static inline enum gantry_status
check_data(struct check *k)
{
	const struct gantry_profile_domain *mem = &k->p->mem;
	const struct gantry_txn *t = k->txn;
	uint32_t blocks = k->len / mem->block_size;

	if (blocks * mem->block_size != k->len || t->n_data - 1u >= GANTRY_TXN_MAX_DATA)
		return GANTRY_BAD_LENGTH;
	if (!is_aligned(t->data))
		return GANTRY_BAD_ADDRESS;
	return unlikely(t->pi.len != 0) ? check_pattern(k->q, blocks, k->plan)
					: check_list(k, blocks * mem->unit);
}

/* ------------------------------------------------------------------ transfers */

/* The remote key of a part that is memory of this process. */
static __rte_noinline enum gantry_status
check_local_part(struct gantry_queue *q, const struct gantry_txn_part *part, bool read,
	struct gantry_txn_move *move)
{
	const struct gantry_region *r;
	enum gantry_status status = find(q, part->addr, part->len, !read, &r);

	if (status != GANTRY_OK)
		return status;
	if (!gantry_mem_is_open(r, read ? GANTRY_MEM_REMOTE_READ : GANTRY_MEM_REMOTE_WRITE))
		return GANTRY_NOT_REGISTERED;
	move->addr = part->addr - r->bias;
	move->rkey = r->rkey;
	return GANTRY_OK;
}

/* The transfer at this offset of the data. */
static inline enum gantry_status
check_part(struct check *k, const struct gantry_txn_part *part, uint32_t offset,
	struct gantry_txn_move *move)
{
	const struct gantry_profile_domain *wire = &k->p->wire;
	uint32_t blocks;

	if (part->zero != 0 || (k->local && part->remote_key != 0))
		return GANTRY_BAD_FIELD;
	if (!is_range(part->addr, part->len, 2 * GANTRY_TXN_MAX_LEN))
		return GANTRY_BAD_LENGTH;
	blocks = (uint32_t)part->len / wire->unit;
	move->offset = offset;
	move->len = blocks * wire->block_size;
	if (blocks * wire->unit != part->len || move->len % k->p->mem.block_size != 0 ||
		move->len > k->len - offset)
		return GANTRY_BAD_LENGTH;
	if (unlikely(k->local))
		return check_local_part(k->q, part, k->read, move);
	move->addr = part->addr;
	move->rkey = part->remote_key;
	return GANTRY_OK;
}

/* A check that moves nothing: the data go where nobody reads them. */
static __rte_noinline enum gantry_status
take_scratch(const struct gantry_queue *q, uint32_t len, struct gantry_txn_plan *plan)
{
	if (plan->read || len % plan->profile->wire.block_size != 0)
		return GANTRY_BAD_LENGTH;
	plan->n_moves = 1;
	plan->move[0] = (struct gantry_txn_move){
		.addr = (uintptr_t)q->txns.scratch,
		.len = len,
		.rkey = q->txns.scratch_mr.rkey,
	};
	return GANTRY_OK;
}

static inline enum gantry_status
check_parts(struct check *k)
{
	const struct gantry_txn_part *part = k->txn->part;
	struct gantry_txn_move *move = k->plan->move;
	uint32_t left = k->txn->n_parts, offset = 0;

	if (unlikely(left == 0))
		return k->local ? take_scratch(k->q, k->len, k->plan) : GANTRY_BAD_LENGTH;
	if (left > GANTRY_TXN_MAX_PARTS)
		return GANTRY_BAD_LENGTH;
	if (!is_aligned(part))
		return GANTRY_BAD_ADDRESS;
	k->plan->n_moves = left;
	do {
		enum gantry_status status = check_part(k, part++, offset, move);

		if (status != GANTRY_OK)
			return status;
		offset += move++->len;
	} while (--left != 0);
	return offset == k->len ? GANTRY_OK : GANTRY_BAD_LENGTH;
}

/* ------------------------------------------------------------------ responses */

/* One that is in memory which the device reads. */
static __rte_noinline enum gantry_status
check_long_reply(struct gantry_queue *q, const struct gantry_conn *c, struct gantry_txn_reply *to)
{
	const struct gantry_region *r;
	enum gantry_status status;

	if (!is_range(to->addr, to->len, c->max_len))
		return GANTRY_BAD_LENGTH;
	status = find(q, to->addr, to->len, false, &r);
	if (status != GANTRY_OK)
		return status;
	to->addr -= r->bias;
	to->lkey = r->lkey;
	return GANTRY_OK;
}

static inline enum gantry_status
check_reply(const struct check *k, const struct gantry_conn *c,
	const struct gantry_txn_response *from, struct gantry_txn_reply *to)
{
	*to = (struct gantry_txn_reply){.addr = from->addr, .len = from->len};
	return likely(from->len <= c->max_inline) ? GANTRY_OK : check_long_reply(k->q, c, to);
}

/* ------------------------------------------------------------------ all of it */

/* Of a connection that does not work now. GANTRY_OK: it will again. */
static __rte_noinline enum gantry_status
check_conn(const struct gantry_queue *q, uint32_t conn)
{
	if (conn == GANTRY_CONN_NONE)
		return GANTRY_BAD_PEER;
	if (gantry_queue_repairs(conn))
		return q->conn[conn].state == GANTRY_CONN_DOWN ? GANTRY_DEVICE_LOST : GANTRY_OK;
	return q->device_lost ? GANTRY_DEVICE_LOST : GANTRY_BAD_PEER;
}

/* Copies the profile of this serial number. NULL: there is none. */
static __rte_noinline const struct gantry_profile *
copy_profile(struct gantry_queue *q, uint16_t id, uint64_t serial, struct gantry_txn_cached *c)
{
	c->serial = 0;
	if (serial == 0 || !gantry_shelf_read(&q->g->profiles, id, serial, &c->p))
		return NULL;
	/* A serial number names one profile for ever. */
	c->serial = serial;
	return &c->p;
}

/* The profile, from the queue's copies if it is there. NULL: there is none. */
static inline const struct gantry_profile *
find_profile(struct gantry_queue *q, uint16_t id)
{
	struct gantry_txn_cached *c = &q->txns.cache[id % GANTRY_TXN_PROFILES];
	uint64_t serial = gantry_shelf_serial(&q->g->profiles, id);

	return likely(serial != 0 && c->serial == serial) ? &c->p : copy_profile(q, id, serial, c);
}

enum gantry_status
gantry_txn_check(struct gantry_queue *q, const struct gantry_conn *c, const struct gantry_desc *d,
	struct gantry_txn_plan *plan)
{
	struct check k = {.q = q,
		.txn = (const struct gantry_txn *)d->src,
		.len = d->len,
		.local = d->peer == GANTRY_PEER_OWN,
		.plan = plan};
	enum gantry_status status = GANTRY_OK;

	if (d->len > GANTRY_TXN_MAX_LEN)
		return GANTRY_BAD_LENGTH;
	if (!is_aligned(k.txn))
		return GANTRY_BAD_ADDRESS;
	if (unlikely(c->state != GANTRY_CONN_TXN))
		status = check_conn(q, c - q->conn);
	if (status != GANTRY_OK)
		return status;
	k.p = find_profile(q, k.txn->profile);
	if (k.p == NULL)
		return GANTRY_BAD_PROFILE;
	k.read = k.txn->op == GANTRY_OP_READ;
	if (!fields_are_possible(&k))
		return GANTRY_BAD_FIELD;
	plan->txn = (struct gantry_txn *)d->src;
	plan->profile = k.p;
	plan->image = &k.p->image[k.read][k.txn->mem.seed_ones != k.txn->wire.seed_ones];
	plan->read = k.read;
	status = check_data(&k);
	if (status == GANTRY_OK)
		status = check_parts(&k);
	if (status == GANTRY_OK)
		status = check_reply(&k, c, &k.txn->good, &plan->good);
	if (status == GANTRY_OK)
		status = check_reply(&k, c, &k.txn->bad, &plan->bad);
	return status;
}
