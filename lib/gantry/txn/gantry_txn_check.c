/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a transaction, and finds the keys of its memory. Writes nothing to the hardware. */
#include "gantry_txn_check.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

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

/* gantry_txn_tags as a word. */
static inline uint64_t
tags_word(const struct gantry_txn_tags *tags)
{
	uint64_t word;

	static_assert(sizeof(*tags) == sizeof(word), "tags are a word");
	memcpy(&word, tags, sizeof(word));
	return word;
}

/* gantry_txn::op if the bytes behind it are 0; else no operation. */
static inline uint32_t
op_of(const struct gantry_txn *t)
{
	uint32_t word;

	static_assert(offsetof(struct gantry_txn, zero) == offsetof(struct gantry_txn, op) + 1 &&
			      sizeof(t->op) + sizeof(t->zero) == sizeof(word),
		"op and zero are a word");
	memcpy(&word, &t->op, sizeof(word));
	return rte_le_to_cpu_32(word);
}

/* Those of the transaction itself. Its parts and `pi` are checked where they are used. */
static inline bool
fields_are_possible(const struct check *k, uint32_t op)
{
	const struct gantry_txn *t = k->txn;

	return (op == GANTRY_OP_READ || op == GANTRY_OP_WRITE) &&
	       ((tags_word(&t->mem) & k->p->no_mem_tags) |
		       (tags_word(&t->wire) & k->p->no_wire_tags) | t->good.zero | t->bad.zero) ==
		       0;
}

/* ------------------------------------------------------------------ memory here */

/* look_up() for memory that is not in the region of the last one. */
static __rte_noinline const struct gantry_region *
look_further(struct gantry_queue *q, uint64_t addr, uint64_t len, bool to, enum gantry_status *why)
{
	const struct gantry_region *r;

	*why = GANTRY_BAD_LENGTH;
	if (!is_range(addr, len, UINT64_MAX))
		return NULL;
	r = gantry_region_find(&q->view, &q->view.dst, addr, len);
	*why = r == NULL ? GANTRY_NOT_REGISTERED : GANTRY_READ_ONLY;
	return r != NULL && r->read_only && to ? NULL : r;
}

/* The region; or NULL, and *why the device cannot use it. to: the device writes there. */
static inline const struct gantry_region *
look_up(struct gantry_queue *q, uint64_t addr, uint64_t len, bool to, enum gantry_status *why)
{
	const struct gantry_region *r = q->view.dst;

	/* The last hits are not read-only. */
	return likely(gantry_region_hit(r, addr, len)) ? r : look_further(q, addr, len, to, why);
}

/* One buffer. */
static inline enum gantry_status
check_buffer(struct gantry_queue *q, const struct gantry_sge *e, bool read, struct hwq_sge *sge)
{
	enum gantry_status why;
	const struct gantry_region *r = look_up(q, e->addr, e->len, read, &why);

	if (r == NULL)
		return why;
	*sge = (struct hwq_sge){.addr = e->addr - r->bias, .len = e->len, .lkey = r->lkey};
	return GANTRY_OK;
}

/* Buffers one after the other, which have `len` bytes together. */
static __rte_noinline enum gantry_status
check_list(struct gantry_queue *q, struct gantry_txn_plan *plan, uint64_t len)
{
	const struct gantry_sge *e = plan->txn->data;
	enum gantry_status status;
	uint32_t i;

	for (i = 0; i < plan->n_sge; i++) {
		if (e[i].len > len)
			return GANTRY_BAD_LENGTH;
		status = check_buffer(q, &e[i], plan->read, &plan->sge[i]);
		if (status != GANTRY_OK)
			return status;
		len -= e[i].len;
	}
	return len == 0 ? GANTRY_OK : GANTRY_BAD_LENGTH;
}

