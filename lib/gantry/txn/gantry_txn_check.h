/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of transactions: is what a descriptor names right, and what does the hardware need to know of it. Here is the
 * usual transaction, of one buffer, one transfer and responses that are copied into their WQEs; gantry_txn_check.c has
 * what else there is. Nothing is written to the hardware.
 */
#ifndef GANTRY_TXN_CHECK_H
#define GANTRY_TXN_CHECK_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include <hwq_sig_image.h>

#include "gantry_queue.h"
#include "gantry_shelf.h"
#include "gantry_txns.h"

/* One transfer. */
struct gantry_txn_move {
	uint64_t addr;   /* remote */
	uint32_t offset; /* of its first byte in the key: bytes on the wire */
	uint32_t len;    /* bytes on the wire */
	uint32_t rkey;
};

/* What is to be posted of a transaction that was checked, besides what its gantry_txn_open has. */
struct gantry_txn_plan {
	const struct gantry_profile *profile;
	const struct hwq_sig_image *image;           /* the one of the profile that fits */
	const struct hwq_crypto_image *crypto_image; /* that of one that encrypts */
	struct hwq_crypto_start crypto;              /* if it encrypts */
	uint32_t n_sge;                              /* 0: the layout is a pattern */
	uint32_t rounds; /* of the pattern: data and signature of a block */
	uint32_t n_moves;
	bool read; /* data come from the wire */
	struct hwq_sge sge[GANTRY_TXN_MAX_DATA];
	struct mlx5dv_mr_interleaved pattern[2];
	struct gantry_txn_move move[GANTRY_TXN_MAX_PARTS];
};

/* ------------------------------------------------------------------ what is not usual */

/* The profile, copied. mark: what gantry_txn_cached::mark is of such a profile. NULL: there is none. */
const struct gantry_profile *gantry_txn_copy_profile(struct gantry_queue *q, uint32_t mark);
/* The rules of encryption, for a plan whose image fits. */
enum gantry_status gantry_txn_check_crypto(const struct gantry_queue *q, const struct gantry_txn *t,
	uint32_t data_len, struct gantry_txn_plan *plan);
/* Of a connection, or GANTRY_CONN_NONE, that does not work now. GANTRY_OK: it will again. */
enum gantry_status gantry_txn_check_conn(const struct gantry_queue *q, const struct gantry_conn *c);
/* A response that is not copied into its WQE: none, or in memory which the device reads. */
enum gantry_status gantry_txn_check_other_reply(struct gantry_queue *q, const struct gantry_conn *c,
	struct gantry_txn_reply *to);
/* Memory that is not in the region of the last hit. to: the device writes there. The region, or NULL and *why not. */
const struct gantry_region *gantry_txn_look_further(struct gantry_queue *q, uint64_t addr,
	uint64_t len, bool to, enum gantry_status *why);
/* Data of several buffers, or of one with signatures in another. blocks: of memory. */
enum gantry_status gantry_txn_check_buffers(struct gantry_queue *q, const struct gantry_txn *t,
	uint32_t blocks, struct gantry_txn_plan *plan);
/* Transfers that are local, none or several. len: bytes of all, on the wire. */
enum gantry_status gantry_txn_check_parts(struct gantry_queue *q, const struct gantry_txn *t,
	bool local, uint64_t len, struct gantry_txn_plan *plan);

/* ------------------------------------------------------------------ fields */

static inline bool
gantry_txn_is_aligned(const void *p)
{
	return p != NULL && (uintptr_t)p % sizeof(uint64_t) == 0;
}

/* gantry_txn_tags as a word. */
static inline uint64_t
gantry_txn_tags_word(const struct gantry_txn_tags *tags)
{
	uint64_t word;

	static_assert(sizeof(*tags) == sizeof(word), "tags are a word");
	memcpy(&word, tags, sizeof(word));
	return word;
}

