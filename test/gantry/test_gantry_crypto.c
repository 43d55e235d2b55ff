/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transactions that encrypt: DEKs, profiles, refusals, and bytes. OpenSSL, called directly for each
 * data unit, computes the expected bytes (txn/txn_xts.h); signatures come from txn/reference.h.
 *
 * With SOFTHCA_CRYPTO=wrapped, DEKs are wrapped, and the engine needs a login. With
 * SOFTHCA_CRYPTO=plaintext_single, a transaction has one data unit. Without crypto, every call and
 * transaction is refused.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>

#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include <hwq_dek.h>

#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_env.h"
#include "gantry_queue.h"
#include "txn/reference.h"
#include "txn/txn_xts.h"

#define AREA_LEN (UINT64_C(1) << 20)
#define MAX_LEN  (UINT32_C(256) << 10) /* longest data of one transaction in this test */

static struct gantry *g;
static struct gantry_info info;
static uint8_t *here, *there;
static struct gantry_mem *here_mem, *there_mem;

/* ------------------------------------------------------------------ DEKs */

static struct xts
xts_of(uint64_t seed, uint32_t key_len)
{
	struct xts x = {.key_len = key_len};

	env_fill(x.key, key_len, seed);
	/* The lowest bytes of the tweak overflow at the second data unit. */
	memset(x.tweak, 0xff, 9);
	env_fill(x.tweak + 9, 7, seed + 1);
	return x;
}

static int
dek_add(const struct xts *x, const uint8_t *keytag, uint32_t *id)
{
	uint8_t key[XTS_MAX_KEY + 16];
	struct gantry_dek_conf conf = {.key = key,
		.len = xts_import(x, keytag, key),
		.wrapped = xts_is_wrapped(),
		.has_keytag = keytag != NULL};
	int ret;

	if (keytag != NULL)
		memcpy(conf.keytag, keytag, sizeof(conf.keytag));
	ret = gantry_dek_add(g, &conf, id);
	explicit_bzero(key, sizeof(key));
	return ret;
}

static uint32_t
dek_of(const struct xts *x)
{
	uint32_t id = 0;

	CHECK_EQ(dek_add(x, NULL, &id), 0);
	CHECK(id != 0);
	return id;
}

static void
a_dek_is_refused_for_each_field_that_is_wrong(void)
{
	const struct xts x = xts_of(1, 32);
	uint8_t key[XTS_MAX_KEY + 16];
	const struct gantry_dek_conf good = {.key = key,
		.len = xts_import(&x, NULL, key),
		.wrapped = xts_is_wrapped()};
	const uint32_t lengths[] = {0, 16, good.len - 1, good.len + 1, good.len + 8, good.len + 31,
		good.len + 33, UINT32_MAX};
	struct gantry_dek_conf c = good;
	uint32_t id = 77, i;

	c.key = NULL;
	CHECK_EQ(gantry_dek_add(g, &c, &id), -EINVAL);
	c = good;
	c.wrapped = !c.wrapped;
	CHECK_EQ(gantry_dek_add(g, &c, &id), -EINVAL);
	c = good;
	for (i = 0; i < RTE_DIM(lengths); i++) {
		c.len = lengths[i];
		CHECK_EQ(gantry_dek_add(g, &c, &id), -EINVAL);
	}
	/* The device refuses two equal AES keys. */
	memset(key, 0x5a, sizeof(key));
	CHECK(gantry_dek_add(g, &good, &id) < 0);
	CHECK_EQ(gantry_dek_retire(g, 0, 0), -EINVAL);
	CHECK_EQ(gantry_dek_retire(g, 77, 0), -EINVAL);
	CHECK_EQ(id, 77);
}

static void
an_engine_has_so_many_deks(void)
{
	static uint32_t id[GANTRY_MAX_DEKS];
	const struct xts x = xts_of(2, 64);
	const struct gantry_dek_held *h;
	uint32_t i, one = 0, n_held = 0;

	for (i = 0; i < GANTRY_MAX_DEKS; i++)
		id[i] = dek_of(&x);
	CHECK_EQ(dek_add(&x, NULL, &one), -ENOSPC);
	CHECK_EQ(one, 0);
	/* A DEK that the engine refused is not left in the device. */
	TAILQ_FOREACH(h, &g->deks.held, next)
		n_held++;
	CHECK_EQ(n_held, GANTRY_MAX_DEKS);
	CHECK_EQ(gantry_dek_retire(g, id[500], 0), 0);
	CHECK_EQ(gantry_dek_retire(g, id[500], 0), -EINVAL);
	one = dek_of(&x);
	/* The DEK uses the slot of an earlier DEK, but has another id. */
	CHECK(one != id[500]);
	id[500] = one;
	for (i = 0; i < GANTRY_MAX_DEKS; i++)
		CHECK_EQ(gantry_dek_retire(g, id[i], 0), 0);
}

/* ------------------------------------------------------------------ profiles */

static const struct gantry_sig_domain none;
static const struct gantry_sig_domain dif = {GANTRY_SIG_T10DIF_CRC, 512, GANTRY_SIG_REF_REMAP};
static const struct gantry_sig_domain crc = {GANTRY_SIG_CRC32C, 4096, 0};

static int
profile(struct gantry_sig_domain mem, struct gantry_sig_domain wire, struct gantry_crypto crypto,
	uint16_t *id)
{
	const struct gantry_profile_conf conf = {.mem = mem,
		.wire = wire,
		.crypto = crypto,
		.check = GANTRY_SIG_ALL};

	return gantry_profile_create(g, &conf, id);
}

static void
a_profile_is_refused_for_each_field_that_is_wrong(void)
{
	uint16_t id = 77;

#define REFUSED(mem, wire, ...)                                                                    \
	CHECK_EQ(profile(mem, wire, (struct gantry_crypto){__VA_ARGS__}, &id), -EINVAL)
	REFUSED(none, none, GANTRY_ENCRYPTED_NONE, 0, false);
	REFUSED(dif, none, GANTRY_ENCRYPTED_NONE, 512, false);
	REFUSED(dif, none, GANTRY_ENCRYPTED_NONE, 0, true);
	REFUSED(none, none, GANTRY_ENCRYPTED_MAX, 512, false);
	REFUSED(none, none, GANTRY_ENCRYPTED_MEM, 0, false);
	REFUSED(none, none, GANTRY_ENCRYPTED_MEM, 1024, false);
	REFUSED(none, none, GANTRY_ENCRYPTED_MEM, 512, true);
	REFUSED(dif, none, GANTRY_ENCRYPTED_WIRE, 512, true);
	REFUSED(dif, dif, GANTRY_ENCRYPTED_WIRE, 512, true);
	REFUSED(dif, crc, GANTRY_ENCRYPTED_MEM, 512, true);
#undef REFUSED
	CHECK_EQ(id, 77);
}

static void
a_device_without_encryption_refuses_both(void)
{
	const uint8_t key[32] = {1};
	const struct gantry_dek_conf conf = {.key = key, .len = sizeof(key)};
	const struct gantry_crypto crypto = {GANTRY_ENCRYPTED_WIRE, 512, false};
	uint32_t id;
	uint16_t p;

	CHECK_EQ(info.crypto, 0);
	CHECK_EQ(gantry_dek_add(g, &conf, &id), -EOPNOTSUPP);
	CHECK_EQ(profile(none, none, crypto, &p), -EOPNOTSUPP);
}

/* ------------------------------------------------------------------ expected bytes */

/* One kind of transaction, as the cases pass it to helpers. */
struct kind {
	struct gantry_profile_conf conf;
	struct xts xts;
	uint32_t len;    /* length of the data in bytes */
	uint32_t n_data; /* number of buffers of the data */
	bool pi;         /* signatures in memory are in a buffer of their own */
	struct gantry_txn_tags mem, wire;
};

static struct ref_sig
ref_of(const struct gantry_sig_domain *d, const struct gantry_txn_tags *tags)
{
	static const enum ref_kind kinds[] = {
		[GANTRY_SIG_NONE] = REF_NONE,
		[GANTRY_SIG_T10DIF_CRC] = REF_DIF_CRC,
		[GANTRY_SIG_T10DIF_CSUM] = REF_DIF_CSUM,
		[GANTRY_SIG_CRC32] = REF_CRC32,
		[GANTRY_SIG_CRC32C] = REF_CRC32C,
		[GANTRY_SIG_CRC64_XP10] = REF_CRC64,
	};

	return (struct ref_sig){.kind = kinds[d->kind],
		.block = d->block_size,
		.ones = tags->seed_ones,
		.app = tags->app_tag,
		.ref = tags->ref_tag,
		.count = (d->flags & GANTRY_SIG_REF_REMAP) != 0};
}

