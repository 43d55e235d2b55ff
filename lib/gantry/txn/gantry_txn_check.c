/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a transaction, and finds the keys of its memory. Writes nothing to the hardware. */
#include "gantry_txn_check.h"

#include <rte_branch_prediction.h>

#include "gantry_engine.h"
#include "gantry_mem.h"
#include "gantry_queue.h"
#include "gantry_xlate.h"

/* A transaction that is being checked. */
struct check {
	struct gantry_queue *q;
	const struct gantry_txn *txn;
	const struct gantry_profile *p;
	uint64_t len; /* bytes of data */
	bool local;
	const struct gantry_conn *c;
	struct gantry_txn_plan *plan;
};

static bool
is_aligned(const void *p)
{
	return p != NULL && (uintptr_t)p % sizeof(uint64_t) == 0;
}

/* ------------------------------------------------------------------ fields */

/* A domain without signature has no tags, and a CRC none but a seed. */
static bool
tags_are_possible(const struct gantry_profile_domain *d, const struct gantry_txn_tags *tags)
{
	const bool is_dif = d->kind == GANTRY_SIG_T10DIF_CRC || d->kind == GANTRY_SIG_T10DIF_CSUM;

	return tags->zero == 0 && (is_dif || (tags->ref_tag | tags->app_tag) == 0) &&
	       (d->kind != GANTRY_SIG_NONE || !tags->seed_ones);
}

static bool
reply_is_possible(const struct gantry_txn_response *r, bool local)
{
	return r->zero == 0 && (r->len != 0 ? !local : r->addr == 0);
}

static bool
fields_are_possible(const struct check *k)
{
	const struct gantry_txn *t = k->txn;

	return (t->zero[0] | t->zero[1] | t->zero[2]) == 0 &&
	       (t->op == GANTRY_OP_WRITE || t->op == GANTRY_OP_READ) &&
	       tags_are_possible(&k->p->mem, &t->mem) && tags_are_possible(&k->p->wire, &t->wire) &&
	       (t->pi.len != 0 ? k->p->mem.sig_len != 0 : t->pi.addr == 0) &&
	       reply_is_possible(&t->good, k->local) && reply_is_possible(&t->bad, k->local);
}

/* ------------------------------------------------------------------ memory here */

/* GANTRY_OK and the region; or why the device cannot use it. */
static enum gantry_status
find(const struct check *k, uint64_t addr, uint64_t len, bool to, const struct gantry_region **r)
{
	*r = gantry_xlate_find_dst(k->q, addr, len);
	if (*r == NULL)
		return GANTRY_NOT_REGISTERED;
	return to && (*r)->read_only ? GANTRY_READ_ONLY : GANTRY_OK;
}

/* Buffers one after the other, which have `len` bytes together. */
static enum gantry_status
check_list(struct check *k, uint64_t len)
{
	const struct gantry_sge *e = k->txn->data;
	uint32_t i;

	for (i = 0; i < k->txn->n_data; i++, e++) {
		const struct gantry_region *r;
		enum gantry_status status;

		if (e->len == 0 || e->len > len || e->addr + e->len < e->addr)
			return GANTRY_BAD_LENGTH;
		len -= e->len;
		status = find(k, e->addr, e->len, k->plan->read, &r);
		if (status != GANTRY_OK)
			return status;
		k->plan->sge[i] =
			(struct hwq_sge){.addr = e->addr - r->bias, .len = e->len, .lkey = r->lkey};
	}
	k->plan->n_sge = i;
	return len == 0 ? GANTRY_OK : GANTRY_BAD_LENGTH;
}

/* One buffer of a pattern: a piece of it in each round. */
static enum gantry_status
check_column(struct check *k, const struct gantry_sge *e, uint64_t len, uint32_t piece,
	struct mlx5dv_mr_interleaved *to)
{
	const struct gantry_region *r;
	enum gantry_status status;

	if (e->len != len || e->addr + e->len < e->addr)
		return GANTRY_BAD_LENGTH;
	status = find(k, e->addr, e->len, k->plan->read, &r);
	if (status != GANTRY_OK)
		return status;
	*to = (struct mlx5dv_mr_interleaved){.addr = e->addr - r->bias,
		.bytes_count = piece,
		.lkey = r->lkey};
	return GANTRY_OK;
}