/* gantry_txn::op if the bytes behind it are 0; else no operation. */
static inline uint32_t
gantry_txn_op(const struct gantry_txn *t)
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
gantry_txn_fields_are_possible(const struct gantry_txn *t, const struct gantry_profile *p,
	uint32_t op)
{
	return (op == GANTRY_OP_READ || op == GANTRY_OP_WRITE) &&
	       ((gantry_txn_tags_word(&t->mem) & p->no_mem_tags) |
		       (gantry_txn_tags_word(&t->wire) & p->no_wire_tags) | t->good.zero |
		       t->bad.zero) == 0;
}

/* The profile, which encrypts or not, from the queue's copies if it is there. NULL: there is none. */
static inline const struct gantry_profile *
gantry_txn_profile(struct gantry_queue *q, uint16_t id, const bool encrypts)
{
	const struct gantry_txn_cached *c = &q->txns.cache[(size_t)id % GANTRY_TXN_PROFILES];
	const uint32_t mark = (id + 1u) | (encrypts ? GANTRY_TXN_CACHED_CRYPTO : 0);

	return likely(c->mark == mark && gantry_shelf_cell_serial(c->cell) == c->serial)
		       ? &c->p
		       : gantry_txn_copy_profile(q, mark);
}

/* ------------------------------------------------------------------ memory here, transfers, responses */

/* The region; or NULL, and *why the device cannot use it. to: the device writes there. */
static inline const struct gantry_region *
gantry_txn_look_up(struct gantry_queue *q, uint64_t addr, uint64_t len, bool to,
	enum gantry_status *why)
{
	const struct gantry_region *r = q->view.dst;

	/* The last hits are not read-only. */
	return likely(gantry_region_hit(r, addr, len))
		       ? r
		       : gantry_txn_look_further(q, addr, len, to, why);
}

static inline enum gantry_status
gantry_txn_check_buffer(struct gantry_queue *q, const struct gantry_sge *e, bool read,
	struct hwq_sge *sge)
{
	enum gantry_status why;
	const struct gantry_region *r = gantry_txn_look_up(q, e->addr, e->len, read, &why);

	if (unlikely(r == NULL))
		return why;
	*sge = (struct hwq_sge){.addr = e->addr - r->bias, .len = e->len, .lkey = r->lkey};
	return GANTRY_OK;
}

/* data_len: bytes without signatures. */
static __rte_always_inline enum gantry_status
gantry_txn_check_data(struct gantry_queue *q, const struct gantry_txn *t,
	const struct gantry_profile_domain *mem, uint32_t data_len, struct gantry_txn_plan *plan)
{
	const struct gantry_sge *e = t->data;
	const uint32_t blocks = data_len / mem->block_size;

	if (data_len % mem->block_size != 0)
		return GANTRY_BAD_LENGTH;
	if (unlikely(t->n_data != 1 || (t->pi.len | t->pi.addr) != 0))
		return gantry_txn_check_buffers(q, t, blocks, plan);
	if (!gantry_txn_is_aligned(e))
		return GANTRY_BAD_ADDRESS;
	if (e->len != blocks * (uint64_t)mem->unit)
		return GANTRY_BAD_LENGTH;
	plan->n_sge = 1;
	return gantry_txn_check_buffer(q, e, plan->read, plan->sge);
}

/* data_len: bytes without signatures. */
static __rte_always_inline enum gantry_status
gantry_txn_check_transfers(struct gantry_queue *q, const struct gantry_txn *t, bool local,
	const struct gantry_profile_domain *wire, uint32_t data_len, struct gantry_txn_plan *plan)
{
	const struct gantry_txn_part *part = t->part;
	const uint64_t len = data_len / wire->block_size * (uint64_t)wire->unit;

	if (data_len % wire->block_size != 0)
		return GANTRY_BAD_LENGTH;
	if (unlikely(t->n_parts != 1 || local))
		return gantry_txn_check_parts(q, t, local, len, plan);
	if (!gantry_txn_is_aligned(part))
		return GANTRY_BAD_ADDRESS;
	if (part->zero != 0)
		return GANTRY_BAD_FIELD;
	if (part->len != len || part->addr + len < len)
		return GANTRY_BAD_LENGTH;
	plan->n_moves = 1;
	plan->move[0].addr = part->addr;
	plan->move[0].offset = 0;
	plan->move[0].len = (uint32_t)len;
	plan->move[0].rkey = part->remote_key;
	return GANTRY_OK;
}

