/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effect of keys that encrypt, configured by hwq's setters (hwq_wr_mkey.h) and by its images
 * (hwq_crypto_image.h). Data that are moved through such a key must equal the data that OpenSSL
 * computes for each data unit. The test computes signatures itself, bit by bit.
 *
 * Bytes move through a key in four ways: out of the key or into the key, with the key as the local
 * key of a work request or as the remote key.
 *
 * With SOFTHCA_CRYPTO=wrapped the program logs in, and its DEKs are wrapped. With plaintext_single
 * a key has one data unit.
 */
#include <openssl/evp.h>

#include "hwq_crypto_image.h"
#include "hwq_dek.h"
#include "hwq_emu.h"
#include "hwq_login.h"
#include "hwq_mkey_check.h"
#include "hwq_mr.h"
#include "hwq_wr_mkey.h"
#include "softhca_wrap.h"

#define MAX_LEN 16640 /* four data units of 4160 bytes */
#define FAR     (128u * 1024)
#define MEM_LEN (256u * 1024)
#define BLOCK   512u /* bytes of data in a block with a signature */
#define ACCESS  (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

static struct hwq_dev *dev;
static struct twin twin;
static struct hwq_mr mr;
/* [0] for keys that cannot sign, [1] for keys that can sign */
static struct hwq_mkey_pool *pools[2];
static struct hwq_mkey *mkeys[2];
static uint8_t *mem; /* memory of the keys; from FAR on, memory of the peer */
static uint64_t rnd = 12;

static unsigned int
draw(unsigned int n)
{
	return (unsigned int)(check_random(&rnd) % n);
}

static bool
is_single(void)
{
	return (dev->caps.crypto_engines & MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK) == 0;
}

/* ------------------------------------------------------------------ expected bytes */

static const struct {
	enum mlx5dv_block_size size;
	uint32_t len;
} units[] = {
	{MLX5DV_BLOCK_SIZE_512, 512},
	{MLX5DV_BLOCK_SIZE_520, 520},
	{MLX5DV_BLOCK_SIZE_4048, 4048},
	{MLX5DV_BLOCK_SIZE_4096, 4096},
	{MLX5DV_BLOCK_SIZE_4160, 4160},
};

#define N_UNITS (sizeof(units) / sizeof(units[0]))

struct secret {
	bool key_256;
	uint8_t key[64];
	uint8_t tweak[16]; /* tweak of the first data unit, little endian */
};

static void
secret_draw(struct secret *s, bool key_256)
{
	unsigned int kind = draw(4);

	s->key_256 = key_256;
	for (size_t i = 0; i < sizeof(s->key); i++)
		s->key[i] = (uint8_t)check_random(&rnd);
	/*
	 * Kinds of tweaks: 0; a tweak that carries into the high half at the second data unit; a
	 * tweak that wraps to 0 there; any tweak.
	 */
	for (size_t i = 0; i < sizeof(s->tweak); i++)
		s->tweak[i] = kind == 0   ? 0
			      : kind == 1 ? (uint8_t)(i < 8 ? 0xff : i)
			      : kind == 2 ? 0xff
					  : (uint8_t)check_random(&rnd);
}

/* Encrypts or decrypts data units; the first data unit has number `first`. */
static void
cipher(const struct secret *s, bool encrypt, uint64_t first, uint32_t unit, const uint8_t *in,
	uint8_t *out, uint32_t len)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();

	for (uint32_t at = 0; at < len; at += unit) {
		const int n = (int)(len - at < unit ? len - at : unit);
		uint64_t more = first + at / unit;
		uint8_t tweak[16];
		int did;

		for (unsigned int i = 0; i < 16; i++, more >>= 8) {
			more += s->tweak[i];
			tweak[i] = (uint8_t)more;
		}
		CHECK(EVP_CipherInit_ex(ctx, s->key_256 ? EVP_aes_256_xts() : EVP_aes_128_xts(),
			      NULL, s->key, tweak, encrypt) == 1 &&
				EVP_CipherUpdate(ctx, out + at, &did, in + at, n) == 1 && did == n,
			"OpenSSL");
	}
	EVP_CIPHER_CTX_free(ctx);
}

enum sig_kind {
	NONE,
	DIF,   /* T10-DIF with a CRC as guard */
	CRC32C /* CRC-32C that starts with all ones */
};

#define APP_TAG 0xabcdu
#define REF_TAG 0x01234567u