/* Stores the bytes that a domain must have. Returns the number of bytes. */
static uint32_t
lay(const struct kind *k, enum gantry_encrypted domain, const uint8_t *data, uint8_t *out)
{
	const bool mem = domain == GANTRY_ENCRYPTED_MEM;
	const struct ref_sig sig =
		mem ? ref_of(&k->conf.mem, &k->mem) : ref_of(&k->conf.wire, &k->wire);
	const struct gantry_crypto *c = &k->conf.crypto;
	const bool encrypted = c->domain == domain;
	static uint8_t first[MAX_LEN];
	uint32_t len = k->len;

	if (encrypted && (sig.kind == REF_NONE || c->sig_over_ciphertext))
		xts_pass(&k->xts, true, c->unit_size, data, first, len);
	else
		memcpy(first, data, len);
	if (sig.kind == REF_NONE) {
		memcpy(out, first, len);
		return len;
	}
	len = len / sig.block * ref_unit(&sig);
	ref_lay(&sig, first, k->len / sig.block, out);
	if (encrypted && !c->sig_over_ciphertext)
		xts_pass(&k->xts, true, c->unit_size, out, out, len);
	return len;
}

/* ------------------------------------------------------------------ memory */

/* The memory of a domain, in several pieces. */
struct place {
	uint32_t n;
	bool apart; /* each piece has a gap before and after it */
	struct gantry_sge piece[64 * 16];
};

static void
place_put(const struct place *p, const uint8_t *bytes)
{
	uint32_t i;

	for (i = 0; i < p->n; bytes += p->piece[i].len, i++)
		memcpy((void *)p->piece[i].addr, bytes, p->piece[i].len);
}

static void
place_expect(const struct place *p, const uint8_t *bytes)
{
	uint32_t i;

	for (i = 0; i < p->n; bytes += p->piece[i].len, i++) {
		const uint8_t *at = (const void *)p->piece[i].addr;

		CHECK(memcmp(at, bytes, p->piece[i].len) == 0, "piece %u of %u", i, p->n);
		if (p->apart) {
			CHECK_EQ(at[-1], ENV_UNTOUCHED);
			CHECK_EQ(at[p->piece[i].len], ENV_UNTOUCHED);
		}
	}
}

/* Divides `len` bytes of `here` into buffers of any length and alignment. */
static void
place_list(struct place *p, uint32_t n, uint32_t len)
{
	uint64_t at = (uintptr_t)here + 1;
	uint32_t i;

	p->n = n;
	p->apart = true;
	for (i = 0; i < n; i++) {
		uint32_t piece = i + 1 < n ? len / n / 2 + 17 * i + 1 : len;

		p->piece[i] = (struct gantry_sge){at, piece};
		at += piece + 2 + 13 * i;
		len -= piece;
	}
}

/* Puts the data into one buffer and the signatures into another buffer. */
static void
place_apart(struct place *p, const struct ref_sig *sig, uint32_t blocks, struct gantry_sge *data,
	struct gantry_sge *pi)
{
	uint32_t i, len = ref_len(sig->kind);

	*data = (struct gantry_sge){(uintptr_t)here + 5, (uint64_t)blocks * sig->block};
	*pi = (struct gantry_sge){(uintptr_t)here + AREA_LEN / 2 + 3, (uint64_t)blocks * len};
	CHECK(2 * blocks <= RTE_DIM(p->piece));
	p->n = 2 * blocks;
	p->apart = false;
	for (i = 0; i < blocks; i++) {
		p->piece[2 * i] = (struct gantry_sge){data->addr + i * sig->block, sig->block};
		p->piece[2 * i + 1] = (struct gantry_sge){pi->addr + i * len, len};
	}
}

/* ------------------------------------------------------------------ passing */

/* A queue and, for transfers to a peer, a peer. */
struct way {
	struct gantry_queue *q, *other;
	uint16_t peer, back;
};

#define REPLY_LEN 16

static void
way_open(struct way *w, enum gantry_txn_mode mode)
{
	const struct gantry_queue_conf conf = {.depth = 64, .transactions = 4};
	struct gantry_peer_conf peer = {.txn = mode, .depth = 128};
	struct gantry_addr a, b;

	*w = (struct way){.peer = GANTRY_PEER_OWN};
	CHECK_EQ(gantry_queue_create(g, &conf, &w->q), 0);
	if (mode == GANTRY_TXN_NONE)
		return;
	w->other = env_queue(g, 64);
	CHECK_EQ(gantry_peer_open(w->q, &peer, &w->peer, &a), 0);
	peer = (struct gantry_peer_conf){.recv_depth = 16};
	CHECK_EQ(gantry_peer_open(w->other, &peer, &w->back, &b), 0);
	CHECK_EQ(gantry_peer_connect(w->q, w->peer, &b), 0);
	CHECK_EQ(gantry_peer_connect(w->other, w->back, &a), 0);
}

static void
way_close(struct way *w)
{
	struct gantry_recv_comp comp;

	if (w->other != NULL) {
		CHECK_EQ(gantry_peer_close(w->q, w->peer), 0);
		CHECK_EQ(gantry_peer_close(w->other, w->back), 0);
		while (gantry_recv_poll(w->other, &comp, 1) != 0)
			;
		env_queue_done(w->other);
	}
	env_queue_done(w->q);
}

/* Checks that the transaction's response is the expected one and has arrived. */
static void
way_expect(struct way *w, const char *text)
{
	struct gantry_recv_comp comp;

	while (gantry_recv_poll(w->other, &comp, 1) == 0)
		env_pump();
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK(strcmp((const char *)there + AREA_LEN - REPLY_LEN, text) == 0);
}

static void
way_receive(struct way *w)
{
	const struct gantry_recv r = {.addr = (uintptr_t)there + AREA_LEN - REPLY_LEN,
		.len = REPLY_LEN};

	CHECK_EQ(gantry_recv_post(w->other, w->back, &r, 1), 1);
}

/* One transaction of a given kind, with its memory. */
struct run {
	const struct kind *k;
	struct place mem;
	struct gantry_sge data[GANTRY_TXN_MAX_DATA];
	struct gantry_txn_part part;
	struct gantry_txn t;
	uint8_t mem_bytes[MAX_LEN + MAX_LEN / 64], wire_bytes[MAX_LEN + MAX_LEN / 64];
	uint32_t mem_len, wire_len;
};

static void
run_make(struct run *r, const struct kind *k, uint16_t profile_id, uint32_t dek,
	const struct way *w)
{
	static uint8_t data[MAX_LEN];

	CHECK(k->len <= MAX_LEN);
	env_fill(data, k->len, k->len);
	memset(here, ENV_UNTOUCHED, AREA_LEN);
	memset(there, ENV_UNTOUCHED, AREA_LEN);
	r->k = k;
	r->mem_len = lay(k, GANTRY_ENCRYPTED_MEM, data, r->mem_bytes);
	r->wire_len = lay(k, GANTRY_ENCRYPTED_WIRE, data, r->wire_bytes);
	r->t = (struct gantry_txn){.profile = profile_id,
		.n_parts = 1,
		.n_data = k->n_data,
		.data = r->data,
		.part = &r->part,
		.mem = k->mem,
		.wire = k->wire,
		.crypto.dek = dek};
	memcpy(r->t.crypto.tweak, k->xts.tweak, sizeof(k->xts.tweak));
	r->part = (struct gantry_txn_part){(uintptr_t)there + 3, r->wire_len,
		w->other != NULL ? gantry_mem_remote_key(there_mem) : 0, 0};
	if (k->pi) {
		const struct ref_sig sig = ref_of(&k->conf.mem, &k->mem);

		place_apart(&r->mem, &sig, k->len / sig.block, &r->data[0], &r->t.pi);
	} else {
		place_list(&r->mem, k->n_data, r->mem_len);
		memcpy(r->data, r->mem.piece, k->n_data * sizeof(r->data[0]));
	}
	if (w->other != NULL) {
		r->t.good = (struct gantry_txn_response){(uintptr_t) "good", 5, 0};
		r->t.bad = (struct gantry_txn_response){(uintptr_t) "bad", 4, 0};
	}
}

static enum gantry_status
run_do(struct run *r, struct way *w, uint8_t op)
{
	const struct gantry_desc d = {.op = GANTRY_OP_TXN,
		.peer = w->peer,
		.src = (uintptr_t)&r->t,
		.len = r->k->len};

	r->t.op = op;
	return env_do_one(w->q, d);
}

/* Transfers the data to the wire and back. */
static void
run_both_ways(struct run *r, struct way *w)
{
	const uint8_t *wire = there + 3;

	if (w->other != NULL)
		way_receive(w);
	place_put(&r->mem, r->mem_bytes);
	CHECK_EQ(run_do(r, w, GANTRY_OP_WRITE), GANTRY_OK);
	CHECK(memcmp(wire, r->wire_bytes, r->wire_len) == 0);
	CHECK_EQ(wire[-1], ENV_UNTOUCHED);
	CHECK_EQ(wire[r->wire_len], ENV_UNTOUCHED);
	if (w->other != NULL) {
		way_expect(w, "good");
		way_receive(w);
	}
	memset(here, ENV_UNTOUCHED, AREA_LEN);
	CHECK_EQ(run_do(r, w, GANTRY_OP_READ), GANTRY_OK);
	place_expect(&r->mem, r->mem_bytes);
	if (w->other != NULL)
		way_expect(w, "good");
}

