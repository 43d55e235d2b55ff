/* SPDX-License-Identifier: BSD-3-Clause */
/* The access rules for all kinds of keys. */
#include "gather.h"

#include "keysig.h"
#include "keywalk.h"

static bool
refuse(struct key_use *use, enum wire_vendor why)
{
	use->vendor = why;
	return false;
}

/*
 * True if the access may use the window. Only an access with a remote right may use a window, and a
 * window of type 2 belongs to one QP (InfiniBand, 10.6.7).
 */
static bool
may_use_window(const struct key_use *use, const struct key *key, uint32_t need)
{
	return (need & ACC_REMOTE) != 0 && (key->qpn == KEY_ANY_QP || use->peer_qpn == key->qpn);
}

/* Gathers the memory of an indirect key or a window. */
static bool
gather_layout(struct key_use *use, struct softhca_lanes *lanes, const struct key *key,
	uint32_t need, uint64_t va, uint64_t len, struct sg *sg)
{
	const uint32_t writes = ACC_LOCAL_WRITE | ACC_REMOTE_WRITE | ACC_REMOTE_ATOMIC;
	uint64_t off = va - key->iova;

	if (key->kind != SOFTHCA_MKEY_INDIRECT && !may_use_window(use, key, need))
		return refuse(use, VEN_KEY_WINDOW);
	if ((key->access & need) != need)
		return refuse(use, VEN_KEY_ACCESS);
	if (key->sig_on || key->mkey->crypto) {
		bool is_there = sig_walk(use, lanes, key, need, off, len, sg);

		sg->rare |= key->access & ACC_LATER;
		return is_there;
	}
	return layout_gather(use, lanes, key, need & writes ? ACC_LOCAL_WRITE : 0, off, len, sg);
}

/*
 * Gathers the memory of an alias. The owner's key decides about rights and bounds, and its PD does
 * not matter. Memory on demand is refused: another adapter may not know of it (odp_begin()).
 * Assumed: alias-rights, alias-odp, alias-keys.
 */
static bool
gather_alias(struct key_use *use, const struct key *alias, uint32_t need, uint64_t va, uint64_t len,
	struct sg *sg)
{
	const uint32_t own = sg->rare & ACC_ON_DEMAND; /* of earlier pieces of the list */
	struct softhca_lanes *lanes;
	const struct key *key = alias_find(alias, &lanes, &use->vendor);
	uint64_t off;

	if (key == NULL)
		return false;
	if ((key->access & need) != need)
		return refuse(use, VEN_KEY_ACCESS);
	if (!key_covers(key, va, len, &off))
		return refuse(use, VEN_KEY_BOUNDS);
	if (key->kind == SOFTHCA_MKEY_MR) {
		sg->rare |= key->access & KEY_RARE;
		return sg_push(use, sg, (void *)(uintptr_t)(key->addr + off), len);
	}
	sg->rare &= ~(uint32_t)ACC_ON_DEMAND;
	if (!gather_layout(use, lanes, key, need, va, len, sg))
		return false;
	if ((sg->rare & ACC_ON_DEMAND) != 0)
		return refuse(use, VEN_KEY_ALIAS);
	sg->rare |= own;
	return true;
}

bool
key_gather_any(struct key_use *use, struct key_seen *seen, struct softhca_lanes *lanes,
	uint32_t number, uint32_t pdn, uint32_t need, uint64_t va, uint64_t len, struct sg *sg)
{
	struct key *key;
	uint64_t off;

	if (number == SOFTHCA_DUMP_FILL_KEY)
		return sg_push(use, sg, SINK, len);
	key = key_find(lanes, number, pdn, &use->vendor);
	if (key == NULL)
		return false;
	if (key->kind == SOFTHCA_MKEY_ALIAS)
		return gather_alias(use, key, need, va, len, sg);
	if (key->kind != SOFTHCA_MKEY_MR)
		return gather_layout(use, lanes, key, need, va, len, sg);
	if ((key->access & need) != need)
		return refuse(use, VEN_KEY_ACCESS);
	if (!key_covers(key, va, len, &off))
		return refuse(use, VEN_KEY_BOUNDS);
	if (key->plain != 0)
		*seen = (struct key_seen){.name = key_name(number, pdn), .key = key};
	sg->rare |= key->access & KEY_RARE;
	return sg_push(use, sg, (void *)(uintptr_t)(key->addr + off), len);
}
