/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that encrypt: decodes the BSF of a key, and ciphers the data that pass through the key
 * (mlx5dv_wr_set_mkey_crypto(3)).
 *
 * The tweak of a data unit is the key's initial tweak plus the number of the unit, counted from the
 * key's address 0. A message begins with a data unit, and may end inside a data unit (NOTES of the
 * manual page). doc/softhca-assumptions.md lists the assumptions.
 */
#include "keycrypto.h"

#include <string.h>

#include "dek.h"
#include "move.h"
#include "wire.h"

/* ---- BSF */

enum crypto_bsf {
	BSF_SIZE_KIND = 0, /* bits 7:6 size, bits 3:0 kind */
	BSF_ORDER = 1,
	BSF_STANDARD = 3,
	BSF_RAW_LEN = 4,
	BSF_UNIT = 8, /* selector of the size of data units */
	BSF_TWEAK = 16,
	BSF_DEK = 32, /* DEK number, 24 of 32 bits */
	BSF_KEYTAG = 40,
	SIZE_LONG = 2, /* 64 bytes */
	SIZE_BOTH = 3, /* 128 bytes, together with the BSF for the signature */
	ORDER_WIRE_SIGNATURE = 0,
	ORDER_MEMORY_SIGNATURE = 1,
	ORDER_RAW_WIRE = 2,
	ORDER_RAW_MEMORY = 3,
	STANDARD_AES_XTS = 0
};

/*
 * The sizes for the selectors of mlx5dv_wr_set_mkey_crypto(3). DPDK's crypto_mlx5 writes selector 5
 * for 1 MiB.
 */
static uint32_t
unit_of(uint8_t selector)
{
	static const uint32_t units[] = {0, 512, 520, 4096, 4160, 1 << 20, 4048};

	return selector < sizeof(units) / sizeof(units[0]) ? units[selector] : 0;
}

/*
 * Decodes the order of signature and cipher. The allowed orders are those of the table in
 * mlx5dv_wr_set_mkey_crypto(3), and one more that libmlx5 allows: raw data with a signature on at
 * most one side (get_crypto_order()). Assumed: xts-orders.
 */
static bool
decode_order(uint8_t order, const struct key_sig *sig, struct key_crypto *c)
{
	bool mem = sig != NULL && sig->mem.type != SIG_NONE;
	bool wire = sig != NULL && sig->wire.type != SIG_NONE;

	/* SIGNATURE_BEFORE_CRYPTO_ON_TX: the cipher is between the signatures and the wire. */
	c->side = order == ORDER_WIRE_SIGNATURE || order == ORDER_RAW_MEMORY ? CRYPTO_WIRE
									     : CRYPTO_MEMORY;
	c->encrypt_out = order == ORDER_WIRE_SIGNATURE || order == ORDER_RAW_WIRE;
	return order < ORDER_RAW_WIRE || (order <= ORDER_RAW_MEMORY && !(mem && wire));
}

bool
crypto_decode(const uint8_t bsf[CRYPTO_BSF_LEN], const struct key_sig *sig, bool one_unit,
	struct key_crypto *c)
{
	memset(c, 0, sizeof(*c));
	c->one_unit = one_unit;
	c->unit = unit_of(bsf[BSF_UNIT]);
	c->raw_len = get_be32(bsf + BSF_RAW_LEN);
	c->dek = get_be32(bsf + BSF_DEK) & 0xffffff;
	memcpy(c->keytag, bsf + BSF_KEYTAG, sizeof(c->keytag));
	for (unsigned int i = 0; i < XTS_TWEAK_LEN; i++)
		c->tweak[i] = bsf[BSF_TWEAK + (one_unit ? i : XTS_TWEAK_LEN - 1 - i)];
	return bsf[BSF_SIZE_KIND] >> 6 == (sig != NULL ? SIZE_BOTH : SIZE_LONG) && c->unit != 0 &&
	       bsf[BSF_STANDARD] == STANDARD_AES_XTS && (sig == NULL || sig->txn_len == 0) &&
	       decode_order(bsf[BSF_ORDER], sig, c);
}