static void
pass(const struct kind *k, struct way *w)
{
	static struct run r;
	uint32_t dek = dek_of(&k->xts);
	uint16_t id;

	CHECK_EQ(gantry_profile_create(g, &k->conf, &id), 0);
	run_make(&r, k, id, dek, w);
	run_both_ways(&r, w);
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
	CHECK_EQ(gantry_dek_retire(g, dek, 0), 0);
}

static bool
is_single(void)
{
	return (info.crypto & GANTRY_CRYPTO_SINGLE) != 0;
}

static const uint32_t units[] = {512, 520, 4048, 4096, 4160};

/*
 * Tests all lengths of data units, both lengths of keys, encryption in either domain, one data unit
 * and several, memory in one piece and in several.
 */
static void
copies_encrypt_and_decrypt(void)
{
	static const uint32_t counts[] = {1, 2, 7, 63};
	struct way w;
	uint32_t u, n, i;

	way_open(&w, GANTRY_TXN_NONE);
	for (u = 0; u < RTE_DIM(units); u++)
		for (n = 0; n < (is_single() ? 1 : RTE_DIM(counts)); n++)
			for (i = 0; i < 8; i++) {
				struct kind k = {.xts = xts_of(u * 100 + i, i & 1 ? 64 : 32),
					.len = units[u] * counts[n],
					.n_data = i & 4 ? 1 + (u + n) * 3 % 8 : 1};

				k.conf.crypto = (struct gantry_crypto){i & 2 ? GANTRY_ENCRYPTED_WIRE
									     : GANTRY_ENCRYPTED_MEM,
					units[u], false};
				pass(&k, &w);
			}
	way_close(&w);
}

/* The longest transactions of this test, with the most buffers: all bytes must be right. */
static void
long_ones_gather_and_scatter(void)
{
	struct kind k = {.conf.crypto = {GANTRY_ENCRYPTED_WIRE, 4096, false},
		.xts = xts_of(77, 64),
		.len = MAX_LEN,
		.n_data = GANTRY_TXN_MAX_DATA};
	struct way w;

	if (is_single())
		return;
	way_open(&w, GANTRY_TXN_NONE);
	pass(&k, &w);
	k.conf.crypto.domain = GANTRY_ENCRYPTED_MEM;
	pass(&k, &w);
	way_close(&w);
}

/* The tweak must be one number of 128 bits: it carries into the high half, and wraps to 0. */
static void
tweaks_carry(void)
{
	struct kind k = {.conf.crypto = {GANTRY_ENCRYPTED_WIRE, 512, false},
		.len = is_single() ? 512 : 8 * 512,
		.n_data = 1};
	struct way w;
	uint32_t ones;

	way_open(&w, GANTRY_TXN_NONE);
	for (ones = 0; ones <= 16; ones++) {
		k.xts = xts_of(ones, 32);
		memset(k.xts.tweak, 0, sizeof(k.xts.tweak));
		memset(k.xts.tweak, 0xff, ones);
		if (ones != 0)
			k.xts.tweak[0] -= 2;
		pass(&k, &w);
	}
	way_close(&w);
}

/*
 * Rows A to J of the table in mlx5dv_wr_set_mkey_crypto(3): whether memory has a signature, whether
 * the wire has one, which domain is encrypted, and whether the signature is computed over the
 * ciphertext.
 */
static const struct row {
	bool mem, wire, tx, over;
} rows[] = {
	{false, false, true, false},  /* A */
	{false, true, true, true},    /* B */
	{false, true, true, false},   /* C */
	{true, false, true, false},   /* D */
	{true, true, true, false},    /* E */
	{false, false, false, false}, /* F */
	{false, true, false, false},  /* G */
	{true, false, false, false},  /* H */
	{true, true, false, false},   /* I */
	{true, false, false, true},   /* J */
};

/* Returns the kind of a row. With `other`, the two domains have different kinds of signatures. */
static struct kind
kind_of(const struct row *row, uint32_t i, bool other)
{
	static const enum gantry_sig_kind kinds[] = {GANTRY_SIG_T10DIF_CRC, GANTRY_SIG_CRC32C,
		GANTRY_SIG_T10DIF_CSUM, GANTRY_SIG_CRC32};
	const enum gantry_sig_kind a = kinds[i % RTE_DIM(kinds)],
				   b = other ? kinds[(i + 1) % RTE_DIM(kinds)] : a;
	const bool covered = (row->tx ? row->wire : row->mem) && !row->over;
	const enum gantry_sig_kind inside = row->tx ? b : a;
	const uint32_t sig =
		inside == GANTRY_SIG_T10DIF_CRC || inside == GANTRY_SIG_T10DIF_CSUM ? 8 : 4;
	/*
	 * A data unit of 520 bytes is one block with T10-DIF. Data units of 512 bytes must hold
	 * whole blocks: 65 units hold 64 blocks of 520 bytes, and 129 units hold 128 blocks of 516
	 * bytes. Fewer units hold no whole number of blocks.
	 */
	const uint32_t unit = covered && sig == 8 && (i & 4) ? 520 : 512;
	const uint32_t blocks = !covered || unit == 520 ? 1 + i * 5 : sig == 8 ? 64 : 128;
	struct kind k = {.xts = xts_of(i, i & 1 ? 64 : 32), .len = blocks * 512, .n_data = 1};
	const uint32_t flags = i & 2 ? GANTRY_SIG_REF_REMAP : 0;

#define IS_DIF(kind) ((kind) == GANTRY_SIG_T10DIF_CRC || (kind) == GANTRY_SIG_T10DIF_CSUM)
	k.conf.check = GANTRY_SIG_ALL;
	k.conf.crypto =
		(struct gantry_crypto){row->tx ? GANTRY_ENCRYPTED_WIRE : GANTRY_ENCRYPTED_MEM, unit,
			row->over};
	if (row->mem) {
		k.conf.mem = (struct gantry_sig_domain){a, 512, IS_DIF(a) ? flags : 0};
		if (IS_DIF(a))
			k.mem = (struct gantry_txn_tags){.ref_tag = 0xfffffffe, .app_tag = 0x1234};
		k.mem.seed_ones = i & 1;
	}
	if (row->wire) {
		k.conf.wire = (struct gantry_sig_domain){b, 512, IS_DIF(b) ? flags : 0};
		if (IS_DIF(b))
			k.wire = (struct gantry_txn_tags){.ref_tag = 7 + i, .app_tag = 0x4321};
		k.wire.seed_ones = i & 2;
	}
#undef IS_DIF
	return k;
}

static void
each_order_of_signature_and_encryption(enum gantry_txn_mode mode)
{
	struct way w;
	uint32_t r, i;

	way_open(&w, mode);
	for (r = 0; r < RTE_DIM(rows); r++)
		for (i = 0; i < 16; i++) {
			struct kind k = kind_of(&rows[r], i, i & 8);

			if (is_single() && (rows[r].mem || rows[r].wire))
				continue; /* test_crypto tests adapters with one data unit */
			if (is_single())
				k.len = 512;
			pass(&k, &w);
			k.n_data = 5;
			if (k.len >= 5 * 512)
				pass(&k, &w);
			k.pi = rows[r].mem;
			k.n_data = 1;
			if (k.pi)
				pass(&k, &w);
		}
	way_close(&w);
}

/*
 * GANTRY_CRYPTO_SINGLE: a block of 512 bytes with its signature is longer than a data unit of 512
 * bytes. So a device of this kind must refuse the transaction. All other devices must execute it.
 */
static void
memory_of_one_data_unit_counts_with_its_signatures(void)
{
	static struct run r;
	const struct kind k = {.conf = {.mem = {GANTRY_SIG_T10DIF_CRC, 512, 0},
				       .crypto = {GANTRY_ENCRYPTED_WIRE, 512, false},
				       .check = GANTRY_SIG_ALL},
		.xts = xts_of(5, 32),
		.len = 512,
		.n_data = 1};
	const uint32_t dek = dek_of(&k.xts);
	struct way w;
	uint16_t id;

	way_open(&w, GANTRY_TXN_NONE);
	CHECK_EQ(gantry_profile_create(g, &k.conf, &id), 0);
	run_make(&r, &k, id, dek, &w);
	if (is_single()) {
		place_put(&r.mem, r.mem_bytes);
		CHECK_EQ(run_do(&r, &w, GANTRY_OP_WRITE), GANTRY_BAD_LENGTH);
		CHECK_EQ(run_do(&r, &w, GANTRY_OP_READ), GANTRY_BAD_LENGTH);
	} else {
		run_both_ways(&r, &w);
	}
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
	CHECK_EQ(gantry_dek_retire(g, dek, 0), 0);
	way_close(&w);
}

static void
each_order_of_signature_and_encryption_here(void)
{
	each_order_of_signature_and_encryption(GANTRY_TXN_NONE);
}

