/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys with a signature, and keys that encrypt: data that pass through such a key are converted
 * between the memory domain and the wire domain of the key.
 *
 * Addresses and lengths count bytes on the wire, in local requests and in requests of a peer. This
 * is an assumption about cards (doc/softhca-assumptions.md). A domain's PSV has the reference tag
 * of the domain's next block, at any offset in the key.
 */
#include "keysig.h"

#include "keycrypto.h"
#include "keytxn.h"
#include "keywalk.h"
#include "move.h"
#include "psv.h"
#include "sigafter.h"

/* ---- incoming data are converted when they have arrived */

/* Finds the PSV of a domain. Returns false if the domain has a signature and no PSV. */
static bool
find_psv(struct softhca_lanes *lanes, const struct sig_domain *d, uint32_t pdn,
	struct softhca_psv **psv)
{
	*psv = d->type != SIG_NONE ? psv_find(lanes, d->psv, pdn) : NULL;
	return d->type == SIG_NONE || *psv != NULL;
}

static bool
find_psvs(struct softhca_lanes *lanes, struct sig_after *a)
{
	const uint32_t pdn = a->key->pdn;

	return find_psv(lanes, &a->sig.mem, pdn, &a->mem_psv) &&
	       find_psv(lanes, &a->sig.wire, pdn, &a->wire_psv);
}

/* Returns the reference tag of the next block. */
static uint32_t
next_ref(const struct key_use *use, const struct softhca_psv *psv)
{
	return psv != NULL ? (uint32_t)psv_transient(use, psv) : 0;
}

/*
 * Called when `data` bytes have passed a domain. Sets the domain's next reference tag to that of
 * the block after these bytes. Assumed: sig-tag-runs.
 */
static void
pass(struct key_use *use, struct psv_passed *passed, const struct sig_domain *d,
	struct softhca_psv *psv, uint64_t data)
{
	uint64_t transient;

	if (d->type != SIG_T10DIF || !d->ref_increments || data == 0)
		return;
	transient = psv_transient(use, psv);
	psv_pass(use, passed, psv,
		(transient & ~(uint64_t)UINT32_MAX) | (uint32_t)(transient + data / d->block));
}

static void
pass_both(struct key_use *use, struct sig_after *a, uint64_t data)
{
	pass(use, &a->mem_passed, &a->sig.mem, a->mem_psv, data);
	pass(use, &a->wire_passed, &a->sig.wire, a->wire_psv, data);
}

/*
 * Returns the memory domain's data, if these data are one piece of the program's memory. Returns
 * NULL if the data need a buffer. A cipher on this side always needs a buffer, because a program
 * must not see data that are not encrypted yet.
 */
static uint8_t *
bytes_in_place(const struct sig_after *a)
{
	return a->key->crypto.side != CRYPTO_MEMORY ? sg_one_piece(&a->memory) : NULL;
}

static bool
is_in_place(const struct sig_after *a)
{
	return a->bytes != NULL && a->bytes == sg_one_piece(&a->memory);
}

static enum sg_end
after_copy(struct key_use *use, struct sig_after *a, uint64_t wire)
{
	struct sig_error error = {0};
	struct sg from;
	uint64_t data, memory;
	enum sg_end end;

	if (!a->key->sig_on)
		return crypto_after(use, a, wire);
	if (!crypto_pass(use, a, CRYPTO_WIRE, false, a->wire, wire))
		return SG_NO_DST;
	/* If only a part of a block has arrived, nothing of this block is written to memory. */
	sig_shrink(&a->sig.wire, wire, &data);
	if (data == 0)
		return SG_MOVED;
	if (!sig_stretch(&a->sig.mem, data, &memory)) {
		data -= data % a->sig.mem.block;
		sig_stretch(&a->sig.mem, data, &memory);
	}
	sig_convert(&a->sig,
		&(struct sig_side){&a->sig.wire, a->wire, wire, next_ref(use, a->wire_psv)},
		&(struct sig_side){&a->sig.mem, a->bytes, memory, next_ref(use, a->mem_psv)}, data,
		&error);
	pass_both(use, a, data);
	if (!crypto_pass(use, a, CRYPTO_MEMORY, false, a->bytes, memory))
		return SG_NO_DST;
	sg_set(&from, a->bytes, memory);
	end = is_in_place(a) ? SG_MOVED : sg_move(use, &a->memory, &from);
	if (error.found)
		sig_tell(use, a, false, &error);
	return end;
}