static inline enum gantry_status
gantry_txn_check_reply(struct gantry_queue *q, const struct gantry_conn *c,
	const struct gantry_txn_response *from, struct gantry_txn_reply *to)
{
	/* With gantry_txn_response::zero, which gantry_txn_fields_are_possible() checks, as the key. */
	static_assert(sizeof(*to) == sizeof(*from) &&
			      offsetof(struct gantry_txn_reply, addr) ==
				      offsetof(struct gantry_txn_response, addr) &&
			      offsetof(struct gantry_txn_reply, len) ==
				      offsetof(struct gantry_txn_response, len),
		"a reply is a response with a key");
	memcpy(to, from, sizeof(*to));
	/* The connection for local transactions, which have no response, has a max_inline of 0. */
	return likely(from->len - 1 < c->max_inline) ? GANTRY_OK
						     : gantry_txn_check_other_reply(q, c, to);
}

/* ------------------------------------------------------------------ all of it */

/*
 * Checks a descriptor whose fields are those of a transaction, and which connection c is to carry, or none
 * (GANTRY_CONN_NONE). works: c is in state GANTRY_CONN_TXN. encrypts: a profile that does not is not found, and the other
 * way round. GANTRY_OK: *plan is what to post to it, now or when it works again, and the free *to has txn, good and bad;
 * else the status that refuses it.
 */
static __rte_always_inline enum gantry_status
gantry_txn_check(struct gantry_queue *q, const struct gantry_conn *c, const bool works,
	const bool encrypts, const struct gantry_desc *d, struct gantry_txn_plan *plan,
	struct gantry_txn_open *to)
{
	const struct gantry_txn *t = (const struct gantry_txn *)d->src;
	const bool local = d->peer == GANTRY_PEER_OWN;
	const struct gantry_profile *p;
	enum gantry_status status;
	uint32_t op;

	if (unlikely(d->len > GANTRY_TXN_MAX_LEN))
		return GANTRY_BAD_LENGTH;
	if (unlikely(!gantry_txn_is_aligned(t)))
		return GANTRY_BAD_ADDRESS;
	if (!works) {
		status = gantry_txn_check_conn(q, c);
		if (status != GANTRY_OK)
			return status;
	}
	status = gantry_txn_check_reply(q, c, &t->good, &to->good);
	if (unlikely(status != GANTRY_OK))
		return status;
	status = gantry_txn_check_reply(q, c, &t->bad, &to->bad);
	if (unlikely(status != GANTRY_OK))
		return status;
	p = gantry_txn_profile(q, t->profile, encrypts);
	if (unlikely(p == NULL))
		return GANTRY_BAD_PROFILE;
	op = gantry_txn_op(t);
	if (unlikely(!gantry_txn_fields_are_possible(t, p, op)))
		return GANTRY_BAD_FIELD;
	to->txn = (struct gantry_txn *)(uintptr_t)t;
	plan->profile = p;
	plan->read = op == GANTRY_OP_READ;
	if (encrypts) {
		plan->crypto_image =
			&p->crypto_image[plan->read][t->mem.seed_ones != t->wire.seed_ones];
		status = gantry_txn_check_crypto(q, t, d->len, plan);
		if (unlikely(status != GANTRY_OK))
			return status;
	} else {
		plan->image = p->image[plan->read];
		if (unlikely(t->mem.seed_ones != t->wire.seed_ones))
			plan->image++;
	}
	status = gantry_txn_check_transfers(q, t, local, &p->wire, d->len, plan);
	return unlikely(status != GANTRY_OK) ? status
					     : gantry_txn_check_data(q, t, &p->mem, d->len, plan);
}

#endif
