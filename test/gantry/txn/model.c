/* SPDX-License-Identifier: BSD-3-Clause */
/* What a transaction must do to bytes: see model.h. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

/* ------------------------------------------------------------------ from the public structures */

static struct ref_sig
domain(const struct gantry_sig_domain *d, const struct gantry_sig_domain *other, uint32_t unit,
	const struct gantry_txn_tags *tags)
{
	static const enum ref_kind kinds[] = {
		[GANTRY_SIG_NONE] = REF_NONE,
		[GANTRY_SIG_T10DIF_CRC] = REF_DIF_CRC,
		[GANTRY_SIG_T10DIF_CSUM] = REF_DIF_CSUM,
		[GANTRY_SIG_CRC32] = REF_CRC32,
		[GANTRY_SIG_CRC32C] = REF_CRC32C,
		[GANTRY_SIG_CRC64_XP10] = REF_CRC64,
	};

	return (struct ref_sig){
		.kind = kinds[d->kind],
		/*
		 * A domain without signatures has the blocks of the other domain. If neither has
		 * signatures, the blocks are data units.
		 */
		.block = d->kind != GANTRY_SIG_NONE       ? d->block_size
			 : other->kind != GANTRY_SIG_NONE ? other->block_size
							  : unit,
		.ones = tags->seed_ones,
		.app = tags->app_tag,
		.ref = tags->ref_tag,
		.count = (d->flags & GANTRY_SIG_REF_REMAP) != 0,
		.app_escape = (d->flags & GANTRY_SIG_APP_ESCAPE) != 0,
		.app_ref_escape = (d->flags & GANTRY_SIG_APP_REF_ESCAPE) != 0,
	};
}

static bool
is_dif(enum ref_kind kind)
{
	return kind == REF_DIF_CRC || kind == REF_DIF_CSUM;
}

/* Converts parts of a signature to a mask of its bytes. A CRC has no tags. */
static uint8_t
mask_of(enum ref_kind kind, unsigned int parts)
{
	if (!is_dif(kind))
		return (parts & GANTRY_SIG_GUARD) != 0 ? 0xff : 0;
	return ((parts & GANTRY_SIG_GUARD) != 0 ? 0xc0 : 0) |
	       ((parts & GANTRY_SIG_APP_TAG) != 0 ? 0x30 : 0) |
	       ((parts & GANTRY_SIG_REF_TAG) != 0 ? 0x0f : 0);
}

/* Returns the parts of the signature that are equal in both domains. */
static unsigned int
same_parts(const struct ref_sig *a, const struct ref_sig *b)
{
	return (a->kind == b->kind && a->ones == b->ones ? GANTRY_SIG_GUARD : 0) |
	       (a->app == b->app ? GANTRY_SIG_APP_TAG : 0) |
	       (a->ref == b->ref && a->count == b->count ? GANTRY_SIG_REF_TAG : 0);
}

/* True if bytes of signatures can be copied from one domain to the other. */
static bool
same_structure(const struct ref_sig *a, const struct ref_sig *b)
{
	return a->block == b->block && a->kind != REF_NONE && b->kind != REF_NONE &&
	       (a->kind == b->kind || (is_dif(a->kind) && is_dif(b->kind)));
}

void
model_init(struct model *m, const struct gantry_profile_conf *conf, const struct gantry_txn *txn)
{
	*m = (struct model){
		.mem = domain(&conf->mem, &conf->wire, conf->crypto.unit_size, &txn->mem),
		.wire = domain(&conf->wire, &conf->mem, conf->crypto.unit_size, &txn->wire),
		.reads = txn->op == GANTRY_OP_READ,
	};
	m->check = mask_of(model_in(m)->kind, conf->check);
	if (same_structure(&m->mem, &m->wire))
		m->copy = mask_of(m->mem.kind,
			conf->copy_is_set ? conf->copy : same_parts(&m->mem, &m->wire));
}

/* ------------------------------------------------------------------ bytes */

/* The least common multiple; 0 if there is none. */
static uint32_t
common(uint32_t a, uint32_t b)
{
	uint32_t step;

	if (a == 0 || b == 0)
		return a + b;
	for (step = a; step % b != 0; step += a)
		;
	return step;
}

uint32_t
model_step(const struct gantry_profile_conf *conf)
{
	const struct gantry_crypto *c = &conf->crypto;
	const struct gantry_sig_domain *d =
		c->domain == GANTRY_ENCRYPTED_MEM ? &conf->mem : &conf->wire;
	uint32_t step = common(conf->mem.block_size, conf->wire.block_size), n, len;

	if (c->domain == GANTRY_ENCRYPTED_NONE)
		return step;
	if (d->kind == GANTRY_SIG_NONE || c->sig_over_ciphertext)
		return common(step, c->unit_size);
	/* Signatures are encrypted with their blocks. */
	len = d->kind == GANTRY_SIG_CRC32 || d->kind == GANTRY_SIG_CRC32C ? 4 : 8;
	for (n = 1; n * step / d->block_size * (d->block_size + len) % c->unit_size != 0; n++)
		;
	return n * step;
}

uint64_t
model_len(const struct ref_sig *sig, uint64_t data)
{
	return data / sig->block * ref_unit(sig);
}

void
model_lay(const struct ref_sig *sig, const uint8_t *data, uint64_t len, uint8_t *out)
{
	ref_lay(sig, data, (uint32_t)(len / sig->block), out);
}

static void
copy_data(const struct ref_sig *sig, const uint8_t *units, uint64_t len, uint8_t *out)
{
	for (; len != 0; len -= sig->block) {
		memcpy(out, units, sig->block);
		units += ref_unit(sig);
		out += sig->block;
	}
}

/*
 * Copies the bytes of signatures that are passed on unchanged. Both domains have the same layout.
 */
static void
copy_signatures(const struct model *m, const uint8_t *in, uint64_t data, uint8_t *out)
{
	const struct ref_sig *sig = model_out(m);
	uint32_t unit = ref_unit(sig), b;
	uint64_t at;

	for (at = sig->block; m->copy != 0 && at < model_len(sig, data); at += unit)
		for (b = 0; b < ref_len(sig->kind); b++)
			if ((m->copy >> ref_mask_bit(sig->kind, b) & 1) != 0)
				out[at + b] = in[at + b];
}

struct gantry_sig_error
model_run(const struct model *m, const uint8_t *in, uint64_t data, uint8_t *out)
{
	static const uint8_t parts[] = {[REF_GUARD] = GANTRY_SIG_GUARD,
		[REF_APP] = GANTRY_SIG_APP_TAG,
		[REF_REF] = GANTRY_SIG_REF_TAG};
	const struct ref_sig *from = model_in(m);
	uint8_t *plain = malloc(data);
	struct ref_error e;

	CHECK(plain != NULL);
	copy_data(from, in, data, plain);
	model_lay(model_out(m), plain, data, out);
	copy_signatures(m, in, data, out);
	free(plain);
	e = ref_check(from, m->check, in, (uint32_t)(data / from->block));
	if (e.part == REF_RIGHT)
		return (struct gantry_sig_error){0};
	return (struct gantry_sig_error){
		.part = parts[e.part],
		.on_wire = m->reads,
		.block = e.block,
		.expected = e.right,
		.actual = e.found,
	};
}
