/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the memory of an indirect key: its layout refers to other keys, which may be indirect, too.
 * There are at most KEY_MAX_DEPTH layouts in a chain.
 *
 * A byte is accessible only if each key of the chain is valid, is in the same PD, and covers the
 * byte. It is writable only if each key of the chain allows local writes. Only the outermost key
 * needs the remote right, because the program granted the right for this key. Assumed:
 * inner-key-write, inner-key-remote.
 */
#include "keywalk.h"

/* Appends a piece. If the piece begins where the last piece ends, the two are merged. */
static bool
sg_append(struct key_use *use, struct sg *sg, void *p, uint64_t len)
{
	if (sg->n != 0 && (sg->rare & ACC_CIPHERED) == 0) {
		struct sg_piece *last = (struct sg_piece *)sg_pieces(sg) + sg->n - 1;

		if ((char *)last->p + last->len == p) {
			last->len += len;
			sg->len += len;
			return true;
		}
	}
	return sg_push(use, sg, p, len);
}

struct walk {
	struct key_use *use;
	struct softhca_lanes *lanes;
	struct sg *sg;
	uint32_t pdn;
	uint32_t need; /* rights that inner keys need: ACC_LOCAL_WRITE or 0 */
};

static bool walk_layout(const struct walk *w, const struct key *key, uint64_t off, uint64_t len,
	unsigned int depth);

static bool
refuse(const struct walk *w, enum wire_vendor why)
{
	w->use->vendor = why;
	return false;
}

/* Appends the memory of [va, va+len) of a key that is in a layout. */
static bool
walk_key(const struct walk *w, uint32_t number, uint64_t va, uint64_t len, unsigned int depth)
{
	struct key *key;
	uint64_t off;

	if (number == SOFTHCA_DUMP_FILL_KEY)
		return sg_append(w->use, w->sg, SINK, len);
	key = key_find(w->lanes, number, w->pdn, &w->use->vendor);
	if (key == NULL)
		return false;
	if (key->kind == SOFTHCA_MKEY_WINDOW_1 || key->kind == SOFTHCA_MKEY_WINDOW_2)
		return refuse(w, VEN_KEY_WINDOW);
	if (key->kind == SOFTHCA_MKEY_ALIAS) /* Assumed: alias-in-layout. */
		return refuse(w, VEN_KEY_ALIAS);
	if ((key->access & w->need) != w->need)
		return refuse(w, VEN_KEY_ACCESS);
	off = va - key->iova;
	if (key->sig_on)
		return refuse(w, VEN_KEY_ACCESS);
	if (off > key->len || len > key->len - off)
		return refuse(w, VEN_KEY_BOUNDS);
	w->sg->rare |= key->access & KEY_RARE;
	if (key->layout == KEY_PLAIN)
		return sg_append(w->use, w->sg, (void *)(uintptr_t)(key->addr + off), len);
	if (key->mkey->crypto)
		return refuse(w, VEN_CRYPTO);
	if (depth == KEY_MAX_DEPTH)
		return refuse(w, VEN_KEY_DEPTH);
	return walk_layout(w, key, off, len, depth + 1);
}

/* Finds the entry with byte `off` of a round. Entries of length 0 are skipped. */
static uint32_t
find_entry(const struct key *key, uint64_t off)
{
	uint32_t lo = 0, hi = key->n_entries;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (key->entry[mid].start <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Appends at most len bytes of round number `round` of the layout, from byte `off` of the round on.
 * Only a repeated layout (KEY_REPEAT) has more than one round. Sets *took to the number of appended
 * bytes.
 */
static bool
walk_round(const struct walk *w, const struct key *key, uint64_t round, uint64_t off, uint64_t len,
	uint64_t *took, unsigned int depth)
{
	uint64_t left = len;

	for (uint32_t i = find_entry(key, off); i < key->n_entries && left != 0; i++) {
		const struct key_entry *e = &key->entry[i];
		uint64_t skip = off - e->start, n;

		if (skip >= e->len)
			continue;
		n = e->len - skip < left ? e->len - skip : left;
		if (!walk_key(w, e->number, e->va + round * e->stride + skip, n, depth))
			return false;
		off += n;
		left -= n;
	}
	*took = len - left;
	return true;
}

/*
 * Appends the memory of [off, off+len). The key covers this range, but its layout may be shorter
 * than the key.
 */
static bool
walk_layout(const struct walk *w, const struct key *key, uint64_t off, uint64_t len,
	unsigned int depth)
{
	uint64_t round = 0, took = 0;

	/* a list has only round 0: a later round is after its last entry */
	if (key->block_len != 0) {
		round = off / key->block_len;
		off %= key->block_len;
	}
	for (; len != 0; len -= took, off = 0, round++) {
		if (round >= key->repeat)
			return refuse(w, VEN_KEY_BOUNDS);
		if (!walk_round(w, key, round, off, len, &took, depth))
			return false;
		if (took == 0)
			return refuse(w, VEN_KEY_BOUNDS);
	}
	return true;
}

bool
layout_gather(struct key_use *use, struct softhca_lanes *lanes, const struct key *key,
	uint32_t need, uint64_t off, uint64_t len, struct sg *sg)
{
	const struct walk w = {.use = use, .lanes = lanes, .sg = sg, .pdn = key->pdn, .need = need};

	if (off > key->len || len > key->len - off)
		return refuse(&w, VEN_KEY_BOUNDS);
	return walk_layout(&w, key, off, len, 1);
}
