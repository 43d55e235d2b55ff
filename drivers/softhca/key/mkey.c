/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory keys: their numbers, the rules that guard them, and moving bytes between what they name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "data.h"

char key_sink[1];

/* ---- tables of 24-bit numbers */

#define TABLE_WINDOW (1u << 16)
#define TABLE_END    0xffffffu

void
table_init(struct table *t)
{
	uint32_t seed = 0;

	/*
	 * Two processes are two adapters. Starting each at a number of its own makes a peer's number,
	 * used by mistake in this process, name nothing.
	 */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint32_t)device_clock() * 2654435761u;
	pthread_mutex_init(&t->lock, NULL);
	t->window = TABLE_WINDOW;
	t->base = TABLE_FIRST + (seed >> 8) % (TABLE_END - TABLE_FIRST);
	t->next = 0;
	t->used = 0;
}

void
table_fini(struct table *t)
{
	for (uint32_t i = 0; i < TABLE_TOP; i++)
		free((void *)atomic_load_explicit(&t->top[i], memory_order_relaxed));
	pthread_mutex_destroy(&t->lock);
}

static _Atomic(void *) *
table_slot(struct table *t, uint32_t number)
{
	_Atomic(void *) *leaf =
		atomic_load_explicit(&t->top[number >> TABLE_LEAF_LOG], memory_order_acquire);

	if (leaf == NULL) {
		leaf = calloc(TABLE_LEAF, sizeof(*leaf));
		if (leaf == NULL)
			return NULL;
		atomic_store_explicit(&t->top[number >> TABLE_LEAF_LOG], leaf,
			memory_order_release);
	}
	return &leaf[number & (TABLE_LEAF - 1)];
}

/* Numbers walk through a window and come back late: a stale one is caught, not served. */
static int
table_put_locked(struct table *t, void *obj, uint32_t *number)
{
	const uint32_t span = TABLE_END - TABLE_FIRST;

	if (t->used > t->window / 2 && t->window < span / 2)
		t->window *= 2;
	for (uint32_t tries = 0; tries < t->window; tries++) {
		uint32_t at = t->next++ % t->window;
		uint32_t n = TABLE_FIRST + (t->base - TABLE_FIRST + at) % span;
		_Atomic(void *) *slot = table_slot(t, n);

		if (slot == NULL)
			return -ENOMEM;
		if (atomic_load_explicit(slot, memory_order_relaxed) != NULL)
			continue;
		/* The number is part of the object: both must be there before lanes can see it. */
		*number = n;
		atomic_store_explicit(slot, obj, memory_order_seq_cst);
		t->used++;
		return 0;
	}
	return -ENOMEM;
}

int
table_put(struct table *t, void *obj, uint32_t *number)
{
	int err;

	pthread_mutex_lock(&t->lock);
	err = table_put_locked(t, obj, number);
	pthread_mutex_unlock(&t->lock);
	return err;
}

/* True where n numbers from `first` on are free. -ENOMEM. */
static int
range_is_free(struct table *t, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		_Atomic(void *) *slot = table_slot(t, first + i);

		if (slot == NULL)
			return -ENOMEM;
		if (atomic_load_explicit(slot, memory_order_relaxed) != NULL)
			return false;
	}
	return true;
}

static int
table_put_range_locked(struct table *t, void *obj, uint32_t n, uint32_t *first)
{
	for (uint32_t tries = 0; tries < TABLE_END / n; tries++) {
		uint32_t at = (t->base + t->next) % TABLE_END / n * n;
		int is_free;

		t->next += n;
		if (at < TABLE_FIRST || at + n > TABLE_END)
			continue;
		is_free = range_is_free(t, at, n);
		if (is_free < 0)
			return is_free;
		if (!is_free)
			continue;
		for (uint32_t i = 0; i < n; i++)
			atomic_store_explicit(table_slot(t, at + i), obj, memory_order_seq_cst);
		t->used += n;
		*first = at;
		return 0;
	}
	return -ENOSPC;
}