/* ---- checks */

/*
 * True for a message that needs a second data unit, on an adapter that encrypts one data unit of a
 * key. For such an adapter libmlx5 posts no key that is longer than a unit. Assumed: xts-one-unit.
 */
static bool
goes_on(const struct key_crypto *c, uint64_t off, uint64_t len)
{
	return c->one_unit && (off >= c->unit || len > c->unit - off);
}

/* True if the length meets the conditions in the manual page's NOTES. */
static bool
fits(uint32_t unit, uint64_t len)
{
	return len % unit == 0 || (len % 16 == 0 && len % unit <= unit - 16);
}

static bool
refuse(struct key_use *use, enum wire_vendor why)
{
	use->vendor = why;
	return false;
}

/*
 * Unit numbers count from the key's address 0, and the DEK is looked up only now, when the key is
 * used. Assumed: xts-tweak-address, xts-dek-late.
 */
bool
crypto_begin(struct key_use *use, struct softhca_lanes *lanes, struct sig_after *a,
	uint64_t memory_off, uint64_t wire_off)
{
	const struct key_crypto *c = &a->key->crypto;
	bool memory = c->side == CRYPTO_MEMORY;
	uint64_t off = memory ? memory_off : wire_off;
	uint64_t len = memory ? a->memory_len : a->wire_len;

	a->dek = dek_find(lanes, c, a->key->pdn);
	if (a->dek == NULL)
		return refuse(use, VEN_DEK);
	if (a->data > c->raw_len || off % c->unit != 0 || !fits(c->unit, len) ||
		goes_on(c, off, len))
		return refuse(use, VEN_CRYPTO_UNIT);
	a->unit = off / c->unit;
	return true;
}

/* ---- the data */

static bool
cipher(struct key_use *use, const struct sig_after *a, bool out, const uint8_t *from, uint8_t *to,
	uint64_t len)
{
	const struct key_crypto *c = &a->key->crypto;
	uint8_t tweak[XTS_TWEAK_LEN];

	if (!fits(c->unit, len)) /* fewer bytes have arrived, and they do not fit data units */
		return refuse(use, VEN_CRYPTO_UNIT);
	memcpy(tweak, c->tweak, sizeof(tweak));
	xts_tweak_add(tweak, a->unit);
	return xts_cipher(a->dek->xts, out == c->encrypt_out, tweak, c->unit, from, to, len) ||
	       refuse(use, VEN_KEY_PIECES);
}

bool
crypto_pass(struct key_use *use, const struct sig_after *a, enum crypto_side side, bool out,
	uint8_t *bytes, uint64_t len)
{
	return a->key->crypto.side != side || cipher(use, a, out, bytes, bytes, len);
}

/* Returns a buffer for the data on the wire's side, or NULL if memory is short. */
static uint8_t *
buffer(struct key_use *use, struct sig_after *a)
{
	if (a->wire == NULL)
		a->wire = key_use_alloc(use, a->wire_len);
	if (a->wire == NULL)
		use->vendor = VEN_KEY_PIECES;
	return a->wire;
}

/* Ciphers outgoing data into `to`, which is equal to the key's memory or does not overlap it. */
static enum sg_end
cipher_out(struct key_use *use, struct sig_after *a, uint8_t *to)
{
	const uint8_t *from = sg_one_piece(&a->memory);
	struct sg gathered;

	if (from == NULL) {
		from = buffer(use, a);
		if (from == NULL)
			return SG_NO_SRC;
		sg_set(&gathered, a->wire, a->wire_len);
		if (sg_move(use, &gathered, &a->memory) != SG_MOVED)
			return SG_NO_SRC;
	}
	return cipher(use, a, true, from, to, a->wire_len) ? SG_MOVED : SG_NO_SRC;
}