static void
each_order_of_signature_and_encryption_by_waiting(void)
{
	each_order_of_signature_and_encryption(GANTRY_TXN_WAIT);
}

static void
each_order_of_signature_and_encryption_by_pipelining(void)
{
	each_order_of_signature_and_encryption(GANTRY_TXN_PIPELINED);
}

/* ------------------------------------------------------------------ errors in the data */

/*
 * One bit of the incoming data is wrong: then each block of this data unit is wrong, and the first
 * wrong block is reported.
 */
static void
wrong_bytes_are_found(enum gantry_txn_mode mode)
{
	static struct run r;
	struct way w;
	uint32_t i;

	if (is_single())
		return;
	way_open(&w, mode);
	for (i = 0; i < RTE_DIM(rows); i++) {
		const struct kind k = kind_of(&rows[i], 6, false);
		const bool reads = k.conf.mem.kind == GANTRY_SIG_NONE;
		const struct ref_sig sig =
			reads ? ref_of(&k.conf.wire, &k.wire) : ref_of(&k.conf.mem, &k.mem);
		const uint32_t block = 3;
		uint8_t *bytes = reads ? r.wire_bytes : r.mem_bytes;
		uint32_t dek;
		uint16_t id;

		if (sig.kind == REF_NONE)
			continue;
		dek = dek_of(&k.xts);
		CHECK_EQ(gantry_profile_create(g, &k.conf, &id), 0);
		run_make(&r, &k, id, dek, &w);
		if (w.other != NULL)
			way_receive(&w);
		bytes[block * ref_unit(&sig) + 9] ^= 0x10;
		if (reads)
			memcpy(there + 3, r.wire_bytes, r.wire_len);
		else
			place_put(&r.mem, r.mem_bytes);
		CHECK_EQ(run_do(&r, &w, reads ? GANTRY_OP_READ : GANTRY_OP_WRITE), GANTRY_SIG_ERROR,
			"of a row");
		CHECK_EQ(r.t.error.part, GANTRY_SIG_GUARD);
		CHECK_EQ(r.t.error.on_wire, reads);
		CHECK_EQ(r.t.error.block, block);
		if (w.other != NULL) {
			way_expect(&w, "bad");
			way_receive(&w);
		}
		/* The connection continues to work, and the next transaction can use the key. */
		bytes[block * ref_unit(&sig) + 9] ^= 0x10;
		if (reads)
			memcpy(there + 3, r.wire_bytes, r.wire_len);
		else
			place_put(&r.mem, r.mem_bytes);
		CHECK_EQ(run_do(&r, &w, reads ? GANTRY_OP_READ : GANTRY_OP_WRITE), GANTRY_OK);
		if (w.other != NULL)
			way_expect(&w, "good");
		CHECK_EQ(gantry_profile_destroy(g, id), 0);
		CHECK_EQ(gantry_dek_retire(g, dek, 0), 0);
	}
	way_close(&w);
}

static void
wrong_bytes_are_found_here(void)
{
	wrong_bytes_are_found(GANTRY_TXN_NONE);
}

static void
wrong_bytes_are_found_by_waiting(void)
{
	wrong_bytes_are_found(GANTRY_TXN_WAIT);
}

static void
wrong_bytes_are_found_by_pipelining(void)
{
	wrong_bytes_are_found(GANTRY_TXN_PIPELINED);
}

/* Checks memory in which data and signatures are encrypted together. No data are moved. */
static void
a_check_decrypts(void)
{
	static struct run r;
	const struct kind k = kind_of(&rows[7], 5, false);
	struct way w;
	uint32_t dek;
	uint16_t id;

	if (is_single())
		return;
	way_open(&w, GANTRY_TXN_NONE);
	dek = dek_of(&k.xts);
	CHECK_EQ(gantry_profile_create(g, &k.conf, &id), 0);
	run_make(&r, &k, id, dek, &w);
	r.t.n_parts = 0;
	place_put(&r.mem, r.mem_bytes);
	CHECK_EQ(run_do(&r, &w, GANTRY_OP_WRITE), GANTRY_OK);
	r.mem_bytes[1000] ^= 1;
	place_put(&r.mem, r.mem_bytes);
	CHECK_EQ(run_do(&r, &w, GANTRY_OP_WRITE), GANTRY_SIG_ERROR);
	CHECK_EQ(r.t.error.block, 1000 / 516);
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
	CHECK_EQ(gantry_dek_retire(g, dek, 0), 0);
	way_close(&w);
}

/* ------------------------------------------------------------------ refusals */

/* A copy of one data unit, which is encrypted. */
struct one {
	struct kind k;
	struct run r;
	uint32_t dek;
	uint16_t profile;
};

static void
one_open(struct one *o, const struct way *w)
{
	o->k = (struct kind){.conf.crypto = {GANTRY_ENCRYPTED_WIRE, 512, false},
		.xts = xts_of(5, 64),
		.len = 512,
		.n_data = 1};
	o->dek = dek_of(&o->k.xts);
	CHECK_EQ(gantry_profile_create(g, &o->k.conf, &o->profile), 0);
	run_make(&o->r, &o->k, o->profile, o->dek, w);
	place_put(&o->r.mem, o->r.mem_bytes);
}

static void
one_close(struct one *o)
{
	CHECK_EQ(gantry_profile_destroy(g, o->profile), 0);
	CHECK_EQ(gantry_dek_retire(g, o->dek, 0), 0);
}

static enum gantry_status
one_do(struct one *o, struct way *w)
{
	enum gantry_status status = run_do(&o->r, w, GANTRY_OP_WRITE);

	if (status == GANTRY_OK)
		CHECK(memcmp(there + 3, o->r.wire_bytes, 512) == 0);
	return status;
}

