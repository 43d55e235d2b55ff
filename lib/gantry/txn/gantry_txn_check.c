/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks transactions by all their rules. */
#include "gantry_txn_check.h"

#include "gantry_engine.h"
#include "gantry_mem.h"

/* ------------------------------------------------------------------ memory */

/* The second part of look_up(), for memory that is not in the region of the last hit. */
static __rte_noinline const struct gantry_region *
look_further(struct gantry_queue *q, uint64_t addr, uint64_t len, bool to, enum gantry_status *why)
{
	const struct gantry_region *r;

	*why = GANTRY_BAD_LENGTH;
	if (len == 0 || addr + len < addr)
		return NULL;
	r = gantry_region_find(&q->view, &q->view.dst, addr, len);
	/* Whether keys with signatures may lie over imported memory, no card has shown yet. */
	r = r != NULL && r->imported != 0 ? NULL : r;
	*why = r == NULL ? GANTRY_NOT_REGISTERED : GANTRY_READ_ONLY;
	return r != NULL && r->read_only && to ? NULL : r;
}

/*
 * Returns the region of the memory. If the device cannot use the memory, returns NULL and the
 * status in *why. to: true if the device will write to the memory.
 */
static inline const struct gantry_region *
look_up(struct gantry_queue *q, uint64_t addr, uint64_t len, bool to, enum gantry_status *why)
{
	const struct gantry_region *r = q->view.dst;

	/* The last hits are never read-only, so read_only is not checked for them. */
	return likely(gantry_region_hit(r, addr, len)) ? r : look_further(q, addr, len, to, why);
}

static enum gantry_status
check_buffer(struct gantry_queue *q, const struct gantry_sge *e, bool read, struct hwq_sge *sge)
{
	enum gantry_status why;
	const struct gantry_region *r = look_up(q, e->addr, e->len, read, &why);

	if (r == NULL)
		return why;
	*sge = (struct hwq_sge){.addr = e->addr - r->bias, .len = e->len, .lkey = r->lkey};
	return GANTRY_OK;
}

/* Checks a list of buffers whose lengths add up to `len` bytes. */
static enum gantry_status
check_list(struct gantry_queue *q, const struct gantry_txn *t, struct gantry_txn_plan *plan,
	uint64_t len)
{
	const struct gantry_sge *e = t->data, *end = e + t->n_data;
	struct hwq_sge *sge = plan->sge;
	enum gantry_status status;

	plan->n_sge = t->n_data;
	do {
		if (e->len > len)
			return GANTRY_BAD_LENGTH;
		status = check_buffer(q, e, plan->read, sge++);
		if (status != GANTRY_OK)
			return status;
		len -= e->len;
	} while (++e != end);
	return len == 0 ? GANTRY_OK : GANTRY_BAD_LENGTH;
}

/* Checks one buffer of a pattern. Each round has a piece of this buffer. */
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

/*
 * Checks data in one buffer with signatures in a second buffer. Each block has a piece of both
 * buffers.
 */
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

/* Checks the buffers of a transaction. data_len: the bytes of data, without signatures. */
static enum gantry_status
check_data(struct gantry_queue *q, const struct gantry_txn *t, uint32_t data_len,
	struct gantry_txn_plan *plan)
{
	const struct gantry_profile_domain *mem = &plan->profile->mem;
	const uint32_t blocks = data_len / mem->block_size;

	if (data_len % mem->block_size != 0 || t->n_data == 0 || t->n_data > GANTRY_TXN_MAX_DATA)
		return GANTRY_BAD_LENGTH;
	if (!gantry_txn_is_aligned(t->data))
		return GANTRY_BAD_ADDRESS;
	if ((t->pi.len | t->pi.addr) != 0)
		return check_pattern(q, t, blocks, plan);
	return check_list(q, t, plan, blocks * (uint64_t)mem->unit);
}

/* ------------------------------------------------------------------ transfers */