/* One buffer of a pattern: a piece of it in each round. */
static enum gantry_status
check_column(struct gantry_queue *q, const struct gantry_txn_plan *plan, const struct gantry_sge *e,
	uint32_t piece, struct mlx5dv_mr_interleaved *to)
{
	const struct gantry_region *r;
	enum gantry_status why;

	if (e->len != (uint64_t)plan->rounds * piece)
		return GANTRY_BAD_LENGTH;
	r = look_up(q, e->addr, e->len, plan->read, &why);
	if (r == NULL)
		return why;
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

	if (plan->txn->pi.len == 0 || mem->sig_len == 0)
		return GANTRY_BAD_FIELD;
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
check_data(const struct check *k)
{
	const struct gantry_profile_domain *mem = &k->p->mem;
	const struct gantry_sge *e = k->txn->data;
	const uint32_t n = k->txn->n_data, blocks = k->len / mem->block_size;
	const uint64_t len = blocks * mem->unit;

	if (k->len % mem->block_size != 0 || (unlikely(n != 1) && n - 1 >= GANTRY_TXN_MAX_DATA))
		return GANTRY_BAD_LENGTH;
	if (!is_aligned(e))
		return GANTRY_BAD_ADDRESS;
	if (unlikely((k->txn->pi.len | k->txn->pi.addr) != 0))
		return check_pattern(k->q, blocks, k->plan);
	k->plan->n_sge = n;
	if (unlikely(n != 1))
		return check_list(k->q, k->plan, len);
	return e->len == len ? check_buffer(k->q, e, k->read, k->plan->sge) : GANTRY_BAD_LENGTH;
}

/* ------------------------------------------------------------------ transfers */

/* The remote key of a part that is memory of this process. */
static __rte_noinline enum gantry_status
check_local_part(struct gantry_queue *q, const struct gantry_txn_part *part, bool read,
	struct gantry_txn_move *move)
{
	const struct gantry_region *r;
	enum gantry_status why;

	if (part->remote_key != 0)
		return GANTRY_BAD_FIELD;
	r = look_up(q, part->addr, part->len, !read, &why);
	if (r == NULL)
		return why;
	if (!gantry_mem_is_open(r, read ? GANTRY_MEM_REMOTE_READ : GANTRY_MEM_REMOTE_WRITE))
		return GANTRY_NOT_REGISTERED;
	move->addr = part->addr - r->bias;
	move->rkey = r->rkey;
	return GANTRY_OK;
}

/* A check that moves nothing: the data go where nobody reads them. */
static __rte_noinline enum gantry_status
take_scratch(const struct gantry_queue *q, uint32_t len, struct gantry_txn_plan *plan)
{
	if (plan->read)
		return GANTRY_BAD_LENGTH;
	plan->n_moves = 1;
	plan->move[0] = (struct gantry_txn_move){
		.addr = (uintptr_t)q->txns.scratch,
		.len = len,
		.rkey = q->txns.scratch_mr.rkey,
	};
	return GANTRY_OK;
}

/* One transfer, of which move->offset and move->len are known. */
static inline enum gantry_status
check_part(struct gantry_queue *q, const struct gantry_txn_part *part, bool read, bool local,
	struct gantry_txn_move *move)
{
	if (part->zero != 0)
		return GANTRY_BAD_FIELD;
	if (part->addr + part->len < part->addr)
		return GANTRY_BAD_LENGTH;
	move->addr = part->addr;
	move->rkey = part->remote_key;
	return unlikely(local) ? check_local_part(q, part, read, move) : GANTRY_OK;
}

/* Transfers one after the other, each of whole blocks of both domains. len: bytes of all on the wire. */
static __rte_noinline enum gantry_status
check_parts(struct gantry_queue *q, struct gantry_txn_plan *plan, bool local, uint64_t len)
{
	const struct gantry_profile *p = plan->profile;
	const struct gantry_txn_part *part = plan->txn->part;
	struct gantry_txn_move *move = plan->move;
	uint32_t i, offset = 0;

	for (i = 0; i < plan->n_moves; i++, part++, move++) {
		enum gantry_status status;

		if (part->len - 1 >= len || part->len % p->wire.unit != 0)
			return GANTRY_BAD_LENGTH;
		move->offset = offset;
		move->len = gantry_profile_shrink(&p->wire, part->len);
		if (move->len % p->mem.block_size != 0)
			return GANTRY_BAD_LENGTH;
		status = check_part(q, part, plan->read, local, move);
		if (status != GANTRY_OK)
			return status;
		len -= part->len;
		offset += move->len;
	}
	return len == 0 ? GANTRY_OK : GANTRY_BAD_LENGTH;
}

static inline enum gantry_status
check_transfers(const struct check *k)
{
	const struct gantry_profile_domain *wire = &k->p->wire;
	const struct gantry_txn_part *part = k->txn->part;
	const uint32_t n = k->txn->n_parts;
	const uint64_t len = k->len / wire->block_size * wire->unit;
	struct gantry_txn_move *move = k->plan->move;

	if (k->len % wire->block_size != 0)
		return GANTRY_BAD_LENGTH;
	if (unlikely(n != 1)) {
		if (n == 0)
			return k->local ? take_scratch(k->q, k->len, k->plan) : GANTRY_BAD_LENGTH;
		if (n > GANTRY_TXN_MAX_PARTS)
			return GANTRY_BAD_LENGTH;
	}
	if (!is_aligned(part))
		return GANTRY_BAD_ADDRESS;
	k->plan->n_moves = n;
	if (unlikely(n != 1))
		return check_parts(k->q, k->plan, k->local, len);
	if (part->len != len)
		return GANTRY_BAD_LENGTH;
	move->offset = 0;
	move->len = k->len;
	return check_part(k->q, part, k->read, k->local, move);
}

/* ------------------------------------------------------------------ responses */

/* One that is not copied into its WQE: none, or in memory which the device reads. */
static __rte_noinline enum gantry_status
check_other_reply(struct gantry_queue *q, const struct gantry_conn *c, struct gantry_txn_reply *to)
{
	const struct gantry_region *r;
	enum gantry_status why;

	if (to->len == 0)
		return to->addr == 0 ? GANTRY_OK : GANTRY_BAD_FIELD;
	if (c == &q->conn[GANTRY_CONN_TXN_OWN])
		return GANTRY_BAD_FIELD;
	if (to->len > c->max_len)
		return GANTRY_BAD_LENGTH;
	r = look_up(q, to->addr, to->len, false, &why);
	if (r == NULL)
		return why;
	to->addr -= r->bias;
	to->lkey = r->lkey;
	return GANTRY_OK;
}

static inline enum gantry_status
check_reply(struct gantry_queue *q, const struct gantry_conn *c,
	const struct gantry_txn_response *from, struct gantry_txn_reply *to)
{
	/* With gantry_txn_response::zero, which fields_are_possible() checks, as the key. */
	static_assert(sizeof(*to) == sizeof(*from) &&
			      offsetof(struct gantry_txn_reply, addr) ==
				      offsetof(struct gantry_txn_response, addr) &&
			      offsetof(struct gantry_txn_reply, len) ==
				      offsetof(struct gantry_txn_response, len),
		"a reply is a response with a key");
	memcpy(to, from, sizeof(*to));
	/* The connection for local transactions, which have no response, has a max_inline of 0. */
	return likely(from->len - 1 < c->max_inline) ? GANTRY_OK : check_other_reply(q, c, to);
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

/* Copies the profile. NULL: there is none. */
static __rte_noinline const struct gantry_profile *
copy_profile(struct gantry_queue *q, uint16_t id, struct gantry_txn_cached *c)
{
	const struct gantry_shelf *shelf = &q->g->profiles;

	c->id_and_1 = 0;
	c->serial = gantry_shelf_serial(shelf, id);
	if (c->serial == 0 || !gantry_shelf_read(shelf, id, c->serial, &c->p))
		return NULL;
	/* A serial number names one profile for ever. */
	c->cell = gantry_shelf_cell(shelf, id);
	c->id_and_1 = id + 1u;
	return &c->p;
}

/* The profile, from the queue's copies if it is there. NULL: there is none. */
static inline const struct gantry_profile *
find_profile(struct gantry_queue *q, uint16_t id)
{
	struct gantry_txn_cached *c = &q->txns.cache[(size_t)id % GANTRY_TXN_PROFILES];

	return likely(c->id_and_1 == id + 1u && gantry_shelf_cell_serial(c->cell) == c->serial)
		       ? &c->p
		       : copy_profile(q, id, c);
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
	enum gantry_status status;
	uint32_t op;

	if (d->len > GANTRY_TXN_MAX_LEN)
		return GANTRY_BAD_LENGTH;
	if (!is_aligned(k.txn))
		return GANTRY_BAD_ADDRESS;
	if (unlikely(c->state != GANTRY_CONN_TXN)) {
		status = check_conn(q, c - q->conn);
		if (status != GANTRY_OK)
			return status;
	}
	status = check_reply(q, c, &k.txn->good, &plan->good);
	if (status != GANTRY_OK)
		return status;
	status = check_reply(q, c, &k.txn->bad, &plan->bad);
	if (status != GANTRY_OK)
		return status;
	k.p = find_profile(q, k.txn->profile);
	if (k.p == NULL)
		return GANTRY_BAD_PROFILE;
	op = op_of(k.txn);
	k.read = op == GANTRY_OP_READ;
	if (!fields_are_possible(&k, op))
		return GANTRY_BAD_FIELD;
	plan->txn = (struct gantry_txn *)(uintptr_t)k.txn;
	plan->profile = k.p;
	plan->image = k.p->image[k.read];
	if (unlikely(k.txn->mem.seed_ones != k.txn->wire.seed_ones))
		plan->image++;
	plan->read = k.read;
	status = check_transfers(&k);
	return status == GANTRY_OK ? check_data(&k) : status;
}
