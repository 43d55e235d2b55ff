/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds keys by their layouts, and posts UMRs that give layouts to keys. */
#include "gantry_key_cache.h"

#include <errno.h>
#include <string.h>

#include <hwq_wqe_umr.h>

#include "gantry_alloc.h"
#include "gantry_conn.h"
#include "gantry_log_rate.h"
#include "gantry_region.h"
#include "gantry_shelf.h"
#include "gantry_stream.h"

/* ------------------------------------------------------------------ begin and end */

/*
 * Chooses the number of hash values, which is at least the number of keys n. A shift by 64 bits is
 * not possible in C, so for one key there are two hash values.
 */
static uint8_t
hash_shift(uint32_t n)
{
	return n == 1 ? 63 : 64 - rte_log2_u32(n);
}

static uint32_t
n_hashes(uint8_t shift)
{
	return UINT32_C(1) << (64 - shift);
}

static int
keys_make(struct gantry_keys *keys)
{
	const struct hwq_mkey_conf conf = {.n = keys->n, .max_entries = GANTRY_LAYOUT_PIECES};
	struct gantry_key_plan *plan;
	struct gantry_key *key;
	uint32_t i;
	int ret;

	keys->shift = hash_shift(keys->n);
	key = gantry_alloc("gantry_keys",
		keys->n * sizeof(*key) + n_hashes(keys->shift) * sizeof(*keys->first),
		keys->socket);
	plan = gantry_alloc("gantry_plan", sizeof(*plan), keys->socket);
	ret = key == NULL || plan == NULL ? -ENOMEM
					  : hwq_mkey_pool_create(keys->domain, &conf, &keys->pool);
	if (ret != 0) {
		gantry_free(plan);
		gantry_free(key);
		return ret;
	}
	for (i = 0; i < keys->n; i++) {
		key[i].mkey = hwq_mkey_get(keys->pool);
		key[i].number = key[i].mkey->lkey;
		key[i].newer = i + 1 == keys->n ? 0 : i + 1;
		key[i].older = i == 0 ? keys->n - 1 : i - 1;
	}
	keys->first = (uint16_t *)(key + keys->n);
	for (i = 0; i < n_hashes(keys->shift); i++)
		keys->first[i] = GANTRY_NO_KEY;
	keys->oldest = 0;
	keys->plan = plan;
	keys->key = key;
	return 0;
}

int
gantry_keys_init(struct gantry_keys *keys)
{
	int ret;

	if (likely(keys->key != NULL))
		return 0;
	ret = keys_make(keys);
	if (ret != 0)
		LOG_RATED(gantry_log_rate_others(), ERR, "cannot create %u keys for layouts: %s",
			keys->n, strerror(-ret));
	return ret;
}

int
gantry_keys_fini(struct gantry_keys *keys)
{
	uint32_t i;
	int ret;

	if (keys->key == NULL)
		return 0;
	/* An earlier call may have given keys back. hwq_mkey_put() ignores these keys. */
	for (i = 0; i < keys->n; i++)
		hwq_mkey_put(keys->key[i].mkey);
	ret = hwq_mkey_pool_destroy(keys->pool);
	if (ret != 0)
		return ret;
	gantry_free(keys->plan);
	gantry_free(keys->key);
	keys->key = NULL;
	return 0;
}

/* ------------------------------------------------------------------ the key of a layout */

/* Returns the head of the list of keys for a layout at a base. */
static uint16_t *
first_of(const struct gantry_keys *keys, uint64_t serial, uint64_t base)
{
	uint64_t hash = (base + (serial << 40)) * UINT64_C(0x9e3779b97f4a7c15);

	return &keys->first[hash >> keys->shift];
}

/* Returns the key on connection conn that has the layout, or NULL if there is none. */
static inline struct gantry_key *
find(const struct gantry_keys *keys, uint32_t conn, bool to, uint64_t serial, uint64_t base)
{
	uint16_t i = *first_of(keys, serial, base);
	struct gantry_key *k;

	for (; i != GANTRY_NO_KEY; i = k->next) {
		k = &keys->key[i];
		if (k->serial == serial && k->base == base && k->conn == conn &&
			k->version == keys->view->version && (k->to || !to))
			return k;
	}
	return NULL;
}

/* Adds the key to the list of its hash value, so that find() finds it. */
static void
show(const struct gantry_keys *keys, uint16_t i)
{
	struct gantry_key *k = &keys->key[i];
	uint16_t *first = first_of(keys, k->serial, k->base);

	k->next = *first;
	*first = i;
}

/*
 * If the key has a layout, removes the key from the list of its hash value, so that find() does not
 * find it.
 */