static uint32_t
signature_len(enum sig_kind kind)
{
	return kind == NONE ? 0 : kind == DIF ? 8 : 4;
}

static uint16_t
crc_t10dif(const uint8_t *p, size_t len)
{
	uint16_t crc = 0;

	for (; len != 0; len--) {
		crc ^= (uint16_t)(*p++ << 8);
		for (int b = 0; b < 8; b++)
			crc = (uint16_t)(crc << 1 ^ (crc & 0x8000 ? 0x8bb7 : 0));
	}
	return crc;
}

static uint32_t
crc_32c(const uint8_t *p, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (; len != 0; len--) {
		crc ^= *p++;
		for (int b = 0; b < 8; b++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* Checks the published check values of both CRCs. */
static void
signatures_are_right(void)
{
	CHECK_EQ(crc_t10dif((const uint8_t *)"123456789", 9), 0xd0db, "CRC-16/T10-DIF");
	CHECK_EQ(crc_32c((const uint8_t *)"123456789", 9), 0xe3069283, "CRC-32C");
}

/* Writes blocks, each followed by its signature. Returns the number of bytes. */
static uint32_t
sign(enum sig_kind kind, const uint8_t *data, uint32_t len, uint8_t *out)
{
	const uint8_t *start = out;

	for (uint32_t i = 0; i < len / BLOCK; i++) {
		const uint8_t *block = data + i * BLOCK;
		uint16_t dif[2] = {htobe16(crc_t10dif(block, BLOCK)), htobe16(APP_TAG)};
		uint32_t ref = htobe32(REF_TAG + i), crc = htole32(crc_32c(block, BLOCK));

		memcpy(out, block, BLOCK);
		out += BLOCK;
		if (kind == CRC32C)
			memcpy(out, &crc, 4);
		if (kind == DIF) {
			memcpy(out, dif, 4);
			memcpy(out + 4, &ref, 4);
		}
		out += signature_len(kind);
	}
	return (uint32_t)(out - start);
}

/* ------------------------------------------------------------------ DEKs */

static int
dek_make(struct hwq_dev *of, const struct secret *s, const char *keytag, struct hwq_dek *dek)
{
	struct hwq_dek_conf conf = {.key_size = s->key_256 ? MLX5DV_CRYPTO_KEY_SIZE_256
							   : MLX5DV_CRYPTO_KEY_SIZE_128,
		.has_keytag = keytag != NULL,
		.wrapped = wrap_is_on()};
	size_t len = s->key_256 ? 64 : 32;
	uint8_t key[64 + 8];

	memcpy(key, s->key, len);
	if (keytag != NULL)
		memcpy(key + len, keytag, 8);
	if (wrap_is_on())
		wrap_key(key, len + (keytag != NULL ? 8 : 0), (uint8_t *)conf.key);
	else
		memcpy(conf.key, key, sizeof(key));
	return hwq_dek_init(of, &conf, dek);
}

static struct hwq_dek
dek_of(const struct secret *s, const char *keytag)
{
	struct hwq_dek dek = {0};

	CHECK_EQ(dek_make(dev, s, keytag, &dek), 0, "a DEK");
	return dek;
}

/* ------------------------------------------------------------------ keys */

/* The configuration of a key. */
struct plan {
	uint32_t len;    /* bytes of memory */
	uint32_t rounds; /* 0: a list; otherwise the number of rounds of a pattern */
	bool by_image;
	bool with_sig;                           /* the key can sign */
	const struct mlx5dv_sig_block_attr *sig; /* NULL: no signatures */
	struct hwq_crypto_attr crypto;
};

static struct hwq_crypto_attr
crypto_of(const struct secret *s, const struct hwq_dek *dek, bool tx, unsigned int unit)
{
	struct hwq_crypto_attr attr = {.encrypt_on_tx = tx,
		.signature_crypto_order = draw(2),
		.data_unit_size = units[unit].size,
		.dek = dek->id};

	memcpy(attr.initial_tweak, s->tweak, sizeof(s->tweak));
	return attr;
}

/* A list has three pieces, all at unaligned offsets; a pattern has two entries in each round. */
#define PIECE_AT(i) (7u + (i)*32768u)

static void
layout(const struct plan *p, struct hwq_sge sge[3], struct mlx5dv_mr_interleaved data[2])
{
	uint32_t cut = p->len / 3 + 1;

	for (unsigned int i = 0; i < 3; i++)
		sge[i] = (struct hwq_sge){(uintptr_t)mem + PIECE_AT(i),
			i < 2 ? cut : p->len - 2 * cut, mr.lkey};
	if (p->rounds == 0)
		return;
	cut = p->len / p->rounds;
	data[0] = (struct mlx5dv_mr_interleaved){(uintptr_t)mem + PIECE_AT(0), cut - 9, 5, mr.lkey};
	data[1] = (struct mlx5dv_mr_interleaved){(uintptr_t)mem + PIECE_AT(1), 9, 3, mr.lkey};
}

/* Returns the address of byte `at` of the key. */
static uint8_t *
place(const struct plan *p, uint32_t at)
{
	uint32_t cut = p->len / 3 + 1, round, in;

	if (p->rounds == 0)
		return mem + PIECE_AT(at / cut) + at % cut;
	cut = p->len / p->rounds;
	round = at / cut;
	in = at % cut;
	return in < cut - 9 ? mem + PIECE_AT(0) + round * (cut - 4) + in
			    : mem + PIECE_AT(1) + round * 12 + in - (cut - 9);
}

static int
wait_one(void)
{
	struct hwq_cqe rec;

	do {
		if (!emu_wait(twin.cq, &rec))
			EMU_DIE("work did not complete");
		if (rec.opcode == MLX5_CQE_SIG_ERR)
			CHECK_EQ(hwq_mkey_note_err(twin.domain, &rec), 0, "a signature error");
	} while (rec.opcode == MLX5_CQE_SIG_ERR);
	hwq_sq_complete(&twin.qp->sq, rec.wqe_counter);
	if (rec.syndrome == 0)
		return IBV_WC_SUCCESS;
	CHECK_EQ(hwq_qp_reset(twin.qp), 0, "reset");
	twin_connect_self(&twin);
	return hwq_syndrome_status(rec.syndrome);
}

static struct hwq_sig_tags
tags_of(const struct mlx5dv_sig_block_domain *d)
{
	if (d == NULL || d->sig_type == MLX5DV_SIG_TYPE_CRC)
		return (struct hwq_sig_tags){.seed_ones = d != NULL};
	return (struct hwq_sig_tags){.ref_tag = REF_TAG, .app_tag = APP_TAG};
}

static void
post_image(const struct plan *p, struct hwq_mkey *mkey)
{
	const struct mlx5dv_sig_block_attr off = {0};
	const struct mlx5dv_sig_block_attr *sig = p->sig != NULL ? p->sig : &off;
	struct hwq_sig_tags mem_tags = tags_of(sig->mem), wire_tags = tags_of(sig->wire);
	struct hwq_crypto_start start = {.dek = p->crypto.dek};
	struct mlx5dv_mr_interleaved data[2];
	struct hwq_crypto_image image;
	struct hwq_sge sge[3];

	layout(p, sge, data);
	memcpy(start.initial_tweak, p->crypto.initial_tweak, sizeof(start.initial_tweak));
	memcpy(start.keytag, p->crypto.keytag, sizeof(start.keytag));
	if (hwq_crypto_image_init(&image, hwq_dev_caps(dev), ACCESS, p->with_sig ? sig : NULL,
		    &p->crypto) != 0)
		EMU_DIE("an image");
	if (p->rounds == 0)
		CHECK(hwq_wqe_crypto_list(&twin.qp->sq, mkey, &image, 3, sge, &mem_tags, &wire_tags,
			      &start, HWQ_WQE_SIGNALED) > 0,
			"posting an image");
	else
		CHECK(hwq_wqe_crypto_pattern(&twin.qp->sq, mkey, &image, p->rounds, 2, data,
			      &mem_tags, &wire_tags, &start, HWQ_WQE_SIGNALED) > 0,
			"posting an image");
	hwq_sq_ring(&twin.qp->sq);
}

static int
post_setters(const struct plan *p, struct hwq_mkey *mkey)
{
	const struct mlx5dv_mkey_conf_attr conf = {
		.conf_flags = p->sig == NULL ? MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR : 0};
	struct mlx5dv_mr_interleaved data[2];
	struct hwq_sge sge[3];
	struct hwq_wr wr;

	layout(p, sge, data);
	hwq_wr_start(&wr, &twin.qp->sq);
	wr.wr_flags = HWQ_WQE_INLINE | HWQ_WQE_SIGNALED;
	hwq_wr_mkey_configure(&wr, mkey, p->sig != NULL ? 4 : 3, &conf);
	hwq_wr_set_mkey_access_flags(&wr, ACCESS);
	if (p->sig != NULL)
		hwq_wr_set_mkey_sig_block(&wr, p->sig);
	hwq_wr_set_mkey_crypto(&wr, &p->crypto);
	if (p->rounds == 0)
		hwq_wr_set_mkey_layout_list(&wr, 3, sge);
	else
		hwq_wr_set_mkey_layout_interleaved(&wr, p->rounds, 2, data);
	return hwq_wr_complete(&wr);
}

static void
configure(const struct plan *p)
{
	struct hwq_mkey *mkey = mkeys[p->with_sig];

	if (p->by_image)
		post_image(p, mkey);
	else
		CHECK_EQ(post_setters(p, mkey), 0, "a configuration");
	CHECK_EQ(wait_one(), IBV_WC_SUCCESS, "a configuration's status");
}

/* ------------------------------------------------------------------ through a key */

enum way {
	LOCAL_OUT,
	LOCAL_IN,
	REMOTE_OUT,
	REMOTE_IN,
	WAYS
};

static bool
is_out(enum way way)
{
	return way == LOCAL_OUT || way == REMOTE_OUT;
}

/*
 * Moves len bytes between the key, from offset `off` on, and the memory at FAR. Returns the status.
 */
static int
move(const struct plan *p, enum way way, uint32_t off, uint32_t len)
{
	const struct hwq_mkey *mkey = mkeys[p->with_sig];
	uint64_t far = (uintptr_t)mem + FAR;
	struct hwq_sq *sq = &twin.qp->sq;
	int ret;

	switch (way) {
	case LOCAL_OUT:
		ret = hwq_wqe_rdma_write(sq, mr.rkey, far, mkey->lkey, off, len, HWQ_WQE_SIGNALED);
		break;
	case LOCAL_IN:
		ret = hwq_wqe_rdma_read(sq, mr.rkey, far, mkey->lkey, off, len, HWQ_WQE_SIGNALED);
		break;
	case REMOTE_OUT:
		ret = hwq_wqe_rdma_read(sq, mkey->rkey, off, mr.lkey, far, len, HWQ_WQE_SIGNALED);
		break;
	default:
		ret = hwq_wqe_rdma_write(sq, mkey->rkey, off, mr.lkey, far, len, HWQ_WQE_SIGNALED);
		break;
	}
	CHECK(ret > 0, "posting: %d", ret);
	hwq_sq_ring(sq);
	return wait_one();
}

/* Fills memory, and writes the data to the memory that the transfer reads. */
static void
prepare(const struct plan *p, enum way way, const uint8_t *bytes, uint32_t len)
{
	memset(mem, 0x11, FAR);
	memset(mem + FAR, 0x22, MEM_LEN - FAR);
	if (!is_out(way))
		memcpy(mem + FAR, bytes, len);
	for (uint32_t i = 0; is_out(way) && i < len; i++)
		*place(p, i) = bytes[i];
}

/*
 * Checks that the memory that the transfer writes has these bytes, from offset `off` in the key on,
 * and that no byte outside changed.
 */
static void
arrived(const struct plan *p, enum way way, uint32_t off, const uint8_t *bytes, uint32_t len,
	const char *what)
{
	static uint8_t want[MEM_LEN];
	const uint8_t *at = is_out(way) ? mem + FAR : mem;
	size_t n = is_out(way) ? MEM_LEN - FAR : FAR;

	memset(want, is_out(way) ? 0x22 : 0x11, n);
	for (uint32_t i = 0; i < len; i++)
		want[is_out(way) ? i : (size_t)(place(p, off + i) - mem)] = bytes[i];
	CHECK(memcmp(at, want, n) == 0, "%s, way %d, %s, %s: other bytes", what, way,
		p->by_image ? "by image" : "by setters", p->rounds != 0 ? "pattern" : "list");
}

/*
 * Configures the key for each way, and moves data through it. wire_alone: only the ways with the
 * key as the remote key are tested.
 */
static void
pass(struct plan *p, const uint8_t *memory, const uint8_t *wire, uint32_t wire_len, bool wire_alone,
	const char *what)
{
	for (enum way way = wire_alone ? REMOTE_OUT : LOCAL_OUT; way < WAYS; way++) {
		p->by_image = draw(2);
		configure(p);
		prepare(p, way, is_out(way) ? memory : wire, is_out(way) ? p->len : wire_len);
		CHECK_EQ(move(p, way, 0, way >= REMOTE_OUT ? wire_len : p->len), IBV_WC_SUCCESS,
			what);
		arrived(p, way, 0, is_out(way) ? wire : memory, is_out(way) ? wire_len : p->len,
			what);
	}
}

/* ------------------------------------------------------------------ encryption alone */

/*
 * Data must be encrypted and decrypted correctly with every size of data unit and of key, with and
 * without keytag, in one data unit and in several, by keys that can sign and by keys that cannot.
 */
static void
all_units(void)
{
	static uint8_t data[MAX_LEN], secret[MAX_LEN];

	for (unsigned int i = 0; i < N_UNITS * 32; i++) {
		const unsigned int unit = i / 32, n = is_single() ? 1 : 1 + draw(4);
		const bool tx = i & 2, tag = i & 4;
		struct plan p = {.len = n * units[unit].len,
			.rounds = i & 8 ? n : 0,
			.with_sig = i & 16};
		struct hwq_dek dek;
		struct secret s;

		secret_draw(&s, i & 1);
		dek = dek_of(&s, tag ? "the tag!" : NULL);
		p.crypto = crypto_of(&s, &dek, tx, unit);
		if (tag)
			memcpy(p.crypto.keytag, "the tag!", 8);
		for (uint32_t k = 0; k < p.len; k++)
			data[k] = (uint8_t)check_random(&rnd);
		cipher(&s, true, 0, units[unit].len, data, secret, p.len);
		pass(&p, tx ? data : secret, tx ? secret : data, p.len, false, "a unit");
		CHECK_EQ(hwq_dek_fini(&dek), 0, "the end of a DEK");
	}
}

/* Messages that start inside a key: the tweak must count from the key's first byte. */
static void
later_units(void)
{
	static uint8_t data[4 * 520], secret[4 * 520];
	struct plan p = {.len = 4 * 520, .by_image = true};
	struct hwq_dek dek;
	struct secret s;

	if (is_single())
		return;
	secret_draw(&s, true);
	dek = dek_of(&s, NULL);
	p.crypto = crypto_of(&s, &dek, true, 1);
	for (uint32_t k = 0; k < p.len; k++)
		data[k] = (uint8_t)check_random(&rnd);
	cipher(&s, true, 0, 520, data, secret, p.len);
	configure(&p);
	prepare(&p, LOCAL_OUT, data, p.len);
	CHECK_EQ(move(&p, LOCAL_OUT, 520, 2 * 520), IBV_WC_SUCCESS, "two units in the middle");
	arrived(&p, LOCAL_OUT, 520, secret + 520, 2 * 520, "units in the middle");
	prepare(&p, REMOTE_IN, secret + 3 * 520, 520);
	CHECK_EQ(move(&p, REMOTE_IN, 3 * 520, 520), IBV_WC_SUCCESS, "the last unit");
	arrived(&p, REMOTE_IN, 3 * 520, data + 3 * 520, 520, "the last unit");
	CHECK_EQ(hwq_dek_fini(&dek), 0, "the end of a DEK");
}

static int
refusal(enum way way)
{
	return way < REMOTE_OUT ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR;
}

/*
 * Messages must be possible with exactly the lengths that mlx5dv_wr_set_mkey_crypto(3), NOTES,
 * allows. The examples of the manual page come first.
 */
static void
lengths(void)
{
	static const struct {
		unsigned int unit;
		uint32_t len;
		bool good;
	} rows[] = {{0, 512, true}, {0, 128, true}, {0, 47, false}, {1, 520, true}, {1, 496, true},
		{1, 512, false}, {0, 496, true}, {0, 504, false}, {1, 8, false}, {3, 4080, true},
		{3, 4088, false}};
	static uint8_t data[MAX_LEN], secret[MAX_LEN];
	struct hwq_dek dek;
	struct secret s;

	secret_draw(&s, false);
	dek = dek_of(&s, NULL);
	for (uint32_t k = 0; k < sizeof(data); k++)
		data[k] = (uint8_t)check_random(&rnd);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]) * WAYS; i++) {
		enum way way = i % WAYS;
		uint32_t unit = units[rows[i / WAYS].unit].len, len = rows[i / WAYS].len;
		struct plan p = {.len = unit, .by_image = draw(2)};

		p.crypto = crypto_of(&s, &dek, is_out(way), rows[i / WAYS].unit);
		configure(&p);
		prepare(&p, way, data, len);
		/*
		 * The configuration encrypts data in both directions: out of the key and into the
		 * key.
		 */
		if (rows[i / WAYS].good)
			cipher(&s, true, 0, unit, data, secret, len);
		CHECK_EQ(move(&p, way, 0, len), rows[i / WAYS].good ? IBV_WC_SUCCESS : refusal(way),
			"a length");
		arrived(&p, way, 0, secret, rows[i / WAYS].good ? len : 0, "a length");
	}
	CHECK_EQ(hwq_dek_fini(&dek), 0, "the end of a DEK");
}