/* Ciphers `len` incoming bytes. `from` is equal to the key's memory or does not overlap it. */
static enum sg_end
cipher_in(struct key_use *use, struct sig_after *a, const uint8_t *from, uint64_t len)
{
	uint8_t *memory = sg_one_piece(&a->memory), *to = memory != NULL ? memory : buffer(use, a);
	struct sg came;

	if (to == NULL || !cipher(use, a, false, from, to, len))
		return SG_NO_DST;
	if (memory != NULL || len == 0)
		return SG_MOVED;
	sg_set(&came, to, len);
	return sg_move(use, &a->memory, &came);
}

enum sg_end
crypto_after(struct key_use *use, struct sig_after *a, uint64_t len)
{
	return cipher_in(use, a, a->wire, len);
}

bool
crypto_defer(struct key_use *use, struct sig_after *a, bool out, struct sg *sg)
{
	a->wire = NULL;
	a->at = sg->len;
	sig_append(out ? &use->before : &use->after, a);
	sg->rare |= ACC_CIPHERED;
	return sg_push(use, sg, a, a->wire_len);
}

/* Removes `a` from the list of conversions that wait for their data. */
static void
take_from_after(struct key_use *use, const struct sig_after *a)
{
	struct sig_after **list = &use->after;

	while (*list != a)
		list = &(*list)->next;
	*list = a->next;
}

/*
 * True if the cipher can work directly between p and the key's memory, because they are equal or do
 * not overlap.
 */
static bool
is_apart(const struct sig_after *a, const uint8_t *p)
{
	const uintptr_t memory = (uintptr_t)sg_one_piece(&a->memory), other = (uintptr_t)p;

	return p != SINK && (memory == 0 || memory == other || memory + a->wire_len <= other ||
				    other + a->wire_len <= memory);
}

/*
 * Gives a buffer to each piece of the list that waits for the cipher, and ciphers the outgoing data
 * into it.
 */
static bool
give_buffers(struct key_use *use, const struct sg *list, bool out)
{
	struct sg *sg = (struct sg *)(uintptr_t)list;
	struct sg_piece *v = (struct sg_piece *)(uintptr_t)sg_pieces(sg);

	if ((sg->rare & ACC_CIPHERED) == 0)
		return true;
	for (struct sig_after *a = out ? use->before : use->after; a != NULL; a = a->next)
		for (unsigned int i = 0; i < sg->n; i++) {
			if (v[i].p != a)
				continue;
			v[i].p = buffer(use, a);
			if (v[i].p == NULL || (out && cipher_out(use, a, v[i].p) != SG_MOVED))
				return false;
		}
	sg->rare &= ~(uint32_t)ACC_CIPHERED;
	return true;
}

enum sg_end
crypto_move(struct key_use *use, const struct sg *dst, const struct sg *src)
{
	const bool pieces = dst->n == 1 && src->n == 1;
	struct sig_after *a = src->v[0].p;

	if (((dst->rare | src->rare) & ACC_CIPHERED) == 0)
		return sg_move_rare(use, dst, src);
	if (pieces && src->rare == ACC_CIPHERED && dst->rare == 0 && is_apart(a, dst->v[0].p))
		return cipher_out(use, a, dst->v[0].p);
	if (!give_buffers(use, src, true))
		return SG_NO_SRC;
	a = dst->v[0].p;
	if (pieces && dst->rare == ACC_CIPHERED && src->rare == 0 && is_apart(a, src->v[0].p)) {
		take_from_after(use, a);
		return cipher_in(use, a, src->v[0].p, src->len);
	}
	return give_buffers(use, dst, false) ? sg_move(use, dst, src) : SG_NO_DST;
}

bool
key_use_fetch(struct key_use *use, struct sg *sg)
{
	void *p = key_use_alloc(use, sg->len);
	struct sg copy;

	use->vendor = VEN_KEY_PAGE;
	if (p == NULL)
		return false;
	sg_set(&copy, p, sg->len);
	if (crypto_move(use, &copy, sg) != SG_MOVED)
		return false;
	sg_set(sg, p, copy.len);
	return true;
}
