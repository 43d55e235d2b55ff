/* SPDX-License-Identifier: BSD-3-Clause */
/* Assumptions about keys that encrypt by AES-XTS. OpenSSL computes the expected bytes. */
#include <openssl/evp.h>

#include "probe_work.h"
#include "softhca_signature.h"

#define UNIT_520 520
#define UNIT     512
#define UNITS    4
#define KEY_LEN  64 /* AES-256: two keys of 32 bytes */
#define KEYTAG   8

/* Two QPs, a DEK, and a key of the client that encrypts the data that are sent. */
struct crypto_pair {
	struct pair p;
	struct mlx5dv_dek *dek;
	struct mlx5dv_mkey *mkey;
	uint8_t key[KEY_LEN], tweak[16]; /* tweak of the first data unit, little-endian */
};

static struct mlx5dv_dek *
dek_create(struct ibv_pd *pd, const uint8_t *key)
{
	/* The DEK is in plaintext, so no login is needed. */
	struct mlx5dv_dek_init_attr attr = {.comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN,
		.key_size = MLX5DV_CRYPTO_KEY_SIZE_256,
		.key_purpose = MLX5DV_CRYPTO_KEY_PURPOSE_AES_XTS,
		.pd = pd};

	memcpy(attr.key, key, KEY_LEN);
	return mlx5dv_dek_create(pd->context, &attr);
}

static struct mlx5dv_mkey *
key_create(struct ibv_pd *pd, bool signs)
{
	struct mlx5dv_mkey_init_attr attr = {.pd = pd,
		.max_entries = 4,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO |
				(signs ? MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE : 0)};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);

	CHECK(mkey != NULL);
	return mkey;
}

/*
 * If this device cannot encrypt several data units, or does not accept plaintext DEKs, stores the
 * answer and returns false.
 */
static bool
open_crypto(struct probe_answer *a, struct crypto_pair *c, bool signs)
{
	struct mlx5dv_context caps = {.comp_mask = MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD};

	pair_init(&c->p, &(struct pair_opts){.keys = true});
	CHECK_EQ(mlx5dv_query_device(c->p.ctx, &caps), 0);
	if ((caps.crypto_caps.crypto_engines & MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK) ==
		0) {
		probe_cannot(a, "this device has no AES-XTS over several data units.");
		return false;
	}
	for (unsigned int i = 0; i < KEY_LEN; i++)
		c->key[i] = (uint8_t)(i * 7 + 3);
	memset(c->tweak, 0, sizeof(c->tweak));
	c->tweak[0] = 5;
	c->dek = dek_create(c->p.pd, c->key);
	if (c->dek == NULL) {
		probe_cannot(a, "this device takes no DEK in plaintext: %s.", strerror(errno));
		return false;
	}
	c->mkey = key_create(c->p.pd, signs);
	for (unsigned int i = 0; i < PAIR_BUF; i++)
		c->p.client.buf[i] = (uint8_t)(i * 13 + i / 100);
	return true;
}

/*
 * Configures the key with this encryption, and with these signatures unless sig is NULL. If crypto
 * is NULL, only signatures are configured.
 */
static enum ibv_wc_status
configure(struct crypto_pair *c, uint32_t len, const struct mlx5dv_crypto_attr *crypto,
	const struct mlx5dv_sig_block_attr *sig)
{
	const struct ibv_sge sge = {(uintptr_t)c->p.client.buf, len, c->p.client.mr->lkey};
	struct pair_end *e = &c->p.client;
	struct mlx5dv_mkey_conf_attr conf = {0};

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(e->dvx, c->mkey, 2 + (crypto != NULL) + (sig != NULL), &conf);
	mlx5dv_wr_set_mkey_access_flags(e->dvx, PAIR_ALL);
	mlx5dv_wr_set_mkey_layout_list(e->dvx, 1, &sge);
	if (sig != NULL)
		mlx5dv_wr_set_mkey_sig_block(e->dvx, sig);
	if (crypto != NULL)
		mlx5dv_wr_set_mkey_crypto(e->dvx, crypto);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	return pair_wait(e).status;
}

static struct mlx5dv_crypto_attr
crypto_of(const struct crypto_pair *c, enum mlx5dv_block_size unit)
{
	struct mlx5dv_crypto_attr attr = {.crypto_standard = MLX5DV_CRYPTO_STANDARD_AES_XTS,
		.encrypt_on_tx = true,
		.data_unit_size = unit,
		.dek = c->dek};

	memcpy(attr.initial_tweak, c->tweak, sizeof(c->tweak));
	return attr;
}