static void
each_rule_has_its_status(void)
{
	static struct one o;
	const struct gantry_profile_conf plain = {.wire = dif, .check = GANTRY_SIG_ALL};
	struct gantry_txn_part part[2];
	struct gantry_txn good;
	struct way w;
	uint16_t id;

	way_open(&w, GANTRY_TXN_NONE);
	one_open(&o, &w);
	good = o.r.t;
	CHECK_EQ(one_do(&o, &w), GANTRY_OK);
#define REFUSED(change, status)                                                                    \
	do {                                                                                       \
		o.r.t = good;                                                                      \
		change;                                                                            \
		CHECK_EQ(one_do(&o, &w), GANTRY_##status);                                         \
	} while (0)
	REFUSED(o.r.t.crypto.dek = 0, BAD_DEK);
	REFUSED(o.r.t.crypto.dek = 1023, BAD_DEK);
	REFUSED(o.r.t.crypto.dek = UINT32_MAX, BAD_DEK);
	REFUSED(o.r.t.crypto.dek += 1u << 10, BAD_DEK);
	REFUSED(o.r.t.crypto.zero = 1, BAD_FIELD);
	REFUSED(o.r.t.zero[0] = 1, BAD_FIELD);
	REFUSED(o.r.t.mem.ref_tag = 1, BAD_FIELD);
	REFUSED(o.r.t.profile = 200, BAD_PROFILE);
	REFUSED(o.r.t.n_parts = 0; o.r.t.n_data = 0, BAD_LENGTH);
	part[0] = part[1] = o.r.part;
	part[0].len = part[1].len = 256;
	REFUSED(o.r.t.n_parts = 2; o.r.t.part = part, BAD_LENGTH);
	o.r.t = good;
	/* The length is not a multiple of the data unit. */
	o.k.len = 511;
	o.r.data[0].len = o.r.part.len = 511;
	CHECK_EQ(one_do(&o, &w), GANTRY_BAD_LENGTH);
	o.k.len = 1024;
	o.r.data[0].len = o.r.part.len = 1024;
	CHECK_EQ(run_do(&o.r, &w, GANTRY_OP_WRITE), is_single() ? GANTRY_BAD_LENGTH : GANTRY_OK);
	o.k.len = 512;
	o.r.data[0].len = o.r.part.len = 512;
	CHECK_EQ(one_do(&o, &w), GANTRY_OK);
	/* A profile that does not encrypt ignores `crypto`. */
	CHECK_EQ(gantry_profile_create(g, &plain, &id), 0);
	o.r.t.profile = id;
	o.r.t.crypto.dek = 99;
	o.r.part.len = 520;
	CHECK_EQ(run_do(&o.r, &w, GANTRY_OP_WRITE), GANTRY_OK);
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
	o.r.t = good;
	o.r.part.len = 512;
	CHECK_EQ(one_do(&o, &w), GANTRY_OK);
	one_close(&o);
	CHECK_EQ(run_do(&o.r, &w, GANTRY_OP_WRITE), GANTRY_BAD_PROFILE);
	way_close(&w);
#undef REFUSED
}

/*
 * On a queue with one open transaction at a time, transactions with and without encryption
 * alternate: each must use a key of the right kind.
 */
static void
keys_of_both_kinds_take_turns(void)
{
	const struct gantry_queue_conf conf = {.depth = 64, .transactions = 1};
	const struct gantry_profile_conf plain = {.wire = dif, .check = GANTRY_SIG_ALL};
	const struct gantry_sge data = {(uintptr_t)here + 1, 512};
	const struct gantry_txn_part part = {(uintptr_t)there + 3, 520};
	struct gantry_txn t = {.op = GANTRY_OP_WRITE,
		.n_data = 1,
		.n_parts = 1,
		.data = &data,
		.part = &part};
	static struct one o;
	struct gantry_desc d[16];
	struct gantry_comp comp[16];
	struct way w = {.peer = GANTRY_PEER_OWN};
	uint32_t i;

	CHECK_EQ(gantry_queue_create(g, &conf, &w.q), 0);
	one_open(&o, &w);
	CHECK_EQ(gantry_profile_create(g, &plain, &t.profile), 0);
	o.r.t.op = GANTRY_OP_WRITE;
	for (i = 0; i < 16; i++)
		d[i] = (struct gantry_desc){.op = GANTRY_OP_TXN,
			.peer = GANTRY_PEER_OWN,
			.src = i % 3 == 0 ? (uintptr_t)&t : (uintptr_t)&o.r.t,
			.len = 512};
	env_do(w.q, d, comp, 16);
	for (i = 0; i < 16; i++)
		CHECK_EQ(comp[i].status, GANTRY_OK);
	CHECK(memcmp(there + 3, o.r.mem_bytes, 512) == 0);
	CHECK_EQ(one_do(&o, &w), GANTRY_OK);
	CHECK_EQ(gantry_profile_destroy(g, t.profile), 0);
	one_close(&o);
	way_close(&w);
}

/* Returns the entry that owners of queues read for the DEK that has, or had, this id. */
static const struct gantry_shelf_cell *
cell_of(uint32_t dek)
{
	return gantry_shelf_cell(&g->deks.shelf, gantry_dek_place(dek));
}

/*
 * The test changes the entry of the DEK, and the transaction names a DEK that the device does not
 * have. The transaction must fail, and the queue's connection to itself must be set up again.
 */
static void
a_dek_that_the_device_has_not_fails_its_transactions(void)
{
	static struct one o;
	_Atomic uint64_t *word;
	uint64_t before;
	struct way w;

	way_open(&w, GANTRY_TXN_NONE);
	one_open(&o, &w);
	word = (_Atomic uint64_t *)&cell_of(o.dek)->word[0];
	before = *word;
	*word = before ^ 0x800;
	CHECK_EQ(one_do(&o, &w), GANTRY_LOCAL_ERROR);
	*word = before;
	CHECK_EQ(one_do(&o, &w), GANTRY_OK);
	one_close(&o);
	way_close(&w);
}

/* If the device refuses a command, nothing changes, and the call can be repeated. */
static void
a_refused_command_changes_nothing(void)
{
	static struct one o;
	struct way w;
	uint32_t id = 77;

	way_open(&w, GANTRY_TXN_NONE);
	one_open(&o, &w);
	CHECK_EQ(softhca_fault("refuse call=devx_create errno=12 opcode=0xa00"), 0);
	CHECK_EQ(dek_add(&o.k.xts, NULL, &id), -ENOMEM);
	CHECK_EQ(id, 77);
	id = dek_of(&o.k.xts);
	CHECK_EQ(softhca_fault("refuse call=devx_destroy errno=16 times=2"), 0);
	CHECK_EQ(gantry_dek_retire(g, id, 0), -EBUSY);
	o.r.t.crypto.dek = id;
	CHECK_EQ(one_do(&o, &w), GANTRY_BAD_DEK);
	CHECK_EQ(gantry_dek_retire(g, id, 0), -EBUSY);
	CHECK_EQ(gantry_dek_retire(g, id, 0), 0);
	CHECK_EQ(gantry_dek_retire(g, id, 0), -EINVAL);
	o.r.t.crypto.dek = o.dek;
	CHECK_EQ(one_do(&o, &w), GANTRY_OK);
	one_close(&o);
	way_close(&w);
}

/* Number of calls of env_pump() that __wrap_hwq_qp_reset() makes before the QP is reset. */
static unsigned int turns_before_reset;

int __real_hwq_qp_reset(struct hwq_qp *qp);
int __wrap_hwq_qp_reset(struct hwq_qp *qp);

int
__wrap_hwq_qp_reset(struct hwq_qp *qp)
{
	for (; turns_before_reset != 0; turns_before_reset--)
		env_pump();
	return __real_hwq_qp_reset(qp);
}

/*
 * A CQE that reports a wrong signature is lost, and the device reports no further error of the same
 * key. So the engine must create the key again. test_gantry_txn has a case with the same name; here
 * the key also encrypts.
 */
static void
a_key_is_made_anew_when_an_error_of_it_may_be_lost(void)
{
	const struct gantry_queue_conf conf = {.depth = 64, .transactions = 1};
	const struct kind k = kind_of(&rows[7], 5, false);
	struct way w = {.peer = GANTRY_PEER_OWN};
	struct gantry_desc d = {.op = GANTRY_OP_TXN, .peer = GANTRY_PEER_OWN, .len = k.len};
	struct gantry_comp comp;
	static struct run r;
	uint32_t dek;
	uint16_t id;

	if (!env_is_pumped() || is_single())
		return;
	CHECK_EQ(gantry_queue_create(g, &conf, &w.q), 0);
	dek = dek_of(&k.xts);
	CHECK_EQ(gantry_profile_create(g, &k.conf, &id), 0);
	run_make(&r, &k, id, dek, &w);
	r.t.n_parts = 0;
	r.t.op = GANTRY_OP_WRITE;
	r.mem_bytes[99] ^= 1;
	place_put(&r.mem, r.mem_bytes);
	w.q->deadline_tsc = 4;
	d.src = (uintptr_t)&r.t;
	/* The device refuses to move the QP to error, so the engine resets the QP. */
	CHECK_EQ(softhca_fault("refuse call=modify_qp errno=12"), 0);
	turns_before_reset = 10;
	CHECK_EQ(gantry_submit(w.q, &d, 1), 1);
	while (gantry_poll(w.q, &comp, 1) == 0)
		;
	CHECK_EQ(turns_before_reset, 0);
	CHECK_EQ(comp.status, GANTRY_TIMED_OUT);
	w.q->deadline_tsc = UINT64_MAX;
	CHECK_EQ(softhca_fault("refuse call=create_mkey errno=12"), 0);
	CHECK_EQ(run_do(&r, &w, GANTRY_OP_WRITE), GANTRY_NO_RESOURCES);
	CHECK_EQ(run_do(&r, &w, GANTRY_OP_WRITE), GANTRY_SIG_ERROR);
	r.mem_bytes[99] ^= 1;
	place_put(&r.mem, r.mem_bytes);
	CHECK_EQ(run_do(&r, &w, GANTRY_OP_WRITE), GANTRY_OK);
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
	CHECK_EQ(gantry_dek_retire(g, dek, 0), 0);
	way_close(&w);
}

/*
 * A transaction names a keytag. The device compares it with the keytag of the DEK, and must refuse
 * another keytag.
 */
static void
a_keytag_must_be_the_deks(void)
{
	static const uint8_t tag[8] = "keytag!!", wrong[8] = "keytag!?";
	struct gantry_dek_conf conf = {.wrapped = true, .has_keytag = true};
	uint8_t key[XTS_MAX_KEY + 16];
	static struct one o;
	struct way w;
	uint32_t id, i;

	way_open(&w, GANTRY_TXN_NONE);
	one_open(&o, &w);
	CHECK_EQ(dek_add(&o.k.xts, tag, &id), 0);
	o.r.t.crypto.dek = id;
	CHECK_EQ(one_do(&o, &w), GANTRY_OK);
	CHECK_EQ(memcmp((const void *)&cell_of(id)->word[1], tag, sizeof(tag)), 0);
	CHECK_EQ(gantry_dek_retire(g, id, 0), 0);
	for (i = 0; i < g->deks.shelf.n_words; i++)
		CHECK_EQ(cell_of(id)->word[i], 0);
	/* A plaintext DEK gets the keytag of its configuration. */
	if (xts_is_wrapped()) {
		conf.key = key;
		conf.len = xts_import(&o.k.xts, tag, key);
		memcpy(conf.keytag, wrong, sizeof(wrong));
		CHECK_EQ(gantry_dek_add(g, &conf, &id), 0);
		o.r.t.crypto.dek = id;
		CHECK_EQ(one_do(&o, &w), GANTRY_LOCAL_ERROR);
		CHECK_EQ(gantry_dek_retire(g, id, 0), 0);
	}
	one_close(&o);
	way_close(&w);
}

/* Without a login, adding a DEK must fail. Existing DEKs must continue to work. */
static void
a_wrapped_dek_needs_a_login(void)
{
	uint8_t credential[48];
	struct gantry_login_conf conf = {.credential = credential,
		.credential_len = sizeof(credential)};
	static const uint32_t lengths[] = {0, 8, 47, 49, UINT32_MAX};
	static struct one o;
	struct way w;
	uint32_t id = 77, i;

	if (!xts_is_wrapped()) {
		CHECK_EQ(gantry_login(g, &conf), -EOPNOTSUPP);
		CHECK_EQ(gantry_logout(g), -EINVAL);
		return;
	}
	CHECK_EQ(gantry_login(g, &conf), -EALREADY);
	way_open(&w, GANTRY_TXN_NONE);
	one_open(&o, &w);
	/* A logout that the device refuses changes nothing. */
	CHECK_EQ(softhca_fault("refuse call=devx_destroy errno=16"), 0);
	CHECK_EQ(gantry_logout(g), -EBUSY);
	CHECK_EQ(gantry_login(g, &conf), -EALREADY);
	CHECK_EQ(dek_add(&o.k.xts, NULL, &id), 0);
	CHECK_EQ(gantry_dek_retire(g, id, 0), 0);
	id = 77;
	CHECK_EQ(gantry_logout(g), 0);
	CHECK_EQ(gantry_logout(g), -EINVAL);
	CHECK_EQ(dek_add(&o.k.xts, NULL, &id), -EPERM);
	CHECK_EQ(id, 77);
	CHECK_EQ(one_do(&o, &w), GANTRY_OK);
	CHECK_EQ(xts_credential(credential), sizeof(credential));
	credential[20] ^= 1;
	CHECK_EQ(gantry_login(g, &conf), -EINVAL);
	credential[20] ^= 1;
	for (i = 0; i < RTE_DIM(lengths); i++) {
		conf.credential_len = lengths[i];
		CHECK_EQ(gantry_login(g, &conf), -EINVAL);
	}
	conf.credential_len = sizeof(credential);
	/* The device does not have these ids. */
	conf.credential_id = 7;
	CHECK_EQ(gantry_login(g, &conf), -EINVAL);
	conf.credential_id = 0;
	conf.import_kek_id = 7;
	CHECK_EQ(gantry_login(g, &conf), -EINVAL);
	conf.import_kek_id = 0;
	CHECK_EQ(gantry_login(g, &conf), 0);
	CHECK_EQ(one_do(&o, &w), GANTRY_OK);
	one_close(&o);
	way_close(&w);
}

/*
 * gantry.h, fork(2): a child calls the functions for DEKs. They must fail and change nothing: the
 * DEK still belongs to the parent.
 */
static void
a_child_is_refused(void)
{
	const struct gantry_login_conf login = {.credential = here, .credential_len = 48};
	static struct one o;
	struct way w;
	uint32_t id = 77;
	int status;
	pid_t child;

	way_open(&w, GANTRY_TXN_NONE);
	one_open(&o, &w);
	child = fork();
	if (child == 0)
		_exit((gantry_login(g, &login) != -ECHILD) | (gantry_logout(g) != -ECHILD) << 1 |
			(dek_add(&o.k.xts, NULL, &id) != -ECHILD) << 2 |
			(gantry_dek_retire(g, o.dek, 0) != -ECHILD) << 3 | (id != 77) << 4);
	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status), "%#x", status);
	CHECK_EQ(WEXITSTATUS(status), 0);
	CHECK_EQ(one_do(&o, &w), GANTRY_OK);
	one_close(&o);
	way_close(&w);
}