/* ------------------------------------------------------------------ DEKs that do not fit */

/* Checks that no data pass through the key, in any way. */
static void
nothing_passes(const struct plan *p, const char *what)
{
	static const uint8_t data[512] = {1};

	for (enum way way = LOCAL_OUT; way < WAYS; way++) {
		prepare(p, way, data, p->len);
		CHECK_EQ(move(p, way, 0, p->len), refusal(way), what);
		arrived(p, way, 0, data, 0, what);
	}
}

static void
one_unit_passes(struct plan *p, const struct secret *s, const struct hwq_dek *dek)
{
	static uint8_t data[512], secret[512];

	p->crypto.dek = dek->id;
	cipher(s, true, 0, 512, data, secret, 512);
	pass(p, data, secret, 512, false, "another DEK");
}

static void
wrong_deks(bool by_image)
{
	struct plan p = {.len = 512, .by_image = by_image};
	struct hwq_dek dek, tagged, other;
	struct hwq_dev *other_dev;
	struct secret s;

	secret_draw(&s, true);
	dek = dek_of(&s, NULL);
	tagged = dek_of(&s, "the tag!");
	p.crypto = crypto_of(&s, &dek, true, 0);
	/*
	 * The DEK is destroyed while the key uses it; then the key is configured with this DEK
	 * again.
	 */
	configure(&p);
	CHECK_EQ(hwq_dek_fini(&dek), 0, "the end of a DEK");
	nothing_passes(&p, "a destroyed DEK");
	configure(&p);
	nothing_passes(&p, "a DEK that is gone");
	/* A DEK with another keytag than that of the key's attributes: no data may pass. */
	p.crypto.dek = tagged.id;
	memcpy(p.crypto.keytag, "the tag?", 8);
	configure(&p);
	nothing_passes(&p, "another keytag");
	/* A DEK of another protection domain of the same context: no data may pass. */
	CHECK_EQ(hwq_dev_open_on(dev->ctx, NULL, &other_dev), 0, "another PD");
	CHECK_EQ(dek_make(other_dev, &s, NULL, &other), 0, "a DEK of another PD");
	p.crypto.dek = other.id;
	configure(&p);
	nothing_passes(&p, "a DEK of another PD");
	CHECK_EQ(hwq_dek_fini(&other), 0, "the end of a DEK");
	CHECK_EQ(hwq_dev_close(other_dev), 0, "closing the other PD");
	/* Afterwards the key works. */
	memcpy(p.crypto.keytag, "the tag!", 8);
	one_unit_passes(&p, &s, &tagged);
	CHECK_EQ(hwq_dek_fini(&tagged), 0, "the end of a DEK");
}