static enum ibv_wc_status
send_encrypted(struct crypto_pair *c, uint64_t at, uint32_t len)
{
	struct pair_end *e = &c->p.client;

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(e->qpx, c->p.server.mr->rkey, (uintptr_t)c->p.server.buf);
	ibv_wr_set_sge(e->qpx, c->mkey->lkey, at, len);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	return pair_wait(e).status;
}

/*
 * Encrypts the client's bytes with OpenSSL, separately for each data unit. The first data unit has
 * the number `first`.
 */
static void
expected(const struct crypto_pair *c, uint32_t first, uint32_t unit, uint32_t len, uint8_t *out)
{
	const uint8_t *in = c->p.client.buf + first * unit;

	for (uint32_t at = 0; at < len; at += unit, first++) {
		const int n = (int)(len - at < unit ? len - at : unit);
		EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
		uint8_t tweak[16];
		unsigned int carry = first;
		int did;

		for (unsigned int i = 0; i < sizeof(tweak); i++, carry >>= 8) {
			carry += c->tweak[i];
			tweak[i] = (uint8_t)carry;
		}
		CHECK(EVP_CipherInit_ex(ctx, EVP_aes_256_xts(), NULL, c->key, tweak, 1) == 1);
		CHECK(EVP_CipherUpdate(ctx, out + at, &did, in + at, n) == 1 && did == n);
		EVP_CIPHER_CTX_free(ctx);
	}
}

/* Sends `len` bytes, starting with data unit `first` of the key. */
static void
encrypts(struct probe_answer *a, struct crypto_pair *c, enum mlx5dv_block_size selector,
	uint32_t unit, uint32_t first, uint32_t len)
{
	const struct mlx5dv_crypto_attr crypto = crypto_of(c, selector);
	uint8_t want[UNITS * UNIT_520];
	enum ibv_wc_status status = configure(c, UNITS * unit, &crypto, NULL);

	if (status == IBV_WC_SUCCESS)
		status = send_encrypted(c, (uint64_t)first * unit, len);
	expected(c, first, unit, len, want);
	probe_saw(a, status == IBV_WC_SUCCESS && memcmp(c->p.server.buf, want, len) == 0, "%s%s",
		ibv_wc_status_str(status),
		memcmp(c->p.server.buf, want, len) == 0 ? "" : ", other bytes");
}

static void
tweak_address(struct probe_answer *a)
{
	struct crypto_pair c;

	if (open_crypto(a, &c, false))
		encrypts(a, &c, MLX5DV_BLOCK_SIZE_512, UNIT, 2, UNIT);
}

static void
tweak_wraps(struct probe_answer *a)
{
	struct crypto_pair c;

	if (!open_crypto(a, &c, false))
		return;
	memset(c.tweak, 0xff, sizeof(c.tweak));
	encrypts(a, &c, MLX5DV_BLOCK_SIZE_512, UNIT, 0, 2 * UNIT);
}

static void
stealing(struct probe_answer *a)
{
	struct crypto_pair c;

	if (open_crypto(a, &c, false))
		encrypts(a, &c, MLX5DV_BLOCK_SIZE_520, UNIT_520, 0, UNITS * UNIT_520);
}

static void
last_unit(struct probe_answer *a)
{
	struct crypto_pair c;

	/*
	 * 1024 bytes, a multiple of 16: a data unit of 520 bytes, and a last data unit of only 504
	 * bytes.
	 */
	if (open_crypto(a, &c, false))
		encrypts(a, &c, MLX5DV_BLOCK_SIZE_520, UNIT_520, 0, 1024);
}

static void
dek_late(struct probe_answer *a)
{
	struct crypto_pair c;
	struct mlx5dv_crypto_attr crypto;
	enum ibv_wc_status before, after;
	int rc;

	if (!open_crypto(a, &c, false))
		return;
	crypto = crypto_of(&c, MLX5DV_BLOCK_SIZE_512);
	before = configure(&c, UNITS * UNIT, &crypto, NULL);
	CHECK_EQ(send_encrypted(&c, 0, UNIT), IBV_WC_SUCCESS);
	rc = mlx5dv_dek_destroy(c.dek);
	if (before != IBV_WC_SUCCESS || rc != 0) {
		probe_saw(a, false, "the key is configured with %s; destroying its DEK: %s",
			ibv_wc_status_str(before), rc == 0 ? "done" : strerror(rc));
		return;
	}
	after = send_encrypted(&c, 0, UNIT);
	probe_saw(a, after != IBV_WC_SUCCESS, "data through a key whose DEK is destroyed: %s",
		ibv_wc_status_str(after));
}