/* Finds the remote key for a part that is memory of this process. */
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

/*
 * Sets the transfer of a transaction that only checks data: it writes to scratch memory, which is
 * never read.
 */
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

/* Checks one transfer, whose move->offset and move->len are set already. */
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

/* Checks the transfers of a transaction. data_len: the bytes of data, without signatures. */
static enum gantry_status
check_transfers(struct gantry_queue *q, const struct gantry_txn *t, bool local, uint32_t data_len,
	struct gantry_txn_plan *plan)
{
	const struct gantry_profile *p = plan->profile;
	const struct gantry_txn_part *part = t->part;
	uint64_t len = data_len / p->wire.block_size * (uint64_t)p->wire.unit;
	struct gantry_txn_move *move = plan->move;
	const struct gantry_txn_part *end = part + t->n_parts;
	uint32_t offset = 0;

	if (data_len % p->wire.block_size != 0)
		return GANTRY_BAD_LENGTH;
	if (t->n_parts == 0)
		return local ? take_scratch(q, (uint32_t)len, plan) : GANTRY_BAD_LENGTH;
	if (t->n_parts > GANTRY_TXN_MAX_PARTS)
		return GANTRY_BAD_LENGTH;
	if (!gantry_txn_is_aligned(part))
		return GANTRY_BAD_ADDRESS;
	plan->n_moves = t->n_parts;
	/* Each transfer must have whole blocks of both domains. */
	for (; part != end; part++, move++) {
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

/* ------------------------------------------------------------------ replies, peers, profiles */

static enum gantry_status
check_reply(struct gantry_queue *q, const struct gantry_conn *c,
	const struct gantry_txn_response *from, struct gantry_txn_reply *to)
{
	const struct gantry_region *r;
	enum gantry_status why;

	*to = (struct gantry_txn_reply){.addr = from->addr, .len = from->len};
	if (to->len == 0)
		return to->addr == 0 ? GANTRY_OK : GANTRY_BAD_FIELD;
	if (c == &q->conn[GANTRY_CONN_TXN_OWN])
		return GANTRY_BAD_FIELD;
	/* The CPU copies such a response into its WQE, so its memory need not be registered. */
	if (to->len <= c->max_inline)
		return GANTRY_OK;
	if (to->len > c->max_len)
		return GANTRY_BAD_LENGTH;
	r = look_up(q, to->addr, to->len, false, &why);
	if (r == NULL)
		return why;
	to->addr -= r->bias;
	to->lkey = r->lkey;
	return GANTRY_OK;
}

/*
 * Checks a connection that does not work now, or is GANTRY_CONN_NONE. Returns GANTRY_OK if it will
 * work again, otherwise the status that refuses the descriptor.
 */
static __rte_cold enum gantry_status
check_idle_conn(const struct gantry_queue *q, const struct gantry_conn *c)
{
	uint32_t conn = c - q->conn;

	if (conn == GANTRY_CONN_NONE)
		return GANTRY_BAD_PEER;
	if (gantry_queue_repairs(conn))
		return c->state == GANTRY_CONN_DOWN ? GANTRY_DEVICE_LOST : GANTRY_OK;
	return q->device_lost ? GANTRY_DEVICE_LOST : GANTRY_BAD_PEER;
}

struct gantry_txn_cached *
gantry_txn_copy_profile(struct gantry_queue *q, uint16_t id)
{
	struct gantry_txn_cached *c = &q->txns.cache[(size_t)id % GANTRY_TXN_PROFILES];
	const struct gantry_shelf *shelf = &q->g->profiles;

	c->mark = 0;
	c->len = 0;
	c->serial = gantry_shelf_serial(shelf, id);
	if (c->serial == 0 || !gantry_shelf_read(shelf, id, c->serial, &c->p))
		return NULL;
	/*
	 * A serial number is never used for another profile. So while the shelf has this number,
	 * the copy is right.
	 */
	c->cell = gantry_shelf_cell(shelf, id);
	c->mark = id + 1;
	return c;
}

/* ------------------------------------------------------------------ configurations of keys */

/* Checks the encryption. The caller has set plan->crypto_image. */
static enum gantry_status
check_crypto(const struct gantry_queue *q, const struct gantry_txn *t, uint32_t data_len,
	struct gantry_txn_plan *plan)
{
	const struct gantry_profile *p = plan->profile;
	const uint32_t blocks = data_len / p->crypt_block;
	struct gantry_dek dek;

	if (t->crypto.zero != 0)
		return GANTRY_BAD_FIELD;
	/*
	 * The manual pages do not say whether data units are counted from the first byte of the key
	 * or of the message. With one part, both are the same.
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
		"the tweak and the keytag have the same size in both structs");
	memcpy(plan->crypto.initial_tweak, t->crypto.tweak, sizeof(plan->crypto.initial_tweak));
	memcpy(plan->crypto.keytag, dek.keytag, sizeof(plan->crypto.keytag));
	return GANTRY_OK;
}

/*
 * Sets plan->image, or plan->crypto_image if the profile encrypts, to the key configuration for
 * this transaction. Also checks the encryption.
 */
static enum gantry_status
check_image(const struct gantry_queue *q, const struct gantry_txn *t, uint32_t data_len,
	struct gantry_txn_plan *plan)
{
	const bool differ = t->mem.seed_ones != t->wire.seed_ones;
	const struct gantry_profile *p = plan->profile;

	if (!gantry_profile_encrypts(p)) {
		plan->image = &p->image[plan->read][differ];
		return GANTRY_OK;
	}
	plan->crypto_image = &p->crypto_image[plan->read][differ];
	return check_crypto(q, t, data_len, plan);
}

/* ------------------------------------------------------------------ the whole transaction */

/*
 * Checks the fields of struct gantry_txn itself. Its parts and `pi` are checked where they are
 * used.
 */
static bool
fields_are_possible(const struct gantry_txn *t, const struct gantry_profile *p)
{
	return (t->op == GANTRY_OP_READ || t->op == GANTRY_OP_WRITE) &&
	       (t->zero[0] | t->zero[1] | t->zero[2]) == 0 && gantry_txn_forbidden(t, p) == 0;
}

enum gantry_status
gantry_txn_check(struct gantry_queue *q, const struct gantry_conn *c, const struct gantry_desc *d,
	struct gantry_txn_plan *plan, struct gantry_txn_open *to)
{
	struct gantry_txn *t = (struct gantry_txn *)d->src;
	const struct gantry_txn_cached *cached;
	enum gantry_status status;

	if (d->len > GANTRY_TXN_MAX_LEN)
		return GANTRY_BAD_LENGTH;
	if (!gantry_txn_is_aligned(t))
		return GANTRY_BAD_ADDRESS;
	status = c->state == GANTRY_CONN_TXN ? GANTRY_OK : check_idle_conn(q, c);
	if (status == GANTRY_OK)
		status = check_reply(q, c, &t->good, &to->good);
	if (status == GANTRY_OK)
		status = check_reply(q, c, &t->bad, &to->bad);
	if (status != GANTRY_OK)
		return status;
	cached = gantry_txn_profile(q, t->profile);
	if (cached == NULL)
		return GANTRY_BAD_PROFILE;
	plan->profile = &cached->p;
	if (!fields_are_possible(t, plan->profile))
		return GANTRY_BAD_FIELD;
	to->txn = t;
	plan->read = t->op == GANTRY_OP_READ;
	status = check_image(q, t, d->len, plan);
	if (status == GANTRY_OK)
		status = check_transfers(q, t, d->peer == GANTRY_PEER_OWN, d->len, plan);
	return status != GANTRY_OK ? status : check_data(q, t, d->len, plan);
}