/* No data may pass through a key for encryption that has a layout, but no encryption configured. */
static void
not_configured(void)
{
	const struct mlx5dv_mkey_conf_attr conf = {0};
	struct hwq_mkey_pool *pool;
	struct hwq_mkey_conf of_one = {.n = 1, .max_entries = 4, .flags = HWQ_MKEY_CRYPTO};
	struct hwq_mkey *fresh, *kept = mkeys[0];
	struct mlx5dv_mr_interleaved data[2];
	struct plan p = {.len = 512};
	struct hwq_sge sge[3];
	struct hwq_wr wr;

	CHECK_EQ(hwq_mkey_pool_create(twin.domain, &of_one, &pool), 0, "a pool");
	fresh = hwq_mkey_get(pool);
	layout(&p, sge, data);
	hwq_wr_start(&wr, &twin.qp->sq);
	wr.wr_flags = HWQ_WQE_INLINE | HWQ_WQE_SIGNALED;
	hwq_wr_mkey_configure(&wr, fresh, 2, &conf);
	hwq_wr_set_mkey_access_flags(&wr, ACCESS);
	hwq_wr_set_mkey_layout_list(&wr, 3, sge);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "a layout");
	CHECK_EQ(wait_one(), IBV_WC_SUCCESS, "a layout's status");
	mkeys[0] = fresh;
	nothing_passes(&p, "a key without its crypto setter");
	mkeys[0] = kept;
	hwq_mkey_put(fresh);
	CHECK_EQ(hwq_mkey_pool_destroy(pool), 0, "the pool's end");
}