int
table_put_range(struct table *t, void *obj, uint32_t n, uint32_t *first)
{
	int err;

	pthread_mutex_lock(&t->lock);
	err = table_put_range_locked(t, obj, n, first);
	pthread_mutex_unlock(&t->lock);
	return err;
}

void
table_set(struct table *t, uint32_t number, void *obj)
{
	pthread_mutex_lock(&t->lock);
	atomic_store_explicit(table_slot(t, number), obj, memory_order_seq_cst);
	pthread_mutex_unlock(&t->lock);
}

void
table_remove(struct table *t, uint32_t number)
{
	pthread_mutex_lock(&t->lock);
	atomic_store_explicit(table_slot(t, number), NULL, memory_order_seq_cst);
	t->used--;
	pthread_mutex_unlock(&t->lock);
}

bool
table_replace(struct table *t, uint32_t number, void *old, void *obj)
{
	return atomic_compare_exchange_strong_explicit(table_slot(t, number), &old, obj,
		memory_order_seq_cst, memory_order_relaxed);
}

/* ---- keys */

static struct key *
key_new(const struct softhca_mkey_attr *attr, uint8_t variant, struct softhca_mkey *mkey)
{
	struct key *key = calloc(1, sizeof(*key));

	if (key == NULL)
		return NULL;
	key->mkey = mkey;
	key->kind = attr->kind;
	key->qpn = KEY_ANY_QP;
	if (attr->kind != SOFTHCA_MKEY_MR) {
		key->layout = KEY_LIST;
		atomic_init(&key->freed, true);
	}
	key->pdn = attr->pdn;
	key->access = attr->access;
	key->addr = attr->addr;
	key->iova = attr->iova;
	key->len = attr->len;
	key->rinval = attr->rinval;
	key->variant = variant;
	if (attr->kind == SOFTHCA_MKEY_MR && !attr->rinval && (attr->access & ACC_ON_DEMAND) == 0)
		key->plain = key_plain_tag(key->pdn, variant);
	return key;
}

int
softhca_mkey_create(struct softhca_dev *dev, const struct softhca_mkey_attr *attr,
	struct softhca_mkey **out)
{
	struct softhca_mkey *mkey = calloc(1, sizeof(*mkey));
	int err = -ENOMEM;

	if (mkey == NULL)
		return -ENOMEM;
	mkey->dev = dev;
	mkey->max_entries = attr->max_entries;
	mkey->bsf = attr->bsf;
	mkey->crypto = attr->crypto;
	mkey->key = key_new(attr,
		attr->kind == SOFTHCA_MKEY_INDIRECT ? attr->variant : (uint8_t)device_clock(),
		mkey);
	if (mkey->key == NULL)
		goto free_mkey;
	if ((attr->access & ACC_ON_DEMAND) != 0)
		odp_begin(dev);
	err = table_put(&dev->lanes->keys, mkey->key, &mkey->index);
	if (err != 0)
		goto free_key;
	*out = mkey;
	return 0;

free_key:
	free(mkey->key);
free_mkey:
	free(mkey);
	return err;
}

int
softhca_mkey_modify(struct softhca_mkey *mkey, const struct softhca_mkey_attr *attr)
{
	struct key *old = mkey->key;
	struct key *key = key_new(attr, old->variant, mkey);

	if (key == NULL)
		return -ENOMEM;
	spin_lock(
		&mkey->lock); /* a work request may be about to learn that it is no indirect key */
	mkey->key = key;
	if ((attr->access & ACC_ON_DEMAND) != 0)
		odp_begin(mkey->dev);
	table_set(&mkey->dev->lanes->keys, mkey->index, key);
	spin_unlock(&mkey->lock);
	softhca_quiesce(mkey->dev);
	free(old);
	return 0;
}