static void
hide(const struct gantry_keys *keys, uint16_t i)
{
	struct gantry_key *k = &keys->key[i];
	uint16_t *at;

	if (k->serial == 0)
		return;
	for (at = first_of(keys, k->serial, k->base); *at != i; at = &keys->key[*at].next)
		;
	*at = k->next;
	k->serial = 0;
}

/*
 * ------------------------------------------------------------------ keys sorted by their last use
 */

/* Makes the key the most recently used key. */
static inline void
touch(struct gantry_keys *keys, uint8_t i)
{
	struct gantry_key *key = keys->key, *k = &key[i], *oldest = &key[keys->oldest];

	if (oldest->older == i)
		return;
	if (keys->oldest == i) {
		/*
		 * The least recently used key becomes the most recently used one: the circle turns
		 * by one key.
		 */
		keys->oldest = k->newer;
		return;
	}
	key[k->older].newer = k->newer;
	key[k->newer].older = k->older;
	k->older = oldest->older;
	k->newer = keys->oldest;
	key[k->older].newer = i;
	oldest->older = i;
}

/*
 * Makes a key whose layout is not needed any more the least recently used key, so that it is taken
 * first.
 */
static void
give_up(struct gantry_keys *keys, uint8_t i)
{
	hide(keys, i);
	touch(keys, i);
	keys->oldest = i;
}

/* ------------------------------------------------------------------ the layout of a descriptor */

uint16_t
gantry_keys_lookup(const struct gantry_keys *keys, uint32_t conn, bool to, uint16_t id,
	uint64_t base)
{
	uint64_t serial = gantry_shelf_serial(keys->layouts, id);
	const struct gantry_key *k = serial == 0 ? NULL : find(keys, conn, to, serial, base);

	return k == NULL ? GANTRY_NO_KEY : k - keys->key;
}

/* Returns the bytes from the base to the end of the layout's last piece. */
static uint64_t
span_of(const struct gantry_layout *l)
{
	uint64_t span = 0;
	uint32_t i;

	for (i = 0; i < l->n; i++)
		span = RTE_MAX(span, l->piece[i].offset + l->piece[i].len +
					     (uint64_t)l->piece[i].stride * (l->rounds - 1));
	return span;
}

/*
 * Reads the layout of the plan from the shelf. A serial number never belongs to another layout. So
 * if the previous descriptor had the same serial number, its layout is used again.
 */
static enum gantry_status
plan_read(struct gantry_keys *keys)
{
	struct gantry_key_plan *plan = keys->plan;

	if (plan->read == plan->serial)
		return GANTRY_OK;
	plan->read = 0;
	if (!gantry_shelf_read(keys->layouts, plan->id, plan->serial, &plan->layout))
		return GANTRY_BAD_LAYOUT;
	plan->read = plan->serial;
	plan->span = span_of(&plan->layout);
	return GANTRY_OK;
}

enum gantry_status
gantry_keys_prepare(struct gantry_keys *keys, uint32_t conn, bool to, uint16_t id, uint64_t base,
	uint64_t len)
{
	uint64_t serial = gantry_shelf_serial(keys->layouts, id);
	struct gantry_key_plan *plan;
	const struct gantry_key *k;
	enum gantry_status status;

	if (serial == 0)
		return GANTRY_BAD_LAYOUT;
	if (gantry_keys_init(keys) != 0)
		return GANTRY_NO_RESOURCES;
	k = find(keys, conn, to, serial, base);
	plan = keys->plan;
	plan->serial = serial;
	plan->base = base;
	plan->conn = conn;
	plan->id = id;
	plan->key = k != NULL ? k - keys->key : GANTRY_NO_KEY;
	plan->to = to;
	if (k != NULL && len <= k->len)
		return GANTRY_OK;
	status = plan_read(keys);
	return status == GANTRY_OK && len > plan->layout.len ? GANTRY_BAD_LENGTH : status;
}

/*
 * Returns true if a round of the piece (gantry_layout::rounds) has a byte in common with [addr,
 * addr + len). The piece begins at `at`.
 */
static bool
piece_overlaps(const struct gantry_layout_piece *p, uint32_t rounds, uint64_t at, uint64_t addr,
	uint64_t len)
{
	uint64_t first = 0;

	/* The first round that does not end before addr. A list has a single round. */
	if (at + p->len <= addr && p->stride != 0)
		first = (addr - at - p->len) / p->stride + 1;
	at += first * p->stride;
	return first < rounds && at < addr + len && addr < at + p->len;
}

