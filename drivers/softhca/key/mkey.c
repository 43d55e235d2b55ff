/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates, changes, finds and invalidates memory keys. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gone.h"
#include "kept.h"
#include "odp.h"

/* Sets the layout with which an indirect key is created. A part of length 0 is padding. */
static void
key_lay(struct key *key, const struct softhca_mkey_attr *attr)
{
	key->layout = KEY_LIST;
	key->repeat = 1;
	for (uint32_t i = 0; i < attr->n_parts; i++) {
		const struct softhca_mkey_part *part = &attr->parts[i];

		if (part->len == 0)
			continue;
		key->entry[key->n_entries++] = (struct key_entry){.start = key->block_len,
			.va = part->va,
			.number = part->key,
			.len = part->len};
		key->block_len += part->len;
	}
}

/* Returns the access bits of verbs, together with bits that only the adapter has. */
static uint32_t
key_access(const struct softhca_mkey_attr *attr, const struct softhca_config *cfg)
{
	uint32_t access = attr->access & ~(uint32_t)(ACC_LATER | ACC_LATER_RELAXED);

	if (cfg->reorder == 0 || (access & ACC_ON_DEMAND) != 0)
		return access;
	return access | ACC_LATER | ((access & ACC_RELAXED) != 0 ? ACC_LATER_RELAXED : 0);
}

static struct key *
key_new(const struct softhca_mkey_attr *attr, uint8_t variant, struct softhca_mkey *mkey)
{
	struct key *key = calloc(1, sizeof(*key) + attr->n_parts * sizeof(key->entry[0]));

	if (key == NULL)
		return NULL;
	key->mkey = mkey;
	key->kind = attr->kind;
	key->qpn = KEY_ANY_QP;
	if (attr->kind == SOFTHCA_MKEY_ALIAS) {
		key->layout = KEY_LIST;
	} else if (attr->kind != SOFTHCA_MKEY_MR) {
		key_lay(key, attr);
		atomic_init(&key->freed, attr->kind != SOFTHCA_MKEY_INDIRECT || attr->free);
	}
	key->pdn = attr->pdn;
	key->access = key_access(attr, mkey->dev->cfg);
	key->addr = attr->addr;
	key->iova = attr->iova;
	key->len = attr->len;
	key->rinval = attr->rinval;
	key->bsf_on = attr->bsf;
	key->variant = variant;
	if (attr->kind == SOFTHCA_MKEY_MR && !attr->rinval && (key->access & KEY_RARE) == 0)
		key->plain = key_plain_id(key->pdn, variant);
	return key;
}

/* The serial of the next key: alias.c. */
static _Atomic uint64_t serial = 1;

static struct softhca_mkey *
mkey_new(struct softhca_dev *dev, const struct softhca_mkey_attr *attr)
{
	struct softhca_mkey *mkey = calloc(1, sizeof(*mkey));

	if (mkey == NULL)
		return NULL;
	mkey->dev = dev;
	mkey->room = attr->room;
	mkey->max_entries = attr->max_entries;
	mkey->bsf = attr->bsf;
	mkey->crypto = attr->crypto;
	mkey->fixed = attr->fixed;
	if (attr->target != NULL)
		mkey->target = *attr->target;
	mkey->serial = atomic_fetch_add(&serial, 1);
	mkey->variant = attr->has_variant ? attr->variant : (uint8_t)device_clock();
	return mkey;
}

/*
 * Gives the key its attributes and publishes it. has_number: the key keeps its number; otherwise it
 * gets a new number.
 */
static int
mkey_begin(struct softhca_mkey *mkey, const struct softhca_mkey_attr *attr, bool has_number)
{
	struct table *keys = &mkey->dev->lanes->keys;
	int err = 0;

	mkey->key = key_new(attr, mkey->variant, mkey);
	if (mkey->key == NULL)
		return -ENOMEM;
	if ((attr->access & ACC_ON_DEMAND) != 0)
		odp_begin(mkey->dev);
	else if (attr->kind == SOFTHCA_MKEY_MR)
		gone_watch();
	if (has_number)
		table_set(keys, mkey->index, mkey->key);
	else
		err = table_put(keys, mkey->key, &mkey->index);
	if (err != 0)
		free(mkey->key);
	return err;
}

int
softhca_mkey_create(struct softhca_dev *dev, const struct softhca_mkey_attr *attr,
	struct softhca_mkey **out)
{
	struct softhca_mkey *kept = attr->room != 0 ? kept_take(dev->lanes, attr->room) : NULL;
	struct softhca_mkey *mkey = kept != NULL ? kept : mkey_new(dev, attr);
	int err;

	if (mkey == NULL)
		return -ENOMEM;
	err = mkey_begin(mkey, attr, kept != NULL);
	if (err == 0)
		*out = mkey;
	else if (kept != NULL)
		kept_put(mkey);
	else
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
	/*
	 * odp_begin() is called without the lock: it waits for lanes, and a lane may wait for the
	 * lock.
	 */
	if ((attr->access & ACC_ON_DEMAND) != 0)
		odp_begin(mkey->dev);
	/* With the lock, a concurrent UMR runs wholly before or wholly after this change. */
	spin_lock(&mkey->lock);
	mkey->key = key;
	table_set(&mkey->dev->lanes->keys, mkey->index, key);
	spin_unlock(&mkey->lock);
	softhca_quiesce();
	free(old);
	return 0;
}

/*
 * A key may be destroyed while an indirect key or a window refers to it. Assumed: dereg-under-key,
 * dereg-under-window.
 */
int
softhca_mkey_destroy(struct softhca_mkey *mkey)
{
	struct table *keys = &mkey->dev->lanes->keys;

	if (mkey->room != 0)
		table_set(keys, mkey->index, &key_kept);
	else
		table_remove(keys, mkey->index);
	softhca_quiesce();
	free(mkey->key);
	if (mkey->room != 0)
		kept_put(mkey);
	else
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
	struct key *key = key_get(lanes, number >> 8);

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

/*
 * Does not wait for copies by this key that other lanes have begun. Assumed: invalidation-no-wait.
 */
bool
key_invalidate(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn, uint32_t qpn)
{
	enum wire_vendor why;
	struct key *key = key_find(lanes, number, pdn, &why);
	struct softhca_mkey *mkey;
	bool may;

	if (key == NULL)
		return false;
	/* With the lock, a concurrent UMR runs wholly before or wholly after this invalidation. */
	mkey = key->mkey;
	spin_lock(&mkey->lock);
	key = key_find(lanes, number, pdn, &why);
	may = key != NULL && key->rinval && (key->qpn == KEY_ANY_QP || key->qpn == qpn);
	if (may)
		atomic_store_explicit(&key->freed, true, memory_order_relaxed);
	spin_unlock(&mkey->lock);
	return may;
}