int
softhca_mkey_destroy(struct softhca_mkey *mkey)
{
	table_remove(&mkey->dev->lanes->keys, mkey->index);
	softhca_quiesce(mkey->dev);
	free(mkey->key);
	free(mkey);
	return 0;
}

uint32_t
softhca_mkey_key(const struct softhca_mkey *mkey)
{
	return mkey->index << 8 | mkey->key->variant;
}

struct key *
key_copy(const struct key *key, uint32_t n_entries)
{
	struct key *copy = malloc(sizeof(*copy) + n_entries * sizeof(copy->entry[0]));

	if (copy == NULL)
		return NULL;
	memcpy(copy, key, sizeof(*copy));
	copy->n_entries = 0;
	return copy;
}

struct key *
key_find(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn, enum wire_vendor *why)
{
	struct key *key = table_get(&lanes->keys, number >> 8);

	*why = VEN_KEY_INDEX;
	if (key == NULL)
		return NULL;
	*why = VEN_KEY_VARIANT;
	if (key->variant != (number & 0xff))
		return NULL;
	*why = VEN_KEY_FREE;
	if (atomic_load_explicit(&key->freed, memory_order_relaxed))
		return NULL;
	*why = VEN_KEY_PD;
	return key->pdn == pdn ? key : NULL;
}

bool
key_gather_any(struct run *run, struct softhca_lanes *lanes, uint32_t number, uint32_t pdn,
	uint32_t need, uint64_t va, uint64_t len, struct sg *sg)
{
	struct key *key;
	uint64_t off;

	if (number == SOFTHCA_DUMP_FILL_KEY)
		return sg_push(run, sg, SINK, len);
	key = key_find(lanes, number, pdn, &run->vendor);
	if (key == NULL)
		return false;
	if (key->kind != SOFTHCA_MKEY_MR)
		return key_walk(run, lanes, key, need, va, len, sg);
	run->vendor = VEN_KEY_ACCESS;
	if ((key->access & need) != need)
		return false;
	run->vendor = VEN_KEY_BOUNDS;
	if (!key_covers(key, va, len, &off))
		return false;
	sg->odp |= key->access & ACC_ON_DEMAND;
	return sg_push(run, sg, (void *)(uintptr_t)(key->addr + off), len);
}

bool
key_invalidate(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn, uint32_t qpn)
{
	enum wire_vendor why;
	struct key *key = key_find(lanes, number, pdn, &why);
	struct softhca_mkey *mkey;
	bool may;

	if (key == NULL)
		return false;
	/* Who configures it at this moment begins with what it is afterwards, or has ended before. */
	mkey = key->mkey;
	spin_lock(&mkey->lock);
	key = key_find(lanes, number, pdn, &why);
	may = key != NULL && key->rinval && (key->qpn == KEY_ANY_QP || key->qpn == qpn);
	if (may)
		atomic_store_explicit(&key->freed, true, memory_order_relaxed);
	spin_unlock(&mkey->lock);
	return may;
}

/* ---- memory lists */

static void *
piece_at(void *p, uint64_t off)
{
	return p == SINK ? SINK : (char *)p + off;
}

void
sg_copy_pieces(const struct sg *dst, const struct sg *src)
{
	uint64_t left = src->len, doff = 0, soff = 0;
	const struct sg_piece *dv = sg_pieces(dst), *sv = sg_pieces(src);
	unsigned int d = 0, s = 0;

	while (left != 0) {
		uint64_t n = dv[d].len - doff;

		if (n > sv[s].len - soff)
			n = sv[s].len - soff;
		if (n > left)
			n = left;
		piece_copy(piece_at(dv[d].p, doff), piece_at(sv[s].p, soff), n);
		left -= n;
		doff += n;
		soff += n;
		if (doff == dv[d].len) {
			d++;
			doff = 0;
		}
		if (soff == sv[s].len) {
			s++;
			soff = 0;
		}
	}
}
