/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UMR: the work request that gives an indirect key its layout, rights and variant (the lowest byte
 * of its number), that binds a memory window, and that invalidates a key or a window
 * (mlx5dv_wr_mkey_configure(3), mlx5dv_wr_post(3), ibv_bind_mw(3), ibv_wr_local_inv in
 * ibv_wr_post(3)).
 *
 * A new key is built in separate memory and published as a whole: other lanes see the old key or
 * the new key, never a mixture. The rules for windows are in InfiniBand, volume 1, chapter 10.6.6.
 */
#include <stdlib.h>

#include "gather.h"
#include "order.h"
#include "requester.h"
#include "retire.h"

#define MASK_ACCESS (UMR_MASK_LW | UMR_MASK_RR | UMR_MASK_RW | UMR_MASK_ATOMIC)
#define MASK_KNOWN                                                                                 \
	(UMR_MASK_LEN | UMR_MASK_START | UMR_MASK_VARIANT | UMR_MASK_QPN | MASK_ACCESS |           \
		UMR_MASK_FREE | UMR_MASK_BSF | UMR_MASK_SIG_ERR)

struct umr {
	struct run *run;
	const struct wqe *wqe;
	const uint8_t *mkc;
	uint64_t mask;
	uint32_t units, bsf_units; /* 16-byte units of the layout, and of the BSFs after it */
	uint32_t mkc_flags;
	bool has_sig;
	struct key_sig sig;
	struct key_crypto crypto;
	uint32_t qpn;    /* QPN of the new key */
	uint8_t variant; /* variant of the new key: its lowest byte */
	uint8_t flags;
	bool free;              /* the request revokes the key's rights */
	const uint8_t *fetched; /* layout that is not in the WQE, or NULL */
};

static const uint8_t *
umr_unit(const struct umr *u, uint32_t i)
{
	if (u->fetched != NULL)
		return u->fetched + i * WQE_SEG;
	return wqe_seg(u->run, u->wqe, UMR_LAYOUT_UNIT + i);
}

/* ---- reading the request */

/*
 * True if the WQE is long enough for its layout. room: units of the WQE after the key's values. If
 * the layout is not inline, the WQE has a data segment in place of the layout.
 */
static bool
layout_is_there(const struct umr *u, uint32_t room)
{
	if ((u->flags & UMR_INLINE) != 0)
		return u->units + u->bsf_units <= room;
	return u->bsf_units == 0 && (u->units == 0 || room == 1);
}

static unsigned int
umr_decode(struct umr *u)
{
	const uint8_t *ctrl = wqe_seg(u->run, u->wqe, UMR_CTRL_UNIT);
	uint32_t room = u->wqe->ds - UMR_LAYOUT_UNIT, extra;

	u->flags = ctrl[UMR_FLAGS];
	u->units = get_be16(ctrl + UMR_KLM_UNITS);
	u->mask = get_be64(ctrl + UMR_MASK);
	u->mkc = wqe_seg(u->run, u->wqe, UMR_MKC_UNIT);
	u->variant = (uint8_t)get_be32(u->mkc + MKC_QPN_VARIANT);
	u->qpn = get_be32(u->mkc + MKC_QPN_VARIANT) >> 8;
	u->mkc_flags = get_be32(u->mkc + MKC_FLAGS_PD);
	extra = get_be16(ctrl + UMR_OFFSET_OR_BSF_UNITS);
	u->bsf_units = u->flags & UMR_TRANSLATION_OFFSET ? 0 : extra;
	u->free = (u->mask & UMR_MASK_FREE) != 0 && (u->mkc[MKC_FREE] & MKC_FREE_BIT) != 0;
	if ((u->flags & ~(UMR_INLINE | UMR_CHECK_FREE | UMR_TRANSLATION_OFFSET | UMR_CHECK_QPN)) !=
			0 ||
		(u->mask & ~(uint64_t)MASK_KNOWN) != 0 ||
		(extra != 0 && (u->flags & UMR_TRANSLATION_OFFSET)) || !layout_is_there(u, room))
		return requester_refuse(u->run, VEN_UMR_FIELDS, SYN_QP_OP);
	return SYN_OK;
}