enum gantry_status
gantry_keys_check_overlap(struct gantry_keys *keys, uint64_t addr, uint64_t len)
{
	const struct gantry_key_plan *plan = keys->plan;
	const struct gantry_layout *l = &plan->layout;
	enum gantry_status status;
	uint32_t i;

	if (!gantry_layout_meets(plan->base,
		    plan->key != GANTRY_NO_KEY ? keys->key[plan->key].span : plan->span, addr, len))
		return GANTRY_OK;
	status = plan_read(keys);
	for (i = 0; status == GANTRY_OK && i < l->n; i++)
		if (piece_overlaps(&l->piece[i], l->rounds, plan->base + l->piece[i].offset, addr,
			    len))
			status = GANTRY_OVERLAP;
	return status;
}

/*
 * Looks up the memory of a piece, whose rounds must all be in one region. *hit: the region of the
 * previous piece. Returns GANTRY_OK, or the status that says why the memory cannot be used.
 */
static enum gantry_status
piece_resolve(struct gantry_keys *keys, uint32_t i, const struct gantry_region **hit)
{
	struct gantry_key_plan *plan = keys->plan;
	const struct gantry_layout_piece *p = &plan->layout.piece[i];
	uint64_t addr = plan->base + p->offset;
	uint64_t len = (uint64_t)p->stride * (plan->layout.rounds - 1) + p->len;
	const struct gantry_region *r = *hit;

	if (addr < plan->base || addr + len < addr)
		return GANTRY_NOT_REGISTERED;
	if (!gantry_region_hit(r, addr, len))
		r = gantry_region_lookup(keys->view, addr, len);
	if (r == NULL || r->imported != 0)
		return GANTRY_NOT_REGISTERED;
	if (plan->to && r->read_only)
		return GANTRY_READ_ONLY;
	plan->at[i] = (struct hwq_sge){.addr = addr - r->bias, .len = p->len, .lkey = r->lkey};
	*hit = r;
	return GANTRY_OK;
}

/* Returns the connection that posts the UMRs for keys of connection conn. */
static inline uint32_t
home_of(uint32_t conn)
{
	return conn == GANTRY_CONN_DCI ? (uint32_t)GANTRY_CONN_OWN : conn;
}

uint32_t
gantry_keys_umr_bb(const struct gantry_keys *keys)
{
	const struct gantry_layout *l = &keys->plan->layout;

	/* The UMR of a pattern has one 16-byte unit more than the UMR of a list. */
	return hwq_umr_n_bb(l->n + (l->rounds != 1));
}

uint16_t
gantry_keys_find(struct gantry_keys *keys, enum gantry_status *status)
{
	struct gantry_key_plan *plan = keys->plan;
	const struct gantry_region *hit = keys->view->src;
	uint32_t i;

	*status = GANTRY_OK;
	/* A descriptor that waits calls this function again. So its hit is counted later. */
	if (plan->key != GANTRY_NO_KEY)
		return plan->key;
	for (i = 0; *status == GANTRY_OK && i < plan->layout.n; i++)
		*status = piece_resolve(keys, i, &hit);
	if (*status == GANTRY_OK &&
		2 * gantry_keys_umr_bb(keys) > keys->conn[home_of(plan->conn)].n_bb)
		*status = GANTRY_BAD_LAYOUT;
	return GANTRY_NO_KEY;
}

/* ------------------------------------------------------------------ keys in use */

static inline bool
is_fresh(const struct gantry_keys *keys, const struct gantry_key *k)
{
	return keys->conn[home_of(k->conn)].done <= k->laid_out;
}

bool
gantry_keys_is_fresh(const struct gantry_keys *keys, uint16_t key)
{
	return is_fresh(keys, &keys->key[key]);
}

/*
 * Returns true if the key is used by a WQE that is not done, that will be written, or that may be
 * posted again.
 */
static bool
is_in_use(const struct gantry_keys *keys, const struct gantry_key *k)
{
	const struct gantry_conn *c = &keys->conn[k->conn];

	if (k->conn == GANTRY_CONN_NONE)
		return false;
	return c->done < k->used_to || is_fresh(keys, k) || c->state == GANTRY_CONN_DRAINING ||
	       c->state == GANTRY_CONN_BROKEN ||
	       (c->stream->splitting && c->stream->split.key == k - keys->key);
}

/*
 * Returns the key that has been idle longest, or GANTRY_NO_KEY if no key is idle. Keys without a
 * layout are taken first.
 */
static uint16_t
find_idle(const struct gantry_keys *keys)
{
	uint8_t key = keys->oldest;

	do {
		if (!is_in_use(keys, &keys->key[key]))
			return key;
		key = keys->key[key].newer;
	} while (key != keys->oldest);
	return GANTRY_NO_KEY;
}

