/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks what is not usual in a transaction: several buffers and transfers, local ones, responses in registered memory. */
#include "gantry_txn_check.h"

#include "gantry_engine.h"
#include "gantry_mem.h"

/* ------------------------------------------------------------------ memory here */

__rte_cold const struct gantry_region *
gantry_txn_look_further(struct gantry_queue *q, uint64_t addr, uint64_t len, bool to,
	enum gantry_status *why)
{
	const struct gantry_region *r;

	*why = GANTRY_BAD_LENGTH;
	if (len == 0 || addr + len < addr)
		return NULL;
	r = gantry_region_find(&q->view, &q->view.dst, addr, len);
	*why = r == NULL ? GANTRY_NOT_REGISTERED : GANTRY_READ_ONLY;
	return r != NULL && r->read_only && to ? NULL : r;
}

/* Buffers one after the other, which have `len` bytes together. */
static enum gantry_status
check_list(struct gantry_queue *q, const struct gantry_txn *t, struct gantry_txn_plan *plan,
	uint64_t len)
{
	const struct gantry_sge *e = t->data;
	enum gantry_status status;
	uint32_t i;

	plan->n_sge = t->n_data;
	for (i = 0; i < plan->n_sge; i++) {
		if (e[i].len > len)
			return GANTRY_BAD_LENGTH;
		status = gantry_txn_check_buffer(q, &e[i], plan->read, &plan->sge[i]);
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
	r = gantry_txn_look_up(q, e->addr, e->len, plan->read, &why);
	if (r == NULL)
		return why;
	*to = (struct mlx5dv_mr_interleaved){.addr = e->addr - r->bias,
		.bytes_count = piece,
		.lkey = r->lkey};
	return GANTRY_OK;
}

/* Data in one buffer, and their signatures in another: a piece of both for each block. */
static enum gantry_status
check_pattern(struct gantry_queue *q, const struct gantry_txn *t, uint32_t blocks,
	struct gantry_txn_plan *plan)
{
	const struct gantry_profile_domain *mem = &plan->profile->mem;
	enum gantry_status status;

	if (t->pi.len == 0 || mem->sig_len == 0)
		return GANTRY_BAD_FIELD;
	if (t->n_data != 1)
		return GANTRY_BAD_LENGTH;
	plan->n_sge = 0;
	plan->rounds = blocks;
	status = check_column(q, plan, t->data, mem->block_size, &plan->pattern[0]);
	if (status == GANTRY_OK)
		status = check_column(q, plan, &t->pi, mem->sig_len, &plan->pattern[1]);
	return status;
}

enum gantry_status
gantry_txn_check_buffers(struct gantry_queue *q, const struct gantry_txn *t, uint32_t blocks,
	struct gantry_txn_plan *plan)
{
	if (t->n_data == 0 || t->n_data > GANTRY_TXN_MAX_DATA)
		return GANTRY_BAD_LENGTH;
	if (!gantry_txn_is_aligned(t->data))
		return GANTRY_BAD_ADDRESS;
	if ((t->pi.len | t->pi.addr) != 0)
		return check_pattern(q, t, blocks, plan);
	return check_list(q, t, plan, blocks * (uint64_t)plan->profile->mem.unit);
}

/* ------------------------------------------------------------------ transfers */

/* The remote key of a part that is memory of this process. */
static enum gantry_status
check_local_part(struct gantry_queue *q, const struct gantry_txn_part *part, bool read,
	struct gantry_txn_move *move)
{
	const struct gantry_region *r;
	enum gantry_status why;

	if (part->remote_key != 0)
		return GANTRY_BAD_FIELD;
	r = gantry_txn_look_up(q, part->addr, part->len, !read, &why);
	if (r == NULL)
		return why;
	if (!gantry_mem_is_open(r, read ? GANTRY_MEM_REMOTE_READ : GANTRY_MEM_REMOTE_WRITE))
		return GANTRY_NOT_REGISTERED;
	move->addr = part->addr - r->bias;
	move->rkey = r->rkey;
	return GANTRY_OK;
}

/* A check that moves nothing: the data go where nobody reads them. */
static enum gantry_status
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
static enum gantry_status
check_part(struct gantry_queue *q, const struct gantry_txn_part *part, bool read, bool local,
	struct gantry_txn_move *move)
{
	if (part->zero != 0)
		return GANTRY_BAD_FIELD;
	if (part->addr + part->len < part->addr)
		return GANTRY_BAD_LENGTH;
	move->addr = part->addr;
	move->rkey = part->remote_key;
	return local ? check_local_part(q, part, read, move) : GANTRY_OK;
}

enum gantry_status
gantry_txn_check_parts(struct gantry_queue *q, const struct gantry_txn *t, bool local, uint64_t len,
	struct gantry_txn_plan *plan)
{
	const struct gantry_profile *p = plan->profile;
	const struct gantry_txn_part *part = t->part;
	struct gantry_txn_move *move = plan->move;
	uint32_t i, offset = 0;

	if (t->n_parts == 0)
		return local ? take_scratch(q, (uint32_t)len, plan) : GANTRY_BAD_LENGTH;
	if (t->n_parts > GANTRY_TXN_MAX_PARTS)
		return GANTRY_BAD_LENGTH;
	if (!gantry_txn_is_aligned(part))
		return GANTRY_BAD_ADDRESS;
	plan->n_moves = t->n_parts;
	/* Each has whole blocks of both domains. */
	for (i = 0; i < plan->n_moves; i++, part++, move++) {
		enum gantry_status status;

		if (part->len - 1 >= len || part->len % p->wire.unit != 0)
			return GANTRY_BAD_LENGTH;
		move->offset = offset;
		move->len = (uint32_t)part->len;
		if (gantry_profile_shrink(&p->wire, part->len) % p->mem.block_size != 0)
			return GANTRY_BAD_LENGTH;
		status = check_part(q, part, plan->read, local, move);
		if (status != GANTRY_OK)
			return status;
		len -= part->len;
		offset += move->len;
	}
	return len == 0 ? GANTRY_OK : GANTRY_BAD_LENGTH;
}

/* ------------------------------------------------------------------ responses, connections, profiles */

enum gantry_status
gantry_txn_check_other_reply(struct gantry_queue *q, const struct gantry_conn *c,
	struct gantry_txn_reply *to)
{
	const struct gantry_region *r;
	enum gantry_status why;

	if (to->len == 0)
		return to->addr == 0 ? GANTRY_OK : GANTRY_BAD_FIELD;
	if (c == &q->conn[GANTRY_CONN_TXN_OWN])
		return GANTRY_BAD_FIELD;
	if (to->len > c->max_len)
		return GANTRY_BAD_LENGTH;
	r = gantry_txn_look_up(q, to->addr, to->len, false, &why);
	if (r == NULL)
		return why;
	to->addr -= r->bias;
	to->lkey = r->lkey;
	return GANTRY_OK;
}

__rte_cold enum gantry_status
gantry_txn_check_conn(const struct gantry_queue *q, const struct gantry_conn *c)
{
	uint32_t conn = c - q->conn;

	if (conn == GANTRY_CONN_NONE)
		return GANTRY_BAD_PEER;
	if (gantry_queue_repairs(conn))
		return c->state == GANTRY_CONN_DOWN ? GANTRY_DEVICE_LOST : GANTRY_OK;
	return q->device_lost ? GANTRY_DEVICE_LOST : GANTRY_BAD_PEER;
}

const struct gantry_profile *
gantry_txn_copy_profile(struct gantry_queue *q, uint32_t mark)
{
	const uint32_t id = (mark & ~GANTRY_TXN_CACHED_CRYPTO) - 1;
	struct gantry_txn_cached *c = &q->txns.cache[(size_t)id % GANTRY_TXN_PROFILES];
	const struct gantry_shelf *shelf = &q->g->profiles;

	/* It is here, but does not encrypt, or does. */
	if (c->mark == (mark ^ GANTRY_TXN_CACHED_CRYPTO) &&
		gantry_shelf_cell_serial(c->cell) == c->serial)
		return NULL;
	c->mark = 0;
	c->serial = gantry_shelf_serial(shelf, id);
	if (c->serial == 0 || !gantry_shelf_read(shelf, id, c->serial, &c->p))
		return NULL;
	/* A serial number names one profile for ever. */
	c->cell = gantry_shelf_cell(shelf, id);
	c->mark = (id + 1) | (gantry_profile_encrypts(&c->p) ? GANTRY_TXN_CACHED_CRYPTO : 0);
	return c->mark == mark ? &c->p : NULL;
}

/* ------------------------------------------------------------------ encryption */

enum gantry_status
gantry_txn_check_crypto(const struct gantry_queue *q, const struct gantry_txn *t, uint32_t data_len,
	struct gantry_txn_plan *plan)
{
	const struct gantry_profile *p = plan->profile;
	const uint32_t blocks = data_len / p->crypt_block;
	struct gantry_dek dek;

	if (t->crypto.zero != 0)
		return GANTRY_BAD_FIELD;
	/*
	 * The manual pages do not tell whether data units are counted from the key's first byte on, or from that of the
	 * message. With one part, both are the same.
	 */
	if (t->n_parts > 1 || blocks * (uint64_t)p->crypt_len % p->crypt_unit != 0 ||
		data_len / p->mem.block_size * (uint64_t)p->mem.unit >
			hwq_crypto_image_max_len(plan->crypto_image))
		return GANTRY_BAD_LENGTH;
	if (!gantry_dek_find(&q->g->deks, t->crypto.dek, &dek))
		return GANTRY_BAD_DEK;
	plan->crypto.dek = dek.number;
	static_assert(sizeof(plan->crypto.initial_tweak) == sizeof(t->crypto.tweak) &&
			      sizeof(plan->crypto.keytag) == sizeof(dek.keytag),
		"copied as they are");
	memcpy(plan->crypto.initial_tweak, t->crypto.tweak, sizeof(plan->crypto.initial_tweak));
	memcpy(plan->crypto.keytag, dek.keytag, sizeof(plan->crypto.keytag));
	return GANTRY_OK;
}