static void
keytag(struct probe_answer *a)
{
	struct crypto_pair c;
	struct mlx5dv_crypto_attr crypto;
	enum ibv_wc_status status;

	if (!open_crypto(a, &c, false))
		return;
	crypto = crypto_of(&c, MLX5DV_BLOCK_SIZE_512);
	memcpy(crypto.keytag, "any tag!", KEYTAG);
	status = configure(&c, UNITS * UNIT, &crypto, NULL);
	if (status == IBV_WC_SUCCESS)
		status = send_encrypted(&c, 0, UNIT);
	probe_saw_status(a, status, IBV_WC_SUCCESS);
}

static void
signature_only(struct probe_answer *a)
{
	static const struct signature crc = {.kind = CRC32C, .ones = true};
	struct crypto_pair c;
	struct mlx5dv_crypto_attr crypto;
	struct signature_domain domain;
	struct mlx5dv_sig_block_attr sig = {.check_mask = 0xff};
	enum ibv_wc_status status;

	if (!open_crypto(a, &c, true))
		return;
	crypto = crypto_of(&c, MLX5DV_BLOCK_SIZE_512);
	crypto.signature_crypto_order = MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX;
	sig.wire = signature_domain(&domain, &crc, MLX5DV_BLOCK_SIZE_512, 0);
	CHECK_EQ(configure(&c, UNITS * UNIT, &crypto, &sig), IBV_WC_SUCCESS);
	CHECK_EQ(send_encrypted(&c, 0, UNIT + signature_len(CRC32C)), IBV_WC_SUCCESS);
	/* libmlx5 stores the encryption of a key, so the next configuration uses a new key. */
	c.mkey = key_create(c.p.pd, true);
	CHECK_EQ(configure(&c, UNITS * UNIT, NULL, &sig), IBV_WC_SUCCESS);
	status = send_encrypted(&c, 0, UNIT + signature_len(CRC32C));
	probe_saw(a, status != IBV_WC_SUCCESS, "data pass: %s", ibv_wc_status_str(status));
}

static void
equal_keys(struct probe_answer *a)
{
	struct crypto_pair c;
	struct mlx5dv_dek *dek;

	if (!open_crypto(a, &c, false))
		return;
	memcpy(c.key + KEY_LEN / 2, c.key, KEY_LEN / 2);
	dek = dek_create(c.p.pd, c.key);
	probe_saw(a, dek == NULL, "%s", dek == NULL ? strerror(errno) : "the DEK is created");
}

const struct probe probe_encryption[] = {
	{"xts-orders",
		"A key accepts each order of encryption and signatures that libmlx5 posts, and "
		"applies it.",
		"A program that uses an order outside the manual page's table may get other bytes; Gantry uses those of the table.",
		NULL,
		"a card may apply an order differently if its manual does not list the order, and "
		"the bytes alone do not show this."},
	{"xts-tweak-address",
		"The tweak of a data unit is the initial tweak plus the unit's number, counted "
		"from the key's address 0.",
		"Data that do not begin at the key's address 0 are encrypted with another tweak than software computes; they cannot be read elsewhere.",
		tweak_address},
	{"xts-tweak-wraps", "The tweak is one number of 128 bits, which wraps.",
		"Only data whose tweak passes 2^128 are encrypted otherwise than software does it.",
		tweak_wraps},
	{"xts-stealing", "A unit of 520 bytes ends with ciphertext stealing.",
		"Blocks of 520 bytes are encrypted otherwise than software does it, and cannot be read elsewhere.",
		stealing},
	{"xts-last-unit",
		"A short last unit, whose length is no multiple of 16 bytes, ends with ciphertext "
		"stealing.",
		"A message whose last data unit is short is encrypted otherwise than software does it, or fails.",
		last_unit},
	{"xts-one-unit",
		"If a device encrypts only one data unit of a key, a message that is longer than "
		"this unit is refused.",
		"A program that ignores the capability may get wrong ciphertext instead of an error; Gantry refuses such a transaction.",
		NULL, "libmlx5 posts no such key."},
	{"xts-dek-late", "A DEK is looked up when data pass, not when the key is configured.",
		"A key may work on after its DEK was destroyed, or fail earlier; Gantry ends a "
		"DEK when no transaction uses it.",
		dek_late},
	{"xts-keytag", "A DEK without a keytag accepts any keytag.",
		"A program must give a DEK the keytag that its keys compare; Gantry does so where has_keytag is set.",
		keytag},
	{"xts-signature-only",
		"A key that is made for encryption, and configured only with signatures, moves no "
		"data.",
		"Data may pass such a key without encryption; a program must configure encryption each time, as Gantry does.",
		signature_only},
	{"xts-equal-keys", "A DEK whose two AES keys are equal is refused.",
		"A program must itself refuse a DEK whose two AES keys are equal.", equal_keys},
	{NULL},
};