/*
 * Fetches a layout that is not inline. The layout starts at the address in the WQE's data segment.
 * The WQE gives its length in units.
 */
static unsigned int
umr_fetch(struct umr *u)
{
	const uint64_t len = (uint64_t)u->units * WQE_SEG;
	const uint8_t *seg = umr_unit(u, 0);
	struct key_use *use = &u->run->use;
	struct sg from, to;
	uint8_t *copy;

	if (u->units == 0 || (u->flags & UMR_INLINE) != 0)
		return SYN_OK;
	if (wqe_data_len(seg) < len)
		return requester_refuse(u->run, VEN_LENGTH, SYN_LOC_LEN);
	sg_clear(&from);
	if (!key_gather(use, &u->run->seen[SEEN_READ], u->run->lanes, get_be32(seg + DATA_LKEY),
		    u->run->qp->pdn, 0, get_be64(seg + DATA_VA), len, &from))
		return SYN_LOC_PROT;
	copy = key_use_alloc(use, len);
	if (copy == NULL)
		return requester_refuse(u->run, VEN_UMR_ROOM, SYN_QP_OP);
	sg_set(&to, copy, len);
	u->fetched = copy;
	return key_use_move(use, &to, &from) == SG_MOVED ? SYN_OK : SYN_LOC_PROT;
}

/* ---- rules */

static bool
is_window(const struct key *key)
{
	return key->kind == SOFTHCA_MKEY_WINDOW_1 || key->kind == SOFTHCA_MKEY_WINDOW_2;
}

static bool
is_free(const struct key *key)
{
	return atomic_load_explicit(&((struct key *)key)->freed, memory_order_relaxed);
}

/*
 * Checks that the region allows the window and covers it. The region is checked as it is now; later
 * changes of the region are not checked.
 */
static unsigned int
check_region(struct umr *u, const struct key *window)
{
	const struct key_entry *e = &window->entry[0];
	const uint32_t writes = ACC_REMOTE_WRITE | ACC_REMOTE_ATOMIC;
	const struct key *mr = key_find(u->run->lanes, e->number, window->pdn, &u->run->use.vendor);
	uint64_t off;

	if (mr == NULL)
		return SYN_MW_BIND;
	/* Only the key of a region can have ACC_MW_BIND, so `mr` is a region. */
	if ((mr->access & ACC_MW_BIND) == 0 ||
		((window->access & writes) != 0 && (mr->access & ACC_LOCAL_WRITE) == 0))
		return requester_refuse(u->run, VEN_KEY_ACCESS, SYN_MW_BIND);
	off = e->va - mr->iova;
	if (off > mr->len || e->len > mr->len - off)
		return requester_refuse(u->run, VEN_KEY_BOUNDS, SYN_MW_BIND);
	return SYN_OK;
}

/*
 * Checks a bind request. For a window of type 1, the request must have the window's current key;
 * after the bind, every QP may use the window. A window of type 2 must be unbound; after the bind,
 * only this QP may use the window.
 */
static unsigned int
check_bind(struct umr *u, const struct key *now, const struct key *window)
{
	if (window->n_entries != 1 || window->layout != KEY_LIST ||
		window->entry[0].len != window->len)
		return requester_refuse(u->run, VEN_UMR_FIELDS, SYN_MW_BIND);
	if (now->kind == SOFTHCA_MKEY_WINDOW_1 && now->variant != (wqe_imm(u->wqe) & 0xff))
		return requester_refuse(u->run, VEN_KEY_VARIANT, SYN_MW_BIND);
	if (now->kind == SOFTHCA_MKEY_WINDOW_1 && window->qpn != KEY_ANY_QP)
		return requester_refuse(u->run, VEN_UMR_KIND, SYN_MW_BIND);
	if (now->kind == SOFTHCA_MKEY_WINDOW_2 && window->qpn != u->run->qp->number)
		return requester_refuse(u->run, VEN_UMR_KIND, SYN_MW_BIND);
	if ((now->kind == SOFTHCA_MKEY_WINDOW_2 || (u->flags & UMR_CHECK_FREE)) && !is_free(now))
		return requester_refuse(u->run, VEN_UMR_BOUND, SYN_MW_BIND);
	return check_region(u, window);
}