/* ------------------------------------------------------------------ with signatures */

/* A row of the table in mlx5dv_wr_set_mkey_crypto(3). */
struct row {
	char name;
	enum sig_kind mem, wire;
	bool mem_encrypted; /* true: data in memory are encrypted; false: data on the wire */
	/* the signature is computed from the ciphertext, and is not encrypted */
	bool over_ciphertext;
	bool tx, before;
};

static const struct row rows[] = {
	{'B', NONE, DIF, false, true, true, false},
	{'C', NONE, DIF, false, false, true, true},
	{'D', DIF, NONE, false, false, true, true},
	{'E', CRC32C, DIF, false, false, true, true},
	{'G', NONE, DIF, true, false, false, false},
	{'H', DIF, NONE, true, false, false, false},
	{'I', DIF, CRC32C, true, false, false, false},
	{'J', DIF, NONE, true, true, false, true},
};

/* Writes the expected bytes of memory or of the wire. */
static uint32_t
side(const struct secret *s, enum sig_kind kind, bool encrypted, bool over_ciphertext,
	uint32_t unit, const uint8_t *data, uint32_t len, uint8_t *out)
{
	static uint8_t clear[MAX_LEN];
	uint32_t n;

	memcpy(clear, data, len);
	if (encrypted && over_ciphertext)
		cipher(s, true, 0, unit, data, clear, len);
	n = sign(kind, clear, len, out);
	if (encrypted && !over_ciphertext)
		cipher(s, true, 0, unit, out, out, n);
	return n;
}