/* Data in one buffer, and their signatures in another. */
static enum gantry_status
check_pattern(struct check *k)
{
	const struct gantry_profile_domain *mem = &k->p->mem;
	uint64_t blocks = k->len / mem->block_size;
	enum gantry_status status;

	if (k->txn->n_data != 1)
		return GANTRY_BAD_LENGTH;
	k->plan->n_sge = 0;
	k->plan->rounds = blocks;
	status = check_column(k, k->txn->data, k->len, mem->block_size, &k->plan->pattern[0]);
	if (status == GANTRY_OK)
		status = check_column(k, &k->txn->pi, blocks * mem->sig_len, mem->sig_len,
			&k->plan->pattern[1]);
	return status;
}

static enum gantry_status
check_data(struct check *k)
{
	const struct gantry_txn *t = k->txn;

	if (t->n_data == 0 || t->n_data > GANTRY_TXN_MAX_DATA)
		return GANTRY_BAD_LENGTH;
	if (!is_aligned(t->data))
		return GANTRY_BAD_ADDRESS;
	return t->pi.len != 0 ? check_pattern(k)
			      : check_list(k, gantry_profile_stretch(&k->p->mem, k->len));
}

/* ------------------------------------------------------------------ transfers */

/* The remote key of a part that is memory of this process; 0: it has not the right. */
static enum gantry_status
check_local_part(struct check *k, const struct gantry_txn_part *part, struct gantry_txn_move *move)
{
	const bool write = !k->plan->read;
	const struct gantry_region *r;
	enum gantry_status status = find(k, part->addr, part->len, write, &r);

	if (status != GANTRY_OK)
		return status;
	if (!gantry_mem_is_open(r, write ? GANTRY_MEM_REMOTE_WRITE : GANTRY_MEM_REMOTE_READ))
		return GANTRY_NOT_REGISTERED;
	move->addr = part->addr - r->bias;
	move->rkey = r->rkey;
	return GANTRY_OK;
}

static enum gantry_status
check_part(struct check *k, const struct gantry_txn_part *part, uint64_t offset,
	struct gantry_txn_move *move)
{
	if (part->zero != 0 || (k->local && part->remote_key != 0))
		return GANTRY_BAD_FIELD;
	if (part->len == 0 || part->len > 2 * GANTRY_TXN_MAX_LEN ||
		part->addr + part->len < part->addr ||
		!gantry_profile_is_whole(&k->p->wire, part->len))
		return GANTRY_BAD_LENGTH;
	move->offset = offset;
	move->len = gantry_profile_shrink(&k->p->wire, part->len);
	if (move->len % k->p->mem.block_size != 0 || move->len > k->len - offset)
		return GANTRY_BAD_LENGTH;
	if (k->local)
		return check_local_part(k, part, move);
	move->addr = part->addr;
	move->rkey = part->remote_key;
	return GANTRY_OK;
}

/* A check that moves nothing: the data go where nobody reads them. */
static enum gantry_status
take_scratch(struct check *k)
{
	if (!k->local || k->plan->read)
		return GANTRY_BAD_LENGTH;
	k->plan->n_moves = 1;
	k->plan->move[0] = (struct gantry_txn_move){
		.addr = (uintptr_t)k->q->txns.scratch,
		.len = k->len,
		.rkey = k->q->txns.scratch_mr.rkey,
	};
	return GANTRY_OK;
}

static enum gantry_status
check_parts(struct check *k)
{
	const struct gantry_txn *t = k->txn;
	uint64_t offset = 0;
	uint32_t i;

	if (t->n_parts == 0)
		return take_scratch(k);
	if (t->n_parts > GANTRY_TXN_MAX_PARTS)
		return GANTRY_BAD_LENGTH;
	if (!is_aligned(t->part))
		return GANTRY_BAD_ADDRESS;
	for (i = 0; i < t->n_parts; i++) {
		enum gantry_status status = check_part(k, &t->part[i], offset, &k->plan->move[i]);

		if (status != GANTRY_OK)
			return status;
		offset += k->plan->move[i].len;
	}
	k->plan->n_moves = i;
	return offset == k->len ? GANTRY_OK : GANTRY_BAD_LENGTH;
}

/* ------------------------------------------------------------------ responses */