/*
 * Checks a request that invalidates. The request must have the current key. If the key or window is
 * bound to one QP, the request must come from this QP. libmlx5 unbinds a window of type 1 by a
 * request without UMR_CHECK_QPN. A request with this flag is refused for a window of type 1.
 */
static unsigned int
check_free(struct umr *u, const struct key *now)
{
	if (u->units != 0)
		return requester_refuse(u->run, VEN_UMR_FIELDS, SYN_QP_OP);
	if (now->kind == SOFTHCA_MKEY_WINDOW_1 && (u->flags & UMR_CHECK_QPN))
		return requester_refuse(u->run, VEN_UMR_KIND, SYN_MW_BIND);
	if (is_free(now) && now->kind != SOFTHCA_MKEY_WINDOW_1)
		return requester_refuse(u->run, VEN_KEY_FREE, SYN_MW_BIND);
	if (now->variant != (wqe_imm(u->wqe) & 0xff))
		return requester_refuse(u->run, VEN_KEY_VARIANT, SYN_MW_BIND);
	if (now->qpn != KEY_ANY_QP && now->qpn != u->run->qp->number)
		return requester_refuse(u->run, VEN_UMR_BOUND, SYN_MW_BIND);
	return SYN_OK;
}

static bool
bsf_is_enabled(const struct umr *u)
{
	return (u->mask & UMR_MASK_BSF) != 0 && (u->mkc_flags & MKC_BSF_ENABLED) != 0;
}

/* True if the request has a BSF for encryption, alone or after a BSF for a signature. */
static bool
has_crypto(const struct umr *u)
{
	if (u->bsf_units == 0)
		return false;
	return u->bsf_units > BSF_UNITS ||
	       (umr_unit(u, u->units)[BSF_KIND] & 0xf) == BSF_KIND_CRYPTO;
}

/*
 * Takes the BSFs after the layout. If the request's mask includes the enable bit, the request
 * decides whether BSFs are enabled; otherwise the key's current value decides. Returns false if the
 * request has BSFs that are not enabled, if it enables BSFs and has none, or if the adapter does
 * not support its BSFs.
 */
static bool
take_bsfs(struct umr *u, const struct key *now)
{
	bool enabled = (u->mask & UMR_MASK_BSF) != 0 ? bsf_is_enabled(u) : now->bsf_on;
	bool crypto = has_crypto(u);
	uint8_t bsf[2][BSF_UNITS * WQE_SEG];

	if (u->bsf_units == 0)
		return !bsf_is_enabled(u);
	u->has_sig = !crypto || u->bsf_units > BSF_UNITS;
	if (u->bsf_units != (crypto && u->has_sig ? 2u : 1u) * BSF_UNITS || !enabled)
		return false;
	for (uint32_t i = 0; i < u->bsf_units; i++)
		memcpy((uint8_t *)bsf + i * WQE_SEG, umr_unit(u, u->units + i), WQE_SEG);
	if (u->has_sig && !sig_decode(bsf[0], crypto, &u->sig))
		return false;
	return !crypto ||
	       crypto_decode(bsf[u->has_sig], u->has_sig ? &u->sig : NULL,
		       now->mkey->dev->cfg->crypto == SOFTHCA_CRYPTO_PLAINTEXT_SINGLE, &u->crypto);
}