static void
pass_row(const struct row *row, bool key_256)
{
	const bool dif_encrypted =
		!row->over_ciphertext && (row->mem_encrypted ? row->mem : row->wire) != NONE;
	const unsigned int unit = dif_encrypted ? 1 : 0;
	const uint32_t len = is_single() ? BLOCK : 8 * BLOCK;
	struct mlx5dv_sig_t10dif dif = {.bg_type = MLX5DV_SIG_T10DIF_CRC,
		.app_tag = APP_TAG,
		.ref_tag = REF_TAG,
		.flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP};
	struct mlx5dv_sig_crc crc = {.type = MLX5DV_SIG_CRC_TYPE_CRC32C, .seed = UINT32_MAX};
	struct mlx5dv_sig_block_domain kinds[] = {[DIF] = {.sig_type = MLX5DV_SIG_TYPE_T10DIF,
							  .sig.dif = &dif},
		[CRC32C] = {.sig_type = MLX5DV_SIG_TYPE_CRC, .sig.crc = &crc}};
	const struct mlx5dv_sig_block_attr sig = {.mem = row->mem != NONE ? &kinds[row->mem] : NULL,
		.wire = row->wire != NONE ? &kinds[row->wire] : NULL,
		.check_mask = 0xff};
	static uint8_t data[MAX_LEN], memory[MAX_LEN], wire[MAX_LEN];
	struct plan p = {.with_sig = true, .sig = &sig, .rounds = draw(2) ? len / BLOCK : 0};
	char what[] = "row  ";
	struct mlx5dv_mkey_err err;
	struct hwq_dek dek;
	struct secret s;
	uint32_t wire_len;

	what[4] = row->name;
	secret_draw(&s, key_256);
	dek = dek_of(&s, NULL);
	for (uint32_t k = 0; k < len; k++)
		data[k] = (uint8_t)check_random(&rnd);
	p.len = side(&s, row->mem, row->mem_encrypted, row->over_ciphertext, units[unit].len, data,
		len, memory);
	wire_len = side(&s, row->wire, !row->mem_encrypted, row->over_ciphertext, units[unit].len,
		data, len, wire);
	p.crypto = crypto_of(&s, &dek, row->tx, unit);
	p.crypto.signature_crypto_order =
		row->before ? MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX
			    : MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX;
	/*
	 * Lengths of local keys with signatures are assumptions of the adapter:
	 * doc/softhca-assumptions.md.
	 */
	pass(&p, memory, wire, wire_len, true, what);
	CHECK_EQ(hwq_mkey_check(mkeys[1], &err), 0, "the check");
	CHECK_EQ(err.err_type, MLX5DV_MKEY_NO_ERR, what);
	/* A wrong byte in the domain with a signature must be reported. */
	p.by_image = draw(2);
	configure(&p);
	memory[100] ^= row->mem != NONE;
	wire[100] ^= row->mem == NONE;
	prepare(&p, row->mem != NONE ? REMOTE_OUT : REMOTE_IN, row->mem != NONE ? memory : wire,
		row->mem != NONE ? p.len : wire_len);
	CHECK_EQ(move(&p, row->mem != NONE ? REMOTE_OUT : REMOTE_IN, 0, wire_len), IBV_WC_SUCCESS,
		what);
	CHECK_EQ(hwq_mkey_check(mkeys[1], &err), 0, "the check");
	CHECK_EQ(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD, what);
	CHECK_EQ(hwq_dek_fini(&dek), 0, "the end of a DEK");
}