/*
 * A program gives the engine an open device, and has logged in before it creates the engine. Then
 * adding a DEK must succeed without a further login.
 */
static void
a_login_of_the_devices_owner_counts(void)
{
	struct mlx5dv_crypto_login_attr attr = {0};
	struct mlx5dv_context_attr devx = {.flags = MLX5DV_CONTEXT_FLAGS_DEVX};
	struct gantry_login_conf conf = {.credential = attr.credential,
		.credential_len = sizeof(attr.credential)};
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct gantry_conf owned = {0};
	struct gantry *all = g, *other;
	const struct xts x = xts_of(3, 32);
	uint32_t id;

	if (!xts_is_wrapped()) {
		ibv_free_device_list(list);
		return;
	}
	owned.ibv_ctx = mlx5dv_open_device(list[0], &devx);
	ibv_free_device_list(list);
	CHECK(owned.ibv_ctx != NULL);
	CHECK_EQ(xts_credential((uint8_t *)attr.credential), sizeof(attr.credential));
	CHECK_EQ(mlx5dv_crypto_login(owned.ibv_ctx, &attr), 0);
	CHECK_EQ(gantry_create(&owned, &other), 0);
	CHECK_EQ(gantry_login(other, &conf), -EBUSY);
	g = other;
	CHECK_EQ(dek_add(&x, NULL, &id), 0);
	g = all;
	CHECK_EQ(gantry_dek_retire(other, id, 0), 0);
	CHECK_EQ(gantry_logout(other), -EINVAL);
	CHECK_EQ(gantry_destroy(other), 0);
	/* The engine has not ended the program's login. */
	CHECK_EQ(mlx5dv_crypto_logout(owned.ibv_ctx), 0);
	CHECK_EQ(ibv_close_device(owned.ibv_ctx), 0);
}

/* ------------------------------------------------------------------ retiring */

/*
 * Submits a local transaction that uses a new DEK, and posts it to the hardware. Returns its
 * descriptor in *d.
 */
static void
submit_local(struct one *o, struct way *w, struct gantry_desc *d)
{
	*d = (struct gantry_desc){.op = GANTRY_OP_TXN, .peer = GANTRY_PEER_OWN, .len = 512};
	way_open(w, GANTRY_TXN_NONE);
	one_open(o, w);
	o->r.t.op = GANTRY_OP_WRITE;
	d->src = (uintptr_t)&o->r.t;
	CHECK_EQ(gantry_submit(w->q, d, 1), 1);
}

/*
 * The device must keep a retired DEK until the last transaction that uses the DEK has completed, in
 * any queue.
 */