/* If a check fails, the request completes with an error. Assumed: umr-refused. */
static unsigned int
check_key(struct umr *u, const struct key *now)
{
	if (now->kind == SOFTHCA_MKEY_MR || now->mkey->fixed)
		return requester_refuse(u->run, VEN_UMR_KIND, SYN_MW_BIND);
	if (now->pdn != u->run->qp->pdn)
		return requester_refuse(u->run, VEN_KEY_PD, SYN_MW_BIND);
	if (u->free)
		return check_free(u, now);
	if (now->kind == SOFTHCA_MKEY_INDIRECT && (u->mask & UMR_MASK_QPN) && u->qpn != KEY_ANY_QP)
		return requester_refuse(u->run, VEN_UMR_FIELDS, SYN_QP_OP);
	if ((u->mask & (UMR_MASK_BSF | UMR_MASK_SIG_ERR)) != 0 && !now->mkey->bsf)
		return requester_refuse(u->run, VEN_UMR_KIND, SYN_MW_BIND);
	if (!now->mkey->crypto && has_crypto(u))
		return requester_refuse(u->run, VEN_UMR_KIND, SYN_MW_BIND);
	if (!take_bsfs(u, now))
		return requester_refuse(u->run, VEN_UMR_FIELDS, SYN_QP_OP);
	if (u->units > now->mkey->max_entries)
		return requester_refuse(u->run, VEN_UMR_ROOM, SYN_MW_BIND);
	return SYN_OK;
}

/* ---- the new key */

static void
take_list(struct umr *u, struct key *key)
{
	uint64_t start = 0;

	key->layout = KEY_LIST;
	key->repeat = 1;
	for (uint32_t i = 0; i < u->units; i++) {
		const uint8_t *klm = umr_unit(u, i);
		struct key_entry *e = &key->entry[key->n_entries];

		e->len = get_be32(klm + KLM_LEN);
		if (e->len == 0) /* padding, or an entry of length 0 */
			continue;
		e->start = start;
		e->va = get_be64(klm + KLM_VA);
		e->number = get_be32(klm + KLM_KEY);
		e->stride = 0;
		start += e->len;
		key->n_entries++;
	}
	key->block_len = start;
}

static bool
take_repeat(struct umr *u, struct key *key)
{
	const uint8_t *block = umr_unit(u, 0);
	uint32_t n = get_be16(block + REPEAT_ENTRIES);
	uint64_t start = 0;

	if (n + 1 > u->units)
		return false;
	key->layout = KEY_REPEAT;
	key->repeat = get_be32(block + REPEAT_COUNT);
	for (uint32_t i = 1; i <= n; i++) {
		const uint8_t *unit = umr_unit(u, i);
		struct key_entry *e = &key->entry[key->n_entries++];

		e->start = start;
		e->len = get_be16(unit + REPEAT_ENTRY_LEN);
		e->stride = get_be16(unit + REPEAT_ENTRY_STRIDE);
		e->va = get_be64(unit + KLM_VA);
		e->number = get_be32(unit + KLM_KEY);
		start += e->len;
	}
	key->block_len = start;
	return start == get_be32(block + REPEAT_BLOCK_LEN);
}

static bool
take_layout(struct umr *u, const struct key *now, struct key *key)
{
	if (u->units == 0) {
		/* The request has no layout, so the new key keeps the old layout. */
		memcpy(key->entry, now->entry, now->n_entries * sizeof(now->entry[0]));
		key->n_entries = now->n_entries;
		return true;
	}
	if (get_be32(umr_unit(u, 0) + REPEAT_OP) == REPEAT_OP_STRIDED)
		return take_repeat(u, key);
	take_list(u, key);
	return true;
}

static uint32_t
take_access(const struct umr *u, uint32_t old)
{
	static const struct {
		uint32_t mask;
		uint8_t wire;
		enum access verbs;
	} bits[] = {
		{UMR_MASK_LW, MKC_LW, ACC_LOCAL_WRITE},
		{UMR_MASK_RR, MKC_RR, ACC_REMOTE_READ},
		{UMR_MASK_RW, MKC_RW, ACC_REMOTE_WRITE},
		{UMR_MASK_ATOMIC, MKC_ATOMIC, ACC_REMOTE_ATOMIC},
	};

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		if ((u->mask & bits[i].mask) == 0)
			continue;
		old &= ~(uint32_t)bits[i].verbs;
		if (u->mkc[MKC_ACCESS] & bits[i].wire)
			old |= bits[i].verbs;
	}
	return old;
}

