/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds keys by their layouts, and lays keys out. */
#include "gantry_key_cache.h"

#include <errno.h>
#include <string.h>

#include <hwq_wqe_umr.h>

#include "gantry_alloc.h"
#include "gantry_conn.h"
#include "gantry_log.h"
#include "gantry_region.h"
#include "gantry_shelf.h"
#include "gantry_stream.h"

/* ------------------------------------------------------------------ begin and end */

static int
keys_make(struct gantry_keys *keys)
{
	const struct hwq_mkey_conf conf = {.n = keys->n, .max_entries = GANTRY_LAYOUT_PIECES};
	struct gantry_key_plan *plan;
	struct gantry_key *key;
	uint32_t i;
	int ret;

	key = gantry_alloc("gantry_keys", keys->n * sizeof(*key), keys->socket);
	plan = gantry_alloc("gantry_plan", sizeof(*plan), keys->socket);
	ret = key == NULL || plan == NULL ? -ENOMEM
					  : hwq_mkey_pool_create(keys->domain, &conf, &keys->pool);
	if (ret != 0) {
		gantry_free(plan);
		gantry_free(key);
		return ret;
	}
	for (i = 0; i < keys->n; i++)
		key[i].mkey = hwq_mkey_get(keys->pool);
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
		LOG(ERR, "no %u keys for layouts: %s", keys->n, strerror(-ret));
	return ret;
}