static void
all_rows(void)
{
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]) * 4; i++) {
		const struct row *row = &rows[i / 4];

		/*
		 * Rows with these signatures in memory are left out if the device encrypts only
		 * single data units, because the key is then longer than one data unit.
		 */
		if (is_single() && row->mem != NONE &&
			(!row->mem_encrypted || row->over_ciphertext))
			continue;
		pass_row(row, i & 1);
	}
}

/* ------------------------------------------------------------------ the program */

static void
keys_open(void)
{
	struct hwq_mkey_conf conf = {.n = 1, .max_entries = 4};

	for (unsigned int i = 0; i < 2; i++) {
		conf.flags = HWQ_MKEY_CRYPTO | (i != 0 ? HWQ_MKEY_SIG : 0);
		CHECK_EQ(hwq_mkey_pool_create(twin.domain, &conf, &pools[i]), 0, "a key");
		mkeys[i] = hwq_mkey_get(pools[i]);
	}
}

static void
keys_close(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		hwq_mkey_put(mkeys[i]);
		CHECK_EQ(hwq_mkey_pool_destroy(pools[i]), 0, "the end of a key");
	}
}

static void
log_in(struct hwq_login *login)
{
	struct mlx5dv_crypto_login_attr credential;
	struct mlx5dv_crypto_login_attr_ex attr = {.credential = credential.credential,
		.credential_len = sizeof(credential.credential)};

	if (!wrap_is_on())
		return;
	credential = wrap_login_attr();
	CHECK_EQ(hwq_login_init(dev, &attr, login), 0, "logging in");
}