static void
take_values(struct umr *u, struct key *key)
{
	key->access = take_access(u, key->access);
	if (u->mask & UMR_MASK_START)
		key->iova = get_be64(u->mkc + MKC_START);
	if (u->mask & UMR_MASK_LEN)
		key->len = get_be64(u->mkc + MKC_LEN);
	if (u->mask & UMR_MASK_VARIANT)
		key->variant = u->variant;
	if (u->mask & UMR_MASK_QPN)
		key->qpn = u->qpn;
	if (u->mask & UMR_MASK_BSF)
		key->bsf_on = bsf_is_enabled(u);
	/*
	 * A request that has BSFs, or that changes the key's enable bit for BSFs, replaces the
	 * signature and the encryption.
	 */
	if ((u->mask & UMR_MASK_BSF) != 0 || u->bsf_units != 0) {
		key->sig_on = u->has_sig;
		key->sig = u->sig;
		key->crypto = u->crypto;
	}
	if (u->mask & UMR_MASK_SIG_ERR)
		key->sig_expected = (u->mkc_flags & MKC_SIG_ERR) != 0;
	if (u->mask & UMR_MASK_FREE)
		atomic_store_explicit(&key->freed, u->free, memory_order_relaxed);
}

static unsigned int
umr_build(struct umr *u, const struct key *now, struct key **out)
{
	uint32_t room = u->units > now->n_entries ? u->units : now->n_entries;
	struct key *key;
	unsigned int syn = SYN_OK;

	*out = NULL;
	key = key_copy(now, room);
	if (key == NULL || !retire_reserve())
		syn = requester_refuse(u->run, VEN_UMR_ROOM, SYN_QP_OP);
	else if (!take_layout(u, now, key))
		syn = requester_refuse(u->run, VEN_UMR_FIELDS, SYN_QP_OP);
	if (syn == SYN_OK) {
		take_values(u, key);
		if (is_window(now) && !u->free)
			syn = check_bind(u, now, key);
	}
	if (syn != SYN_OK)
		free(key);
	else
		*out = key;
	return syn;
}

/*
 * Replaces the published key. Returns false if the key was destroyed. The caller holds mkey->lock.
 */
static bool
umr_publish(struct softhca_mkey *mkey, struct key *key)
{
	struct key *now = mkey->key;

	if (!table_replace(&mkey->dev->lanes->keys, mkey->index, now, key)) {
		free(key);
		return false;
	}
	mkey->key = key;
	retire_key(now);
	return true;
}

/*
 * As umr_publish(), for an adapter that reorders. Another queue may have published a key after this
 * key was built. The UMR that takes effect last decides.
 */
static void
umr_publish_later(void *object, uint64_t unused)
{
	struct key *key = object;
	struct softhca_mkey *mkey = key->mkey;

	(void)unused;
	spin_lock(&mkey->lock);
	umr_publish(mkey, key);
	spin_unlock(&mkey->lock);
}

/* Checks and executes the request. The caller holds mkey->lock. */
static unsigned int
umr_apply(struct umr *u, struct softhca_mkey *mkey)
{
	struct key *now = mkey->key, *key;
	unsigned int syn = check_key(u, now);

	if (syn == SYN_OK)
		syn = umr_build(u, now, &key);
	if (syn != SYN_OK)
		return syn;
	if (order_delay(u->run, umr_publish_later, key, 0) || umr_publish(mkey, key))
		return SYN_OK;
	/* The key was destroyed meanwhile. */
	return requester_refuse(u->run, VEN_KEY_INDEX, SYN_MW_BIND);
}

unsigned int
exec_umr(struct run *run, const struct wqe *wqe)
{
	struct umr u = {.run = run, .wqe = wqe};
	unsigned int syn = umr_decode(&u);
	struct key *key;

	if (syn == SYN_OK)
		syn = umr_fetch(&u);
	if (syn != SYN_OK)
		return syn;
	key = key_get(run->lanes, wqe_imm(wqe) >> 8);
	if (key == NULL)
		return requester_refuse(run, VEN_KEY_INDEX, SYN_MW_BIND);
	spin_lock(&key->mkey->lock);
	syn = umr_apply(&u, key->mkey);
	spin_unlock(&key->mkey->lock);
	return syn;
}