static enum gantry_status
check_reply(struct check *k, const struct gantry_txn_response *from, struct gantry_txn_reply *to)
{
	const struct gantry_region *r;
	enum gantry_status status;

	*to = (struct gantry_txn_reply){.addr = from->addr, .len = from->len};
	to->in_wqe = from->len <= k->c->max_inline;
	if (to->in_wqe)
		return GANTRY_OK;
	if (from->len > k->c->max_len || from->addr + from->len < from->addr)
		return GANTRY_BAD_LENGTH;
	status = find(k, from->addr, from->len, false, &r);
	if (status != GANTRY_OK)
		return status;
	to->addr = from->addr - r->bias;
	to->lkey = r->lkey;
	return GANTRY_OK;
}

/* ------------------------------------------------------------------ all of it */

uint32_t
gantry_txn_conn(const struct gantry_queue *q, const struct gantry_desc *d)
{
	uint32_t conn = d->peer == GANTRY_PEER_OWN ? (uint32_t)GANTRY_CONN_TXN_OWN
						   : gantry_queue_peer_conn(q, d->peer);

	return q->conn[conn].txns != NULL ? conn : (uint32_t)GANTRY_CONN_NONE;
}

/* GANTRY_OK: the connection works, or will again. */
static enum gantry_status
check_conn(const struct gantry_queue *q, uint32_t conn)
{
	uint8_t state = q->conn[conn].state;

	if (likely(state == GANTRY_CONN_TXN))
		return GANTRY_OK;
	if (gantry_queue_repairs(conn))
		return state == GANTRY_CONN_DOWN ? GANTRY_DEVICE_LOST : GANTRY_OK;
	return q->device_lost ? GANTRY_DEVICE_LOST : GANTRY_BAD_PEER;
}

/* The profile, from the queue's copies if it is there. NULL: there is none. */
static const struct gantry_profile *
find_profile(struct gantry_queue *q, uint16_t id)
{
	uint64_t serial = gantry_shelf_serial(&q->g->profiles, id);
	uint32_t i = id % GANTRY_TXN_PROFILES;

	if (likely(serial != 0 && q->txns.cache[i].serial == serial))
		return &q->txns.cache[i].p;
	q->txns.cache[i].serial = 0;
	if (serial == 0 || !gantry_shelf_read(&q->g->profiles, id, serial, &q->txns.cache[i].p))
		return NULL;
	/* A serial number names one profile for ever. */
	q->txns.cache[i].serial = serial;
	return &q->txns.cache[i].p;
}

enum gantry_status
gantry_txn_check(struct gantry_queue *q, const struct gantry_desc *d, struct gantry_txn_plan *plan)
{
	struct check k = {.q = q, .len = d->len, .local = d->peer == GANTRY_PEER_OWN, .plan = plan};
	uint32_t conn = gantry_txn_conn(q, d);
	enum gantry_status status;

	if (q->txns.n == 0)
		return GANTRY_BAD_OP;
	if (d->len > GANTRY_TXN_MAX_LEN)
		return GANTRY_BAD_LENGTH;
	if (!is_aligned((const void *)d->src))
		return GANTRY_BAD_ADDRESS;
	if (conn == GANTRY_CONN_NONE)
		return GANTRY_BAD_PEER;
	status = check_conn(q, conn);
	if (status != GANTRY_OK)
		return status;
	plan->txn = (struct gantry_txn *)d->src;
	k.txn = plan->txn;
	k.c = &q->conn[conn];
	k.p = find_profile(q, k.txn->profile);
	if (k.p == NULL)
		return GANTRY_BAD_PROFILE;
	plan->profile = k.p;
	plan->read = k.txn->op == GANTRY_OP_READ;
	if (!fields_are_possible(&k))
		return GANTRY_BAD_FIELD;
	if (d->len % k.p->mem.block_size != 0 || d->len % k.p->wire.block_size != 0)
		return GANTRY_BAD_LENGTH;
	status = check_data(&k);
	if (status == GANTRY_OK)
		status = check_parts(&k);
	if (status == GANTRY_OK)
		status = check_reply(&k, &k.txn->good, &plan->good);
	if (status == GANTRY_OK)
		status = check_reply(&k, &k.txn->bad, &plan->bad);
	return status;
}