/*
 * Returns the rights of a key. On the own connection, one side of every RDMA operation is given by
 * a remote key, so the key needs remote rights.
 */
static unsigned int
access_of(uint32_t conn)
{
	return conn == GANTRY_CONN_OWN
		       ? HWQ_ACCESS_LOCAL_WRITE | HWQ_ACCESS_REMOTE_WRITE | HWQ_ACCESS_REMOTE_READ
		       : HWQ_ACCESS_LOCAL_WRITE;
}

static int
put_pattern(struct hwq_sq *sq, const struct hwq_mkey *mkey, const struct gantry_key_plan *plan,
	unsigned int access)
{
	struct mlx5dv_mr_interleaved data[GANTRY_LAYOUT_PIECES];
	uint32_t i;

	for (i = 0; i < plan->layout.n; i++) {
		const struct gantry_layout_piece *p = &plan->layout.piece[i];

		data[i] = (struct mlx5dv_mr_interleaved){
			.addr = plan->at[i].addr,
			.bytes_count = p->len,
			.bytes_skip = p->stride - p->len,
			.lkey = plan->at[i].lkey,
		};
	}
	return hwq_wqe_mr_interleaved(sq, mkey, access, plan->layout.rounds, plan->layout.n, data,
		0);
}

uint16_t
gantry_keys_post(struct gantry_keys *keys)
{
	const struct gantry_key_plan *plan = keys->plan;
	const struct gantry_layout *l = &plan->layout;
	struct gantry_conn *c = &keys->conn[home_of(plan->conn)];
	uint16_t i = find_idle(keys), pi = c->sq->pi;
	unsigned int access = access_of(plan->conn);
	struct gantry_key *k;
	int n;

	if (i == GANTRY_NO_KEY)
		return i;
	k = &keys->key[i];
	n = l->rounds == 1 ? hwq_wqe_mr_list(c->sq, k->mkey, access, l->n, plan->at, 0)
			   : put_pattern(c->sq, k->mkey, plan, access);
	/*
	 * The only error that is left is a full send queue (n == 0): gantry_keys_find() has checked
	 * all other errors.
	 */
	RTE_ASSERT(n >= 0);
	if (n <= 0)
		return GANTRY_NO_KEY;
	hide(keys, i);
	k->serial = plan->serial;
	k->base = plan->base;
	k->version = keys->view->version;
	k->laid_out = c->posted + (uint16_t)(c->sq->last - pi);
	k->used_to = 0;
	k->seq = keys->conn[plan->conn].stream->issue;
	k->span = plan->span;
	k->len = RTE_MIN(l->len, UINT32_MAX);
	k->conn = plan->conn;
	k->to = plan->to;
	show(keys, i);
	touch(keys, i);
	return i;
}

void
gantry_keys_used(struct gantry_keys *keys, uint16_t key, uint64_t end)
{
	keys->key[key].used_to = end;
	touch(keys, key);
}

uint32_t
gantry_keys_number(const struct gantry_keys *keys, uint16_t key)
{
	return keys->key[key].number;
}

/* ------------------------------------------------------------------ failures */

__rte_cold void
gantry_keys_fail(struct gantry_keys *keys, uint32_t conn, uint64_t index)
{
	uint32_t i;

	for (i = 0; keys->key != NULL && i < keys->n; i++) {
		const struct gantry_key *k = &keys->key[i];

		if (home_of(k->conn) == conn && k->laid_out >= index)
			give_up(keys, i);
	}
}

__rte_cold const struct gantry_key *
gantry_keys_find_unowned(const struct gantry_keys *keys, uint64_t index)
{
	uint32_t i;

	for (i = 0; keys->key != NULL && i < keys->n; i++) {
		const struct gantry_key *k = &keys->key[i];

		if (k->conn == GANTRY_CONN_DCI && k->laid_out == index)
			return k;
	}
	return NULL;
}

__rte_cold void
gantry_keys_replayed(struct gantry_keys *keys)
{
	uint32_t i;

	for (i = 0; keys->key != NULL && i < keys->n; i++)
		if (keys->key[i].conn == GANTRY_CONN_OWN)
			keys->key[i].used_to = keys->conn[GANTRY_CONN_OWN].posted;
}

__rte_cold void
gantry_keys_forget(struct gantry_keys *keys, uint32_t conn)
{
	uint32_t i;

	for (i = 0; keys->key != NULL && i < keys->n; i++)
		if (keys->key[i].conn == conn) {
			give_up(keys, i);
			keys->key[i].conn = GANTRY_CONN_NONE;
		}
}
