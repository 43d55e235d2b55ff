/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys a queue's transactions and their keys. */
#include "gantry_txns.h"

#include <errno.h>
#include <string.h>

#include <hwq_dev.h>

#include "gantry_alloc.h"
#include "gantry_log_rate.h"
#include "gantry_region.h"

/*
 * Bytes of the scratch memory: the most data of a transaction, and the longest signatures (8 bytes)
 * for the shortest blocks (512 bytes).
 */
#define SCRATCH_LEN (GANTRY_TXN_MAX_LEN + GANTRY_TXN_MAX_LEN / 512 * 8)

/* ------------------------------------------------------------------ keys */

/* Creates a key of a transaction. Returns 0 or the device's error. */
static int
key_make(struct gantry_txns *all, struct gantry_txn_open *t, bool encrypts)
{
	const struct hwq_mkey_conf conf = {
		.n = 1,
		/* A pattern can use one entry less than a list. */
		.max_entries = GANTRY_TXN_MAX_DATA,
		.flags = encrypts ? HWQ_MKEY_SIG | HWQ_MKEY_CRYPTO : HWQ_MKEY_SIG,
	};
	int ret = hwq_mkey_pool_create(all->domain, &conf, &t->pool[encrypts]);

	if (ret == 0)
		t->key[encrypts] = hwq_mkey_get(t->pool[encrypts]);
	return ret;
}

static int
key_end(struct gantry_txn_open *t, bool encrypts)
{
	int ret;

	if (t->pool[encrypts] == NULL)
		return 0;
	/* An earlier call may have given the key back. hwq_mkey_put() then ignores it. */
	hwq_mkey_put(t->key[encrypts]);
	ret = hwq_mkey_pool_destroy(t->pool[encrypts]);
	if (ret == 0)
		t->pool[encrypts] = NULL;
	return ret;
}

static __rte_cold bool
key_renew(struct gantry_txns *all, struct gantry_txn_open *t)
{
	const bool encrypts = (t->unfit & GANTRY_TXN_KEY_ENCRYPTS) != 0;
	int ret = key_end(t, encrypts);

	if (ret == 0)
		ret = key_make(all, t, encrypts);
	if (ret != 0)
		LOG_RATED(gantry_log_rate_others(), ERR,
			"cannot create a new key for a transaction: %s", strerror(-ret));
	return ret == 0;
}

bool
gantry_txn_fit_key(struct gantry_txns *all, struct gantry_txn_open *t, bool encrypts)
{
	if ((t->unfit & GANTRY_TXN_KEY_DOUBTFUL) != 0 && !key_renew(all, t))
		return false;
	t->mkey = t->key[encrypts];
	t->unfit = encrypts ? GANTRY_TXN_KEY_ENCRYPTS : 0;
	return true;
}

/* Creates all keys of a transaction. Returns 0 or the device's error. */
static int
keys_make(struct gantry_txns *all, struct gantry_txn_open *t)
{
	int ret = key_make(all, t, false);

	if (ret == 0 && all->encrypts)
		ret = key_make(all, t, true);
	t->mkey = t->key[false];
	return ret;
}

/* ------------------------------------------------------------------ begin and end */

static int
scratch_make(struct gantry_txns *all)
{
	void *scratch = gantry_alloc("gantry_txn_scratch", SCRATCH_LEN, all->socket);
	int ret;

	if (scratch == NULL)
		return -ENOMEM;
	ret = hwq_mr_register(all->dev, scratch, SCRATCH_LEN,
		HWQ_ACCESS_LOCAL_WRITE | HWQ_ACCESS_REMOTE_WRITE, &all->scratch_mr);
	if (ret == 0)
		all->scratch = scratch;
	else
		gantry_free(scratch);
	return ret;
}

int
gantry_txns_fini(struct gantry_txns *all)
{
	uint32_t i;
	int ret;

	if (all->open == NULL)
		return 0;
	for (i = 0; i < all->n; i++) {
		ret = key_end(&all->open[i], false);
		if (ret == 0)
			ret = key_end(&all->open[i], true);
		if (ret != 0)
			return ret;
	}
	if (all->scratch != NULL) {
		ret = hwq_mr_deregister(&all->scratch_mr);
		if (ret != 0)
			return ret;
		gantry_free(all->scratch);
		all->scratch = NULL;
	}
	gantry_free(all->open);
	all->open = NULL;
	return 0;
}

int
gantry_txns_init(struct gantry_txns *all, uint32_t n)
{
	uint32_t i;
	int ret;

	all->n = n;
	SLIST_INIT(&all->free);
	all->open = gantry_alloc("gantry_txns", n * sizeof(*all->open), all->socket);
	ret = all->open == NULL ? -ENOMEM : scratch_make(all);
	for (i = 0; ret == 0 && i < n; i++) {
		ret = keys_make(all, &all->open[i]);
		SLIST_INSERT_HEAD(&all->free, &all->open[i], next_free);
	}
	if (ret != 0)
		LOG(ERR, "cannot prepare %u transactions: %s", n, strerror(-ret));
	return ret;
}

uint32_t
gantry_txns_sq_wr(const struct gantry_txns *all, uint32_t depth)
{
	/*
	 * A transaction of one buffer and one part, with signatures in both domains and a response,
	 * needs 8 WQEBBs.
	 */
	uint32_t n = depth != 0 ? depth : 8 * all->n;

	return RTE_MIN(RTE_MAX(n, GANTRY_TXN_LEAST_BB), hwq_dev_caps(all->dev)->max_qp_wr);
}

int
gantry_txn_line_create(uint8_t mode, int socket, struct gantry_txn_line **out)
{
	struct gantry_txn_line *line = gantry_alloc("gantry_txn_line", sizeof(*line), socket);

	if (line == NULL)
		return -ENOMEM;
	line->mode = mode;
	TAILQ_INIT(&line->open);
	*out = line;
	return 0;
}

bool
gantry_txns_are_older(const struct gantry_txns *all, uint64_t version)
{
	const struct gantry_txn_counts *counts = &all->counts;
	uint32_t i;

	if (gantry_counter_get(&counts->opened) == gantry_counter_get(&counts->done))
		return false;
	for (i = 0; i < all->n; i++)
		if (all->open[i].state != 0 && all->open[i].version < version)
			return true;
	return false;
}

void
gantry_txns_note_passed(struct gantry_txns *all, uint64_t version)
{
	if (atomic_load_explicit(&all->passed, memory_order_relaxed) != version &&
		!gantry_txns_are_older(all, version))
		/* Pairs with the acquire in gantry_txns_have_passed(). */
		atomic_store_explicit(&all->passed, version, memory_order_release);
}

bool
gantry_txns_have_passed(const struct gantry_txns *all, const struct gantry_region_view *view,
	uint64_t version)
{
	const struct gantry_txn_counts *counts = &all->counts;
	uint64_t done;

	/*
	 * Pairs with the release in gantry_region_leave(): all calls that began before the barrier
	 * have ended, and `opened` has counted their transactions.
	 */
	if (atomic_load_explicit(&view->state, memory_order_seq_cst) != GANTRY_REGION_INSIDE) {
		/*
		 * Pairs with the release in settle(): `opened` is read after `done`. If both are
		 * equal, no transaction was open when `done` was read.
		 */
		done = atomic_load_explicit(&counts->done, memory_order_acquire);
		if (gantry_counter_get(&counts->opened) == done)
			return true;
	}
	return atomic_load_explicit(&all->passed, memory_order_acquire) >= version;
}