static void
a_retired_dek_serves_what_is_in_the_hardware(void)
{
	struct gantry_queue *before, *behind;
	struct gantry_desc d;
	struct gantry_comp comp;
	static struct one o;
	struct way w;

	if (!env_is_pumped())
		return;
	before = env_queue(g, 8);
	submit_local(&o, &w, &d);
	behind = env_queue(g, 8);
	CHECK_EQ(gantry_dek_retire(g, o.dek, 0), -ETIMEDOUT);
	CHECK_EQ(gantry_dek_retire(g, o.dek, 20), -ETIMEDOUT);
	/* The next transaction with this DEK is refused, and completes in order. */
	CHECK_EQ(gantry_submit(w.q, &d, 1), 1);
	env_collect(w.q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK(memcmp(there + 3, o.r.wire_bytes, 512) == 0);
	env_collect(w.q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_BAD_DEK);
	CHECK_EQ(gantry_poll(w.q, &comp, 1), 0);
	CHECK_EQ(gantry_dek_retire(g, o.dek, 0), 0);
	CHECK_EQ(gantry_dek_retire(g, o.dek, 0), -EINVAL);
	o.dek = dek_of(&o.k.xts);
	one_close(&o);
	way_close(&w);
	env_queue_done(behind);
	env_queue_done(before);
}

/*
 * Receives use no DEK. Even if they wait for ever, they do not delay the DEK's removal, whatever
 * functions the queue's owner called before.
 */
static void
a_retired_dek_waits_for_no_receive(void)
{
	static const struct xts x = {.key_len = 32, .key = {1}};
	enum {
		WITHOUT,
		RESTED,
		POLLED,
		ORDERS
	};
	struct gantry_recv_comp recv;
	struct gantry_comp comp;
	uint32_t order, id;
	struct way w;

	way_open(&w, GANTRY_TXN_WAIT);
	for (order = WITHOUT; order < ORDERS; order++) {
		if (order != WITHOUT)
			way_receive(&w);
		id = dek_of(&x);
		if (order == RESTED) {
			gantry_rest(w.q);
			gantry_rest(w.other);
		} else if (order == POLLED) {
			CHECK_EQ(gantry_poll(w.q, &comp, 1), 0);
			CHECK_EQ(gantry_poll(w.other, &comp, 1), 0);
			CHECK_EQ(gantry_recv_poll(w.other, &recv, 1), 0);
		}
		CHECK_EQ(gantry_dek_retire(g, id, 0), 0);
	}
	way_close(&w);
}

/* A copy that is in hardware must not delay the removal of a DEK. */
static void
a_retired_dek_waits_for_no_copy(void)
{
	static const struct xts x = {.key_len = 32, .key = {1}};
	struct gantry_desc d = {.op = GANTRY_OP_COPY, .len = 4096};
	struct gantry_comp comp;
	struct way w;
	uint32_t id;

	d.src = (uintptr_t)here;
	d.dst = (uintptr_t)there;
	way_open(&w, GANTRY_TXN_NONE);
	id = dek_of(&x);
	CHECK_EQ(gantry_submit(w.q, &d, 1), 1);
	CHECK_EQ(gantry_dek_retire(g, id, 0), 0);
	env_collect(w.q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	way_close(&w);
}

/*
 * A transaction that the hardware has finished keeps its DEK in use until the queue's owner polls
 * the completion or calls gantry_rest(). After gantry_rest() the removal of the DEK must end.
 */
static void
an_owner_that_rests_lets_the_dek_go(void)
{
	struct gantry_desc d;
	struct gantry_comp comp;
	static struct one o;
	struct way w;

	if (!env_is_pumped())
		return;
	submit_local(&o, &w, &d);
	while (memcmp(there + 3, o.r.wire_bytes, 512) != 0)
		env_pump();
	env_pump();
	CHECK_EQ(gantry_dek_retire(g, o.dek, 0), -ETIMEDOUT);
	gantry_rest(w.q);
	CHECK_EQ(gantry_dek_retire(g, o.dek, 0), 0);
	env_collect(w.q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	o.dek = dek_of(&o.k.xts);
	one_close(&o);
	way_close(&w);
}

/*
 * A DEK is released when the transactions from before its retirement have completed, even if the
 * queue never becomes empty.
 */
static void
a_retired_dek_waits_for_no_later_transaction(void)
{
	struct gantry_desc d;
	struct gantry_comp comp;
	struct gantry_txn later;
	static struct one o;
	struct way w;

	if (!env_is_pumped())
		return;
	submit_local(&o, &w, &d);
	while (memcmp(there + 3, o.r.wire_bytes, 512) != 0)
		env_pump();
	/*
	 * With wire = loop, the completion comes later than the bytes. So wait until the adapter is
	 * idle.
	 */
	while (softhca_pump() != 0)
		;
	CHECK_EQ(gantry_dek_retire(g, o.dek, 0), -ETIMEDOUT);
	later = o.r.t;
	later.crypto.dek = dek_of(&o.k.xts);
	d.src = (uintptr_t)&later;
	CHECK_EQ(gantry_submit(w.q, &d, 1), 1);
	CHECK_EQ(gantry_poll(w.q, &comp, 1), 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	/* The later transaction has not been posted to the device. */
	CHECK_EQ(gantry_poll(w.q, &comp, 1), 0);
	CHECK_EQ(gantry_dek_retire(g, o.dek, 0), 0);
	env_collect(w.q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	o.dek = later.crypto.dek;
	one_close(&o);
	way_close(&w);
}

/* Two workers encrypt with the existing DEKs, while the main thread adds and retires DEKs. */
#define N_WORKERS 2
#define N_LIVE    4
#define ROUNDS    60

struct crew {
	struct gantry_worker *worker;
	struct gantry_txn t[16];
	struct gantry_sge data[16];
	struct gantry_txn_part part[16];
	uint32_t n, done, refused;
};

static void
deks_come_and_go_while_lcores_run(void)
{
	const struct gantry_worker_conf conf = {.queue = {.depth = 64, .transactions = 8},
		.ring_size = 64};
	const struct gantry_crypto crypto = {GANTRY_ENCRYPTED_WIRE, 512, false};
	const uint32_t len = is_single() ? 512 : 4096;
	static struct crew crew[N_WORKERS];
	uint32_t live[N_LIVE], dek, i, k, round, id_round[N_LIVE];
	static uint8_t want[4096];
	uint16_t id;

	if (env_is_pumped())
		return;
	CHECK_EQ(profile(none, none, crypto, &id), 0);
	env_fill(here, AREA_LEN, 1);
	for (i = 0; i < N_LIVE; i++) {
		const struct xts x = xts_of(i, 64);

		live[i] = dek_of(&x);
		id_round[i] = i;
	}
	for (i = 0; i < N_WORKERS; i++) {
		crew[i] = (struct crew){0};
		CHECK_EQ(gantry_worker_create(g, 1 + i, &conf, &crew[i].worker), 0);
		CHECK_EQ(gantry_worker_start(crew[i].worker), 0);
	}
	for (round = N_LIVE; round < N_LIVE + ROUNDS; round++) {
		const uint32_t gone = round % N_LIVE;
		const struct xts next = xts_of(round, 64);

		/* Each worker gets sixteen transactions, which use all DEKs. */
		for (i = 0; i < N_WORKERS; i++)
			for (k = 0; k < 16; k++) {
				struct crew *c = &crew[i];
				const uint64_t at = (i * 16 + k) * 8192;
				const struct xts x = xts_of(id_round[k % N_LIVE], 64);
				struct gantry_desc d = {.op = GANTRY_OP_TXN,
					.peer = GANTRY_PEER_OWN,
					.src = (uintptr_t)&c->t[k],
					.len = len,
					.cookie = k};

				c->data[k] = (struct gantry_sge){(uintptr_t)here + at, len};
				c->part[k] = (struct gantry_txn_part){(uintptr_t)there + at, len};
				c->t[k] = (struct gantry_txn){.profile = id,
					.op = GANTRY_OP_WRITE,
					.n_data = 1,
					.n_parts = 1,
					.data = &c->data[k],
					.part = &c->part[k],
					.crypto.dek = live[k % N_LIVE]};
				memcpy(c->t[k].crypto.tweak, x.tweak, 16);
				memset(there + at, ENV_UNTOUCHED, len);
				CHECK_EQ(gantry_enqueue_burst(c->worker, &d, 1), 1);
			}
		/* One DEK is retired and another is added while the transactions run. */
		CHECK_EQ(gantry_dek_retire(g, live[gone], CHECK_PATIENCE_MS), 0);
		dek = dek_of(&next);
		for (i = 0; i < N_WORKERS; i++)
			for (crew[i].n = 0; crew[i].n < 16;) {
				struct gantry_comp comp;
				const uint8_t *to;

				if (env_dequeue(crew[i].worker, &comp, 1) == 0)
					continue;
				crew[i].n++;
				k = comp.cookie;
				to = there + (i * 16 + k) * 8192;
				if (comp.status == GANTRY_BAD_DEK) {
					CHECK_EQ(k % N_LIVE, gone);
					CHECK_EQ(to[0], ENV_UNTOUCHED);
					crew[i].refused++;
					continue;
				}
				const struct xts x = xts_of(id_round[k % N_LIVE], 64);

				CHECK_EQ(comp.status, GANTRY_OK);
				xts_pass(&x, true, 512, here + (i * 16 + k) * 8192, want, len);
				CHECK(memcmp(to, want, len) == 0);
				crew[i].done++;
			}
		live[gone] = dek;
		id_round[gone] = round;
	}
	for (i = 0; i < N_WORKERS; i++) {
		CHECK_EQ(crew[i].done + crew[i].refused, ROUNDS * 16);
		CHECK(crew[i].done >= ROUNDS * 12);
		CHECK_EQ(gantry_worker_stop(crew[i].worker), 0);
		CHECK_EQ(gantry_worker_destroy(crew[i].worker), 0);
	}
	for (i = 0; i < N_LIVE; i++)
		CHECK_EQ(gantry_dek_retire(g, live[i], 0), 0);
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
}

/* ------------------------------------------------------------------ secrets */

/*
 * The test stores the key XORed with this mask, so that the search does not find the test's own
 * copy.
 */
#define MASK 0xa5

#define PIECE 16 /* length of a search pattern in bytes */

/* True if this address has the bytes of the key, or their hexadecimal digits. */
static bool
is_here(const uint8_t *at, size_t n, const uint8_t *masked, bool digits)
{
	size_t i;

	if (n < (digits ? 2 * PIECE : PIECE))
		return false;
	for (i = 0; i < PIECE; i++) {
		const uint8_t byte = masked[i] ^ MASK;
		const char two[] = {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};

		if (digits ? (at[2 * i] | 0x20) != (two[0] | 0x20) ||
					(at[2 * i + 1] | 0x20) != (two[1] | 0x20)
			   : at[i] != byte)
			return false;
	}
	return true;
}

/* Counts matches that begin in the first `most` bytes of a block of n bytes. */
static unsigned int
count(const uint8_t *bytes, size_t n, size_t most, const uint8_t *masked, bool digits)
{
	const uint8_t byte = masked[0] ^ MASK, *at = bytes, *end = bytes + n;
	const int first = digits ? "0123456789abcdef"[byte >> 4] : byte;
	unsigned int found = 0;

	while ((at = memchr(at, first, end - at)) != NULL && at < bytes + most) {
		found += is_here(at, end - at, masked, digits);
		at++;
	}
	return found;
}

/*
 * True for a sanitizer's shadow memory. Under ASan it is terabytes in one mapping; under TSan, on
 * x86-64, all addresses from 1 to 52 TiB.
 */
static bool
is_shadow(unsigned long from, unsigned long to)
{
#ifdef __SANITIZE_THREAD__
	if (from >= 0x010000000000 && to <= 0x340000000000)
		return true;
#endif
	return to - from > 1ul << 36;
}

/*
 * Counts how often the first bytes of the two AES keys are in the writable memory of the process.
 */
static unsigned int
search(const uint8_t masked[64], bool digits)
{
	enum {
		AT_ONCE = 1 << 20,
		LEN = AT_ONCE + 2 * PIECE
	};
	uint8_t *bytes = env_map(LEN);
	FILE *maps = fopen("/proc/self/maps", "re"), *mem = fopen("/proc/self/mem", "re");
	unsigned long from, to;
	char line[512], mode[5];
	unsigned int found = 0;

	CHECK(maps != NULL && mem != NULL);
	while (fgets(line, sizeof(line), maps) != NULL) {
		CHECK_EQ(sscanf(line, "%lx-%lx %4s", &from, &to, mode), 3);
		/* Skips the buffer that this search uses, and a sanitizer's shadow memory. */
		if (mode[1] != 'w' || from == (uintptr_t)bytes || is_shadow(from, to))
			continue;
		for (; from < to; from += AT_ONCE) {
			ssize_t n = pread(fileno(mem), bytes,
				RTE_MIN((unsigned long)LEN, to - from), (off_t)from);

			if (n > 0)
				found += count(bytes, n, AT_ONCE, masked, digits) +
					 count(bytes, n, AT_ONCE, masked + 32, digits);
		}
	}
	env_unmap(bytes, LEN);
	fclose(maps);
	fclose(mem);
	return found;
}

static void
unmask(const uint8_t masked[64], struct xts *x)
{
	uint32_t i;

	x->key_len = 64;
	for (i = 0; i < 64; i++)
		x->key[i] = masked[i] ^ MASK;
}

/*
 * While a DEK exists, only the device has its bytes: the search finds as many copies as for a DEK
 * that lib/hwq created. So neither the engine nor its log, traces and telemetry answers contain the
 * key. After the DEK is removed, no copy is left.
 */
static void
no_key_is_kept_or_told(void)
{
	struct hwq_dek_conf conf = {.key_size = MLX5DV_CRYPTO_KEY_SIZE_256};
	unsigned int device;
	uint8_t masked[64];
	static struct one o;
	struct hwq_dek dek;
	struct way w;
	struct xts x = {0};
	uint32_t id, i;
	FILE *log;
	char *text;
	size_t len;

	conf.wrapped = xts_is_wrapped();
	log = open_memstream(&text, &len);
	CHECK(log != NULL);
	CHECK_EQ(rte_openlog_stream(log), 0);
	rte_log_set_global_level(RTE_LOG_DEBUG);
	rte_log_set_level_pattern("lib.gantry*", RTE_LOG_DEBUG);
	way_open(&w, GANTRY_TXN_NONE);
	one_open(&o, &w);
	/* A key that no other case uses. */
	env_fill(masked, sizeof(masked), 0x5ec9e7);
	CHECK_EQ(search(masked, false), 0);

	unmask(masked, &x);
	xts_import(&x, NULL, (uint8_t *)conf.key);
	explicit_bzero(&x, sizeof(x));
	CHECK_EQ(hwq_dek_init(g->dev, &conf, &dek), 0);
	explicit_bzero(&conf, sizeof(conf));
	device = search(masked, false);
	/* The adapter is in this process, so the search must find its copies. */
	CHECK(device != 0);
	CHECK_EQ(hwq_dek_fini(&dek), 0);

	unmask(masked, &x);
	CHECK_EQ(dek_add(&x, NULL, &id), 0);
	explicit_bzero(&x, sizeof(x));
	CHECK_EQ(search(masked, false), device);
	/* The adapter makes more copies of the key when it uses the DEK. */
	o.r.t.crypto.dek = id;
	for (i = 0; i < 2; i++)
		CHECK_EQ(run_do(&o.r, &w, i == 0 ? GANTRY_OP_WRITE : GANTRY_OP_READ), GANTRY_OK);
	/* A failed transaction writes its work request to the log. */
	o.r.t.good = (struct gantry_txn_response){0};
	o.r.part.addr = (uintptr_t)there + 3;
	CHECK_EQ(softhca_fault("complete op=1 syndrome=0x04"), 0);
	CHECK_EQ(run_do(&o.r, &w, GANTRY_OP_WRITE), GANTRY_LOCAL_ERROR);
	CHECK_EQ(gantry_dek_retire(g, id, 0), 0);
	CHECK_EQ(search(masked, false), 0);
	CHECK_EQ(search(masked, true), 0);
	fflush(log);
	CHECK(strstr(text, "syndrome 0x04") != NULL, "%s", text);
	CHECK(strstr(text, "lost its DEK") != NULL, "%s", text);
	one_close(&o);
	way_close(&w);
	CHECK_EQ(rte_openlog_stream(NULL), 0);
	fclose(log);
	free(text);
}

int
main(int argc, char **argv)
{
	static const struct check_case without[] = {
		{"a device without encryption refuses DEKs and profiles",
			a_device_without_encryption_refuses_both},
	};
	static const struct check_case cases[] = {
		{"a DEK is refused for each field that is wrong",
			a_dek_is_refused_for_each_field_that_is_wrong},
		{"an engine has a limited number of DEKs", an_engine_has_so_many_deks},
		{"a profile is refused for each field that is wrong",
			a_profile_is_refused_for_each_field_that_is_wrong},
		{"copies encrypt and decrypt", copies_encrypt_and_decrypt},
		{"long transactions gather and scatter", long_ones_gather_and_scatter},
		{"the tweak is one number of 128 bits", tweaks_carry},
		{"memory of one data unit counts with its signatures",
			memory_of_one_data_unit_counts_with_its_signatures},
		{"each order of signature and encryption, in local transactions",
			each_order_of_signature_and_encryption_here},
		{"each order of signature and encryption, to a peer by waiting",
			each_order_of_signature_and_encryption_by_waiting},
		{"each order of signature and encryption, to a peer by pipelining",
			each_order_of_signature_and_encryption_by_pipelining},
		{"wrong bytes are found, in local transactions", wrong_bytes_are_found_here},
		{"wrong bytes are found, to a peer by waiting", wrong_bytes_are_found_by_waiting},
		{"wrong bytes are found, to a peer by pipelining",
			wrong_bytes_are_found_by_pipelining},
		{"a check decrypts", a_check_decrypts},
		{"each rule has its status", each_rule_has_its_status},
		{"keys with and without encryption alternate", keys_of_both_kinds_take_turns},
		{"transactions whose DEK the device does not have fail",
			a_dek_that_the_device_has_not_fails_its_transactions},
		{"a refused command changes nothing", a_refused_command_changes_nothing},
		{"a key is created again if an error of it may be lost",
			a_key_is_made_anew_when_an_error_of_it_may_be_lost},
		{"a keytag must be the DEK's", a_keytag_must_be_the_deks},
		{"a wrapped DEK needs a login", a_wrapped_dek_needs_a_login},
		{"a child is refused", a_child_is_refused},
		{"a login by the owner of the device counts", a_login_of_the_devices_owner_counts},
		{"a retired DEK is still used by transactions in hardware",
			a_retired_dek_serves_what_is_in_the_hardware},
		{"a retired DEK waits for no receive", a_retired_dek_waits_for_no_receive},
		{"a retired DEK waits for no copy", a_retired_dek_waits_for_no_copy},
		{"an owner that makes no calls does not keep a DEK",
			an_owner_that_rests_lets_the_dek_go},
		{"a retired DEK waits for no later transaction",
			a_retired_dek_waits_for_no_later_transaction},
		{"DEKs come and go while lcores run", deks_come_and_go_while_lcores_run},
		{"no key is kept or shown", no_key_is_kept_or_told},
	};
	const char *mode = getenv("SOFTHCA_CRYPTO");
	uint8_t credential[48];
	const struct gantry_login_conf login = {.credential = credential,
		.credential_len = sizeof(credential)};

	env_refuse_fork_init();
	env_init(N_WORKERS);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	gantry_info_get(g, &info);
	here = env_mem(g, AREA_LEN, ENV_REMOTE, &here_mem);
	there = env_mem(g, AREA_LEN, ENV_REMOTE, &there_mem);
	if (mode != NULL)
		CHECK_EQ(info.crypto,
			strcmp(mode, "off") == 0
				? 0
				: GANTRY_CRYPTO_XTS |
					  (strcmp(mode, "wrapped") == 0 ? GANTRY_CRYPTO_WRAPPED
									: 0) |
					  (strcmp(mode, "plaintext_single") == 0
							  ? GANTRY_CRYPTO_SINGLE
							  : 0));
	if (info.crypto == 0) {
		env_run(without, RTE_DIM(without), argc, argv);
	} else {
		if (xts_is_wrapped()) {
			xts_credential(credential);
			CHECK_EQ(gantry_login(g, &login), 0);
		}
		env_run(cases, RTE_DIM(cases), argc, argv);
	}
	/* gantry_destroy() also removes the last DEK and ends the login. */
	if (info.crypto != 0) {
		const struct xts x = xts_of(1, 32);

		dek_of(&x);
	}
	return env_done(g, (struct gantry_mem *const[]){here_mem, there_mem}, 2);
}