int
gantry_keys_fini(struct gantry_keys *keys)
{
	uint32_t i;
	int ret;

	if (keys->key == NULL)
		return 0;
	/* Those that an earlier call has given back are not given back again. */
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

/* ------------------------------------------------------------------ what a descriptor names */

enum gantry_status
gantry_keys_prepare(struct gantry_keys *keys, uint16_t id, uint64_t base, uint64_t len)
{
	struct gantry_key_plan *plan;
	uint64_t serial;

	serial = gantry_shelf_serial(keys->layouts, id);
	if (serial == 0)
		return GANTRY_BAD_LAYOUT;
	if (gantry_keys_init(keys) != 0)
		return GANTRY_NO_RESOURCES;
	plan = keys->plan;
	plan->base = base;
	/* A serial number names one layout for ever: that of the last descriptor is here already. */
	if (plan->serial != serial) {
		plan->serial = 0;
		if (!gantry_shelf_read(keys->layouts, id, serial, &plan->layout))
			return GANTRY_BAD_LAYOUT;
		plan->serial = serial;
	}
	return len <= plan->layout.len ? GANTRY_OK : GANTRY_BAD_LENGTH;
}

/* True: a round of the piece that begins at `at` has a byte in common with [addr, addr + len). */
static bool
piece_overlaps(const struct gantry_layout_piece *p, uint32_t rounds, uint64_t at, uint64_t addr,
	uint64_t len)
{
	uint64_t first = 0;

	/* The first round that does not end before addr. Of a list, there is one. */
	if (at + p->len <= addr && p->stride != 0)
		first = (addr - at - p->len) / p->stride + 1;
	at += first * p->stride;
	return first < rounds && at < addr + len && addr < at + p->len;
}

bool
gantry_keys_overlap(const struct gantry_keys *keys, uint64_t addr, uint64_t len)
{
	const struct gantry_key_plan *plan = keys->plan;
	const struct gantry_layout *l = &plan->layout;
	uint32_t i;

	for (i = 0; i < l->n; i++)
		if (piece_overlaps(&l->piece[i], l->rounds, plan->base + l->piece[i].offset, addr,
			    len))
			return true;
	return false;
}

/* Looks the memory of a piece up, all rounds of it in one region. GANTRY_OK, or why it cannot be used. */
static enum gantry_status
piece_resolve(struct gantry_keys *keys, struct gantry_key_plan *plan, uint32_t i, bool to)
{
	const struct gantry_layout_piece *p = &plan->layout.piece[i];
	uint64_t addr = plan->base + p->offset;
	uint64_t len = (uint64_t)p->stride * (plan->layout.rounds - 1) + p->len;
	const struct gantry_region *r;

	if (addr < plan->base || addr + len < addr)
		return GANTRY_NOT_REGISTERED;
	r = gantry_region_lookup(keys->view, addr, len);
	if (r == NULL)
		return GANTRY_NOT_REGISTERED;
	if (to && r->read_only)
		return GANTRY_READ_ONLY;
	plan->at[i].lkey = r->lkey;
	plan->at[i].addr = addr - r->bias;
	return GANTRY_OK;
}

/* The connection that lays out keys of a connection. */
static uint32_t
home_of(uint32_t conn)
{
	return conn == GANTRY_CONN_DCI ? (uint32_t)GANTRY_CONN_OWN : conn;
}

/* 16-byte units of the UMR. */
static uint32_t
units(const struct gantry_layout *l)
{
	return l->n + (l->rounds != 1);
}

uint16_t
gantry_keys_find(struct gantry_keys *keys, uint32_t conn, bool to, enum gantry_status *status)
{
	struct gantry_key_plan *plan = keys->plan;
	uint32_t i;

	*status = GANTRY_OK;
	plan->to = to;
	for (i = 0; i < keys->n; i++) {
		const struct gantry_key *k = &keys->key[i];

		if (k->serial == plan->serial && k->base == plan->base && k->conn == conn &&
			k->version == keys->view->version && (k->to || !to)) {
			/* A descriptor to a DC peer may look several times: gantry_keys_used(). */
			if (conn != GANTRY_CONN_DCI)
				gantry_counter_add(&keys->hits, 1);
			return i;
		}
	}
	for (i = 0; *status == GANTRY_OK && i < plan->layout.n; i++)
		*status = piece_resolve(keys, plan, i, to);
	if (*status == GANTRY_OK &&
		2 * hwq_umr_n_bb(units(&plan->layout)) > keys->conn[home_of(conn)].n_bb)
		*status = GANTRY_BAD_LAYOUT;
	return GANTRY_NO_KEY;
}

/* ------------------------------------------------------------------ keys in use */

bool
gantry_keys_is_fresh(const struct gantry_keys *keys, uint16_t key)
{
	const struct gantry_key *k = &keys->key[key];

	return keys->conn[k->home].done <= k->laid_out;
}

/* True: a WQE that is not done names it, or will, or may be posted again. */
static bool
is_in_use(const struct gantry_keys *keys, uint32_t i)
{
	const struct gantry_key *k = &keys->key[i];
	const struct gantry_conn *c = &keys->conn[k->conn];

	if (k->conn == GANTRY_CONN_NONE)
		return false;
	return c->done < k->used_to || gantry_keys_is_fresh(keys, i) ||
	       c->state == GANTRY_CONN_DRAINING || c->state == GANTRY_CONN_BROKEN ||
	       (c->stream->splitting && c->stream->split.key == i);
}

/* The key that has been idle longest, or GANTRY_NO_KEY. Keys without a layout come first. */
static uint16_t
find_idle(const struct gantry_keys *keys)
{
	uint64_t least = UINT64_MAX;
	uint16_t best = GANTRY_NO_KEY;
	uint32_t i;

	for (i = 0; i < keys->n; i++) {
		const struct gantry_key *k = &keys->key[i];
		uint64_t rank = k->serial == 0 ? 0 : k->stamp;

		if (rank < least && !is_in_use(keys, i)) {
			least = rank;
			best = i;
		}
	}
	return best;
}

/* Who may use a key: on the own connection, RDMA names one side of every operation by a remote key. */
static unsigned int
access_of(uint32_t conn)
{
	return conn == GANTRY_CONN_OWN
		       ? HWQ_ACCESS_LOCAL_WRITE | HWQ_ACCESS_REMOTE_WRITE | HWQ_ACCESS_REMOTE_READ
		       : HWQ_ACCESS_LOCAL_WRITE;
}

static int
put_list(struct hwq_sq *sq, const struct hwq_mkey *mkey, const struct gantry_key_plan *plan,
	unsigned int access)
{
	struct hwq_sge sge[GANTRY_LAYOUT_PIECES];
	uint32_t i;

	for (i = 0; i < plan->layout.n; i++)
		sge[i] = (struct hwq_sge){
			.addr = plan->at[i].addr,
			.len = plan->layout.piece[i].len,
			.lkey = plan->at[i].lkey,
		};
	return hwq_wqe_mr_list(sq, mkey, access, plan->layout.n, sge, 0);
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
gantry_keys_post(struct gantry_keys *keys, uint32_t conn)
{
	const struct gantry_key_plan *plan = keys->plan;
	const uint32_t home = home_of(conn);
	struct gantry_conn *c = &keys->conn[home];
	uint16_t i = find_idle(keys), pi = c->sq->pi;
	struct gantry_key *k;
	int n;

	if (i == GANTRY_NO_KEY)
		return i;
	k = &keys->key[i];
	n = plan->layout.rounds == 1 ? put_list(c->sq, k->mkey, plan, access_of(conn))
				     : put_pattern(c->sq, k->mkey, plan, access_of(conn));
	/* gantry_keys_find() left no other reason than a full ring. */
	RTE_ASSERT(n >= 0);
	if (n <= 0)
		return GANTRY_NO_KEY;
	k->serial = plan->serial;
	k->base = plan->base;
	k->version = keys->view->version;
	k->conn = conn;
	k->home = home;
	k->to = plan->to;
	k->laid_out = c->posted + (uint16_t)(c->sq->last - pi);
	k->used_to = 0;
	k->seq = keys->conn[conn].stream->issue;
	k->stamp = ++keys->clock;
	gantry_counter_add(&keys->misses, 1);
	return i;
}

void
gantry_keys_used(struct gantry_keys *keys, uint16_t key, uint64_t end)
{
	struct gantry_key *k = &keys->key[key];

	k->used_to = end;
	k->stamp = ++keys->clock;
}

uint32_t
gantry_keys_number(const struct gantry_keys *keys, uint16_t key)
{
	return keys->key[key].mkey->lkey;
}

/* ------------------------------------------------------------------ failures */

__rte_cold void
gantry_keys_fail(struct gantry_keys *keys, uint32_t conn, uint64_t index)
{
	uint32_t i;

	for (i = 0; keys->key != NULL && i < keys->n; i++) {
		struct gantry_key *k = &keys->key[i];

		if (k->home == conn && k->laid_out >= index)
			k->serial = 0;
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
			keys->key[i].serial = 0;
			keys->key[i].conn = GANTRY_CONN_NONE;
		}
}