enum sg_end
sig_after_move(struct key_use *use, uint64_t len)
{
	enum sg_end end = SG_MOVED;

	while (use->after != NULL && end == SG_MOVED) {
		struct sig_after *a = use->after;

		use->after = a->next;
		if (a->sig.txn_len != 0)
			end = txn_after(use, a, sig_arrived(a, len));
		else
			end = after_copy(use, a, sig_arrived(a, len));
	}
	/*
	 * PSVs get their new values before the receive completes: a program that sees the
	 * completion may configure the keys and PSVs again.
	 */
	if (end == SG_MOVED)
		psv_store(use);
	return end;
}

/* ---- outgoing data are converted at once */

static bool
sig_out(struct key_use *use, struct sig_after *a, struct sg *sg)
{
	struct sig_error error = {0};
	struct sg to;

	if (!sig_alloc(use, a))
		return false;
	sg_set(&to, a->bytes, a->memory_len);
	if ((!is_in_place(a) && sg_move(use, &to, &a->memory) != SG_MOVED) ||
		!crypto_pass(use, a, CRYPTO_MEMORY, true, a->bytes, a->memory_len))
		return false;
	sig_convert(&a->sig,
		&(struct sig_side){&a->sig.mem, a->bytes, a->memory_len, next_ref(use, a->mem_psv)},
		&(struct sig_side){&a->sig.wire, a->wire, a->wire_len, next_ref(use, a->wire_psv)},
		a->data, &error);
	pass_both(use, a, a->data);
	if (error.found)
		sig_tell(use, a, true, &error);
	return crypto_pass(use, a, CRYPTO_WIRE, true, a->wire, a->wire_len) &&
	       sg_push(use, sg, a->wire, a->wire_len);
}

/*
 * Computes the request's length in data, and its offset and length in memory. A request begins and
 * ends with whole blocks of both domains; the last signature on the wire may be left out.
 * Confirmed: sig-wire-length, sig-wire-last.
 */
static bool
sig_measure(struct sig_after *a, uint64_t off, uint64_t len, uint64_t *memory_off)
{
	uint64_t first, whole;

	a->wire_len = len;
	/* The length is at most 2 GiB, as in a segment. The offset may have any value. */
	return off <= UINT64_MAX / 2 && sig_shrink(&a->sig.wire, off, &first) &&
	       sig_stretch(&a->sig.wire, first, &whole) && whole == off &&
	       sig_shrink(&a->sig.wire, len, &a->data) &&
	       sig_stretch(&a->sig.mem, first, memory_off) &&
	       sig_stretch(&a->sig.mem, a->data, &a->memory_len);
}

/*
 * A key that is made for encryption and has only a signature moves no data. Assumed:
 * xts-signature-only.
 */
bool
sig_walk(struct key_use *use, struct softhca_lanes *lanes, const struct key *key, uint32_t need,
	uint64_t off, uint64_t len, struct sg *sg)
{
	const uint32_t writes = ACC_LOCAL_WRITE | ACC_REMOTE_WRITE;
	struct sig_after *a = key_use_alloc(use, sizeof(*a));
	uint64_t memory_off;

	use->converts = true;
	use->vendor = VEN_KEY_ACCESS;
	if (a == NULL || (need & ACC_REMOTE_ATOMIC) != 0)
		return false;
	use->vendor = VEN_CRYPTO;
	if (key->mkey->crypto && key->crypto.side == CRYPTO_NONE)
		return false;
	a->key = key;
	if (key->sig_on)
		a->sig = key->sig;
	else
		memset(&a->sig, 0, sizeof(a->sig));
	a->peer = (need & ACC_REMOTE) != 0 || use->receiving;
	a->bytes = NULL;
	if (a->sig.txn_len != 0)
		return txn_walk(use, lanes, a, need, off, len, sg);
	use->vendor = VEN_SIG_PSV;
	if (!find_psvs(lanes, a))
		return false;
	use->vendor = VEN_SIG_BLOCK;
	if (!sig_measure(a, off, len, &memory_off))
		return false;
	if (key->mkey->crypto && !crypto_begin(use, lanes, a, memory_off, off))
		return false;
	sg_clear(&a->memory);
	if (!layout_gather(use, lanes, key, need & writes ? ACC_LOCAL_WRITE : 0, memory_off,
		    a->memory_len, &a->memory))
		return false;
	if (!key->sig_on)
		return crypto_defer(use, a, (need & writes) == 0, sg);
	a->bytes = bytes_in_place(a);
	return need & writes ? sig_defer(use, a, sg) : sig_out(use, a, sg);
}
