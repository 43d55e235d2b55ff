/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Aliases: keys that stand for a key of another function of the card.
 *
 *   owner's function                          importer's function
 *     key, index 0x51, serial 7  <----------    alias: {owner, index 0x51, serial 7}
 *
 * An alias is resolved at each use, through the owner's table of keys. The use is inside a turn,
 * and softhca_mkey_destroy() waits for the turns of all adapters after it has removed the key from
 * the table. So when it returns, no lane moves bytes by an alias of the key. If the index is given
 * to a later key, that key has another serial, and the alias does not reach it.
 */
#include <errno.h>
#include <string.h>

#include "devices.h"
#include "key.h"

void
softhca_mkey_allow(struct softhca_mkey *mkey, const uint8_t key[SOFTHCA_ACCESS_KEY_LEN])
{
	spin_lock(&mkey->lock);
	memcpy(mkey->access_key, key, SOFTHCA_ACCESS_KEY_LEN);
	mkey->allowed = true;
	spin_unlock(&mkey->lock);
}

/* Returns the function of the same card with this id, or NULL. */
static struct softhca_dev *
find_function(const struct softhca_dev *dev, uint32_t vhca_id)
{
	const unsigned int first = softhca_first_function(dev);
	unsigned int n, i;
	struct softhca_dev *devs = softhca_devices(&n);

	for (i = first; i < n && i < first + dev->cfg->functions; i++)
		if (softhca_vhca_id(&devs[i]) == vhca_id)
			return &devs[i];
	return NULL;
}

/* Compares the access key, and notes the serial of the owner's key. */
static int
check_allowed(struct softhca_mkey *mkey, const uint8_t key[SOFTHCA_ACCESS_KEY_LEN],
	struct alias_target *target)
{
	int rc = 0;

	spin_lock(&mkey->lock);
	if (!mkey->allowed)
		rc = SOFTHCA_ALIAS_NO_KEY;
	else if (memcmp(mkey->access_key, key, SOFTHCA_ACCESS_KEY_LEN) != 0)
		rc = SOFTHCA_ALIAS_WRONG_KEY;
	target->serial = mkey->serial;
	spin_unlock(&mkey->lock);
	return rc;
}

/* Finds the owner's key inside a turn: it may be destroyed at the same time. */
static int
find_target(struct softhca_dev *dev, const struct softhca_alias_attr *attr,
	struct alias_target *target)
{
	struct softhca_dev *owner = find_function(dev, attr->vhca_id);
	struct softhca_lanes *lanes = owner != NULL ? dev_lanes(owner) : NULL;
	struct lane_slot *slot;
	struct key *key;
	int rc;

	if (owner == NULL)
		return SOFTHCA_ALIAS_NO_VHCA;
	if (lanes == NULL || atomic_load(&owner->dead))
		return SOFTHCA_ALIAS_NO_KEY;
	*target = (struct alias_target){.owner = owner, .index = attr->index};
	slot = turn_claim(dev->lanes);
	/* An index has 24 bits, and the tables of numbers ignore further bits. */
	key = attr->index >> 24 == 0 ? key_get(lanes, attr->index) : NULL;
	rc = key == NULL ? SOFTHCA_ALIAS_NO_KEY : check_allowed(key->mkey, attr->key, target);
	turn_end(slot);
	return rc;
}

int
softhca_alias_create(struct softhca_dev *dev, const struct softhca_alias_attr *attr,
	struct softhca_mkey **out)
{
	struct softhca_mkey_attr key = {.pdn = attr->pdn,
		.kind = SOFTHCA_MKEY_ALIAS,
		.has_variant = true, /* 0 */
		.fixed = true};
	struct alias_target target;
	int rc = find_target(dev, attr, &target);

	if (rc != 0)
		return rc;
	key.target = &target;
	return softhca_mkey_create(dev, &key, out);
}

const struct key *
alias_find(const struct key *alias, struct softhca_lanes **lanes, enum wire_vendor *why)
{
	const struct alias_target *target = &alias->mkey->target;
	const struct key *key;

	*why = VEN_KEY_ALIAS;
	*lanes = dev_lanes(target->owner);
	if (*lanes == NULL || atomic_load_explicit(&target->owner->dead, memory_order_relaxed))
		return NULL;
	key = key_get(*lanes, target->index);
	if (key == NULL || key->mkey->serial != target->serial)
		return NULL;
	*why = VEN_KEY_FREE;
	return atomic_load_explicit(&key->freed, memory_order_relaxed) ? NULL : key;
}

bool
softhca_alias_is_whole(const struct softhca_mkey *alias)
{
	struct lane_slot *slot = turn_claim(alias->dev->lanes);
	struct softhca_lanes *lanes;
	enum wire_vendor why;
	bool whole = alias_find(alias->key, &lanes, &why) != NULL || why == VEN_KEY_FREE;

	turn_end(slot);
	return whole;
}