int
main(int argc, char **argv)
{
	const struct hwq_qp_conf conf = {.sq_wr = 64,
		.max_sge = 1,
		.max_inline = 316,
		.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE,
		.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ};
	struct hwq_login login;

	(void)argc;
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	dev = emu_open();
	twin_create(dev, &conf, &twin);
	twin_connect_self(&twin);
	mem = aligned_alloc(4096, MEM_LEN);
	CHECK_EQ(hwq_mr_register(dev, mem, MEM_LEN,
			 HWQ_ACCESS_LOCAL_WRITE | HWQ_ACCESS_REMOTE_WRITE | HWQ_ACCESS_REMOTE_READ,
			 &mr),
		0, "memory");
	log_in(&login);
	keys_open();
	RUN("the expected signatures are right", signatures_are_right());
	RUN("data are encrypted right with all units, keys, directions and keytags, in all ways",
		all_units());
	RUN("a message inside a key has the tweak of its place", later_units());
	RUN("messages have exactly the lengths that the manual page allows", lengths());
	RUN("a DEK that does not fit encrypts nothing, by setters", wrong_deks(false));
	RUN("a DEK that does not fit encrypts nothing, by images", wrong_deks(true));
	RUN("no data pass a key without its crypto setter", not_configured());
	RUN("data are right for every row of the manual page's table", all_rows());
	keys_close();
	if (wrap_is_on())
		CHECK_EQ(hwq_login_fini(&login), 0, "logging out");
	CHECK_EQ(hwq_mr_deregister(&mr), 0, "memory's end");
	free(mem);
	twin_destroy(&twin);
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
