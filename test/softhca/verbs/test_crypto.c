/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AES-XTS through stock libmlx5: data that are moved through a key that encrypts
 * (mlx5dv_wr_set_mkey_crypto(3)), without and with block signatures. The test computes the expected
 * bytes with OpenSSL, separately for each data unit; ISA-L computes the guards.
 *
 * With SOFTHCA_CRYPTO=wrapped the program logs in, and wraps its DEKs. With
 * SOFTHCA_CRYPTO=plaintext_single a key has one data unit, and the bytes of the tweak have another
 * order in the WQE.
 */
#include "devx_bits.h"
#include "softhca_signature.h"
#include "softhca_wrap.h"

#define MAX_LEN 16640 /* bytes of the longest message: 4 units of 4160 bytes */

static bool
is_single(void)
{
	return strcmp(getenv("SOFTHCA_CRYPTO"), "plaintext_single") == 0;
}

/* ---------------------------------------------------------------- expected bytes */

struct secret {
	bool key_256;
	uint8_t key[64];
	uint64_t tweak[2]; /* tweak of the first unit: low half, high half */
};

static struct secret
secret_of(bool key_256)
{
	/* The low half of the tweak overflows into the high half at the second unit. */
	struct secret s = {.key_256 = key_256, .tweak = {UINT64_MAX, 0x0102030405060708}};

	for (unsigned int i = 0; i < sizeof(s.key); i++)
		s.key[i] = (uint8_t)(i * 7 + 3);
	return s;
}

static void
tweak_bytes(const struct secret *s, uint64_t unit, uint8_t out[16])
{
	uint64_t low = s->tweak[0] + unit, high = s->tweak[1] + (low < unit);

	for (unsigned int i = 0; i < 8; i++) {
		out[i] = (uint8_t)(low >> 8 * i);
		out[8 + i] = (uint8_t)(high >> 8 * i);
	}
}

/* Encrypts or decrypts data, which begin with data unit `first`. */
static void
cipher(const struct secret *s, bool encrypt, uint64_t first, uint32_t unit, const uint8_t *in,
	uint8_t *out, uint32_t len)
{
	for (uint32_t at = 0; at < len; at += unit) {
		const int n = (int)(len - at < unit ? len - at : unit);
		EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
		uint8_t tweak[16];
		int did;

		tweak_bytes(s, first + at / unit, tweak);
		CHECK(EVP_CipherInit_ex(ctx, s->key_256 ? EVP_aes_256_xts() : EVP_aes_128_xts(),
			      NULL, s->key, tweak, encrypt) == 1);
		CHECK(EVP_CipherUpdate(ctx, out + at, &did, in + at, n) == 1 && did == n);
		EVP_CIPHER_CTX_free(ctx);
	}
}

/* The form of the data in one of a key's two domains. */
struct side {
	bool encrypted;
	enum signature_kind kind;
	bool in_clear; /* the signatures are computed over the ciphertext, and are not encrypted */
};

static const struct signature signatures[] = {[NONE] = {.kind = NONE},
	[DIF_CRC] = {DIF_CRC, true, 0xabcd, 0x01234567},
	[CRC32] = {.kind = CRC32, .ones = true},
	[CRC32C] = {.kind = CRC32C, .ones = true},
	[CRC64] = {.kind = CRC64, .ones = true}};

#define BLOCK 512

/*
 * Writes `data` bytes in the form of this side, in units of `unit` bytes. Returns the number of
 * bytes written.
 */
static uint32_t
lay(const struct secret *s, const struct side *side, uint32_t unit, const uint8_t *bytes,
	uint32_t data, uint8_t *out)
{
	const struct signature *sig = &signatures[side->kind];
	uint32_t len = data + (side->kind != NONE ? data / BLOCK * signature_len(side->kind) : 0);
	uint8_t first[MAX_LEN];

	memcpy(first, bytes, data);
	if (side->encrypted && (side->kind == NONE || side->in_clear))
		cipher(s, true, 0, unit, bytes, first, data);
	memcpy(out, first, data);
	if (side->kind != NONE)
		signature_lay(sig, first, BLOCK, data / BLOCK, out);
	if (side->encrypted && side->kind != NONE && !side->in_clear)
		cipher(s, true, 0, unit, out, out, len);
	return len;
}

/* ---------------------------------------------------------------- keys */

/* Two QPs, a DEK, and a key over the client's memory. */
struct rig {
	struct pair p;
	struct mlx5dv_dek *dek;
	struct mlx5dv_mkey *mkey;
	struct ibv_pd *other_pd; /* PD of the DEK, or NULL */
	struct secret secret;
	uint8_t data[MAX_LEN];
};

static struct mlx5dv_dek *
dek_create(struct ibv_pd *pd, const struct secret *s, const char *keytag)
{
	struct mlx5dv_dek_init_attr attr = {.key_size = s->key_256 ? MLX5DV_CRYPTO_KEY_SIZE_256
								   : MLX5DV_CRYPTO_KEY_SIZE_128,
		.has_keytag = keytag != NULL,
		.key_purpose = MLX5DV_CRYPTO_KEY_PURPOSE_AES_XTS,
		.pd = pd};
	size_t len = s->key_256 ? 64 : 32;
	struct mlx5dv_dek *dek;
	uint8_t key[64 + 8];

	memcpy(key, s->key, len);
	if (keytag != NULL)
		memcpy(key + len, keytag, 8);
	wrap_dek(&attr, key, len + (keytag != NULL ? 8 : 0));
	dek = mlx5dv_dek_create(pd->context, &attr);
	CHECK(dek != NULL);
	return dek;
}

static struct mlx5dv_mkey *
key_create(struct ibv_pd *pd, uint32_t flags)
{
	struct mlx5dv_mkey_init_attr attr = {.pd = pd,
		.max_entries = 4,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT | flags};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);

	CHECK(mkey != NULL);
	return mkey;
}

static void
rig_init_opts(struct rig *r, bool key_256, bool signs, const struct pair_opts *opts)
{
	pair_init(&r->p, opts);
	wrap_login(r->p.ctx);
	r->other_pd = NULL;
	r->secret = secret_of(key_256);
	r->dek = dek_create(r->p.pd, &r->secret, NULL);
	r->mkey = key_create(r->p.pd,
		MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO |
			(signs ? MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE : 0));
	signature_paint(&r->p, r->data, MAX_LEN);
}

static void
rig_init(struct rig *r, bool key_256, bool signs)
{
	rig_init_opts(r, key_256, signs, &(struct pair_opts){.keys = true});
}

static void
rig_fini(struct rig *r)
{
	CHECK_EQ(mlx5dv_destroy_mkey(r->mkey), 0);
	if (wrap_is_on()) /* the DEK must work after the end of the login */
		CHECK_EQ(mlx5dv_crypto_logout(r->p.ctx), 0);
	CHECK_EQ(mlx5dv_dek_destroy(r->dek), 0);
	if (r->other_pd != NULL)
		CHECK_EQ(ibv_dealloc_pd(r->other_pd), 0);
	pair_fini(&r->p);
}

static struct mlx5dv_crypto_attr
crypto_of(const struct rig *r, bool tx, enum mlx5dv_block_size unit)
{
	struct mlx5dv_crypto_attr attr = {.crypto_standard = MLX5DV_CRYPTO_STANDARD_AES_XTS,
		.encrypt_on_tx = tx,
		.data_unit_size = unit,
		.dek = r->dek};

	tweak_bytes(&r->secret, 0, (uint8_t *)attr.initial_tweak);
	return attr;
}

/*
 * Posts a configuration of a key over `len` bytes of the memory of its end, in two pieces that
 * split a data unit. crypto and sig may be NULL. Returns the status of the completion.
 */
static enum ibv_wc_status
configure_key(struct pair_end *e, struct mlx5dv_mkey *mkey, uint32_t len,
	const struct mlx5dv_crypto_attr *crypto, const struct mlx5dv_sig_block_attr *sig)
{
	const struct ibv_sge v[2] = {{(uintptr_t)e->buf, 72, e->mr->lkey},
		{(uintptr_t)e->buf + 72, len - 72, e->mr->lkey}};
	struct mlx5dv_mkey_conf_attr conf = {0};

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(e->dvx, mkey, 2 + (crypto != NULL) + (sig != NULL), &conf);
	mlx5dv_wr_set_mkey_access_flags(e->dvx,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	/* With a single piece the adapter runs other code. */
	mlx5dv_wr_set_mkey_layout_list(e->dvx, len % 32 == 0 ? 1 : 2,
		len % 32 == 0 ? &(struct ibv_sge){(uintptr_t)e->buf, len, e->mr->lkey} : v);
	if (sig != NULL)
		mlx5dv_wr_set_mkey_sig_block(e->dvx, sig);
	if (crypto != NULL)
		mlx5dv_wr_set_mkey_crypto(e->dvx, crypto);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	return pair_wait(e).status;
}

static enum ibv_wc_status
configure(struct rig *r, uint32_t len, const struct mlx5dv_crypto_attr *crypto,
	const struct mlx5dv_sig_block_attr *sig)
{
	return configure_key(&r->p.client, r->mkey, len, crypto, sig);
}

/*
 * The uses of a key: as the local key or the remote key of a request, for reading or for writing.
 */
enum way {
	LOCAL_OUT,  /* by an RDMA write */
	LOCAL_IN,   /* by an RDMA read */
	REMOTE_OUT, /* by an RDMA read of the peer */
	REMOTE_IN   /* by an RDMA write of the peer */
};

static bool
is_out(enum way way)
{
	return way == LOCAL_OUT || way == REMOTE_OUT;
}

/* Moves bytes between the key, from offset `off` on, and the server's memory. */
static enum ibv_wc_status
move(struct rig *r, enum way way, uint32_t off, uint32_t len)
{
	bool local = way == LOCAL_OUT || way == LOCAL_IN;
	struct pair_end *e = local ? &r->p.client : &r->p.server;
	uint32_t rkey = local ? r->p.server.mr->rkey : r->mkey->rkey;
	uint64_t to = local ? (uintptr_t)r->p.server.buf : off;

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	if (way == LOCAL_OUT || way == REMOTE_IN)
		ibv_wr_rdma_write(e->qpx, rkey, to);
	else
		ibv_wr_rdma_read(e->qpx, rkey, to);
	if (local)
		ibv_wr_set_sge(e->qpx, r->mkey->lkey, off, len);
	else
		ibv_wr_set_sge(e->qpx, e->mr->lkey, (uintptr_t)e->buf, len);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	return pair_wait(e).status;
}

/*
 * Moves data through the key in all four ways. memory and wire are the bytes on the two sides of
 * the key. Before each way, again() must configure the key if this is needed.
 */
static void
pass(struct rig *r, const uint8_t *memory, uint32_t memory_len, const uint8_t *wire,
	uint32_t wire_len, bool (*again)(struct rig *r, const void *arg), const void *arg)
{
	for (enum way way = LOCAL_OUT; way <= REMOTE_IN; way++) {
		CHECK(again(r, arg));
		memset(r->p.client.buf, 0x11, PAIR_BUF);
		memset(r->p.server.buf, 0x22, PAIR_BUF);
		if (is_out(way))
			memcpy(r->p.client.buf, memory, memory_len);
		else
			memcpy(r->p.server.buf, wire, wire_len);
		CHECK_EQ(move(r, way, 0, wire_len), IBV_WC_SUCCESS);
		if (is_out(way))
			signature_expect(r->p.server.buf, wire, wire_len, 0x22);
		else
			signature_expect(r->p.client.buf, memory, memory_len, 0x11);
	}
}

/* ---------------------------------------------------------------- encryption alone */

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

struct plan {
	uint32_t len;
	struct mlx5dv_crypto_attr crypto;
	const struct mlx5dv_sig_block_attr *sig;
};

static bool
again(struct rig *r, const void *arg)
{
	const struct plan *plan = arg;

	return configure(r, plan->len, &plan->crypto, plan->sig) == IBV_WC_SUCCESS;
}

/*
 * All sizes of data units and of AES keys, both directions, both orders, one data unit and several:
 * the bytes must equal OpenSSL's.
 */
static void
case_units(void)
{
	for (unsigned int i = 0; i < N_UNITS * 8; i++) {
		const uint32_t unit = units[i / 8].len, len = is_single() ? unit : 4 * unit;
		const bool tx = i & 2;
		uint8_t secret[MAX_LEN];
		struct plan plan;
		struct rig r;

		rig_init(&r, i & 1, false);
		plan = (struct plan){.len = len, .crypto = crypto_of(&r, tx, units[i / 8].size)};
		plan.crypto.signature_crypto_order =
			i & 4 ? MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX
			      : MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX;
		cipher(&r.secret, true, 0, unit, r.data, secret, len);
		pass(&r, tx ? r.data : secret, len, tx ? secret : r.data, len, again, &plan);
		rig_fini(&r);
	}
}

/* A message that begins with a later data unit must use the tweak of this unit. */
static void
case_offset(void)
{
	uint8_t secret[MAX_LEN];
	struct plan plan;
	struct rig r;

	rig_init(&r, true, false);
	plan = (struct plan){.len = 4 * 520, .crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_520)};
	cipher(&r.secret, true, 0, 520, r.data, secret, 4 * 520);
	CHECK(again(&r, &plan));
	memcpy(r.p.client.buf, r.data, 4 * 520);
	CHECK_EQ(move(&r, LOCAL_OUT, 520, 2 * 520), IBV_WC_SUCCESS);
	signature_expect(r.p.server.buf, secret + 520, 2 * 520, 0x22);
	memset(r.p.server.buf, 0x22, PAIR_BUF);
	CHECK_EQ(move(&r, REMOTE_OUT, 2 * 520, 520), IBV_WC_SUCCESS);
	signature_expect(r.p.server.buf, secret + 2 * 520, 520, 0x22);
	rig_fini(&r);
}

/*
 * A message must have a length that the NOTES of the manual page allow; all other lengths must be
 * refused.
 */
static void
case_lengths(void)
{
	static const struct {
		enum mlx5dv_block_size size;
		uint32_t unit, len;
		bool good;
	} lens[] = {
		{MLX5DV_BLOCK_SIZE_512, 512, 512, true},
		{MLX5DV_BLOCK_SIZE_512, 512, 128, true},
		{MLX5DV_BLOCK_SIZE_512, 512, 47, false},
		{MLX5DV_BLOCK_SIZE_512, 512, 496, true},
		{MLX5DV_BLOCK_SIZE_512, 512, 504, false},
		{MLX5DV_BLOCK_SIZE_520, 520, 520, true},
		{MLX5DV_BLOCK_SIZE_520, 520, 496, true},
		{MLX5DV_BLOCK_SIZE_520, 520, 512, false},
		{MLX5DV_BLOCK_SIZE_520, 520, 8, false},
		{MLX5DV_BLOCK_SIZE_520, 520, 520 + 16, false},
		{MLX5DV_BLOCK_SIZE_520, 520, 520 + 24, true},
	};

	for (unsigned int i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		for (enum way way = LOCAL_OUT; way <= REMOTE_IN; way++) {
			uint8_t secret[1040];
			struct plan plan;
			struct rig r;

			if (is_single() && lens[i].len > lens[i].unit)
				continue;
			rig_init(&r, false, false);
			plan = (struct plan){.len = is_single() ? lens[i].unit : 2 * lens[i].unit,
				.crypto = crypto_of(&r, is_out(way), lens[i].size)};
			CHECK(again(&r, &plan));
			cipher(&r.secret, true, 0, lens[i].unit, r.data, secret, 1040);
			memcpy(is_out(way) ? r.p.client.buf : r.p.server.buf, r.data, 1040);
			if (lens[i].good) {
				/* Incoming data are encrypted in the same way as outgoing data. */
				cipher(&r.secret, true, 0, lens[i].unit, r.data, secret,
					lens[i].len);
				CHECK_EQ(move(&r, way, 0, lens[i].len), IBV_WC_SUCCESS);
				signature_expect(is_out(way) ? r.p.server.buf : r.p.client.buf,
					secret, lens[i].len, is_out(way) ? 0x22 : 0x11);
			} else {
				CHECK_EQ(move(&r, way, 0, lens[i].len),
					way == LOCAL_OUT || way == LOCAL_IN
						? IBV_WC_LOC_PROT_ERR
						: IBV_WC_REM_ACCESS_ERR);
				signature_expect(is_out(way) ? r.p.server.buf : r.p.client.buf,
					secret, 0, is_out(way) ? 0x22 : 0x11);
			}
			rig_fini(&r);
		}
	}
}

/* A message that does not begin with a data unit must be refused. */
static void
case_inside_unit(void)
{
	struct plan plan;
	struct rig r;

	rig_init(&r, false, false);
	plan = (struct plan){.len = 512, .crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512)};
	CHECK(again(&r, &plan));
	CHECK_EQ(move(&r, LOCAL_OUT, 16, 16), IBV_WC_LOC_PROT_ERR);
	rig_fini(&r);
}

/*
 * A receive names the key, and the message may be shorter than the key: the message must be
 * decrypted, and no byte after it may change.
 */
static void
case_receive(void)
{
	static const struct {
		uint32_t len;
		bool good;
	} lens[] = {{1024, true}, {512, true}, {496, true}, {528, true}, {0, true}, {100, false}};

	for (unsigned int i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint8_t plain[1024], secret[1024];
		struct plan plan;
		struct ibv_wc wc;
		struct rig r;

		if (is_single() && lens[i].len > 512)
			continue;
		rig_init(&r, false, false);
		plan = (struct plan){.len = is_single() ? 512 : 1024,
			.crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512)};
		CHECK(again(&r, &plan));
		memcpy(plain, r.data, sizeof(plain));
		cipher(&r.secret, true, 0, 512, plain, secret, lens[i].len);
		memcpy(r.p.server.buf, secret, lens[i].len);
		{
			struct ibv_sge sge = {0, plan.len, r.mkey->lkey};
			struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

			pair_publish(&r.p.client);
			CHECK_EQ(ibv_post_recv(r.p.client.qp, &wr, &bad), 0);
		}
		pair_publish(&r.p.server);
		ibv_wr_start(r.p.server.qpx);
		r.p.server.qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(r.p.server.qpx);
		ibv_wr_set_sge(r.p.server.qpx, r.p.server.mr->lkey, (uintptr_t)r.p.server.buf,
			lens[i].len);
		CHECK_EQ(ibv_wr_complete(r.p.server.qpx), 0);
		wc = pair_wait(&r.p.client);
		CHECK_EQ(wc.status, lens[i].good ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
		signature_expect(r.p.client.buf, plain, lens[i].good ? lens[i].len : 0, 0x11);
		rig_fini(&r);
	}
}

/*
 * A write by the key, whose source and destination are the same bytes, must encrypt the memory in
 * place.
 */
static void
case_in_place(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		const uint32_t len = is_single() ? 520 : 2 * 512 + 16;
		uint8_t secret[MAX_LEN];
		struct pair_end *e;
		struct plan plan;
		struct rig r;

		rig_init(&r, false, false);
		plan = (struct plan){.len = len,
			.crypto = crypto_of(&r, i == 0,
				is_single() ? MLX5DV_BLOCK_SIZE_520 : MLX5DV_BLOCK_SIZE_512)};
		CHECK(again(&r, &plan));
		cipher(&r.secret, true, 0, is_single() ? 520 : 512, r.data, secret, len);
		memcpy(r.p.client.buf, r.data, len);
		/* First the key is the source, then the destination. */
		e = i == 0 ? &r.p.client : &r.p.server;
		pair_publish(e);
		ibv_wr_start(e->qpx);
		e->qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(e->qpx, i == 0 ? r.p.client.mr->rkey : r.mkey->rkey,
			i == 0 ? (uintptr_t)r.p.client.buf : 0);
		if (i == 0)
			ibv_wr_set_sge(e->qpx, r.mkey->lkey, 0, len);
		else
			ibv_wr_set_sge(e->qpx, r.p.client.mr->lkey, (uintptr_t)r.p.client.buf, len);
		CHECK_EQ(ibv_wr_complete(e->qpx), 0);
		CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
		signature_expect(r.p.client.buf, secret, len, 0x11);
		rig_fini(&r);
	}
}

/* A write or a read of the client, between a list and the server's memory. */
static void
move_list(struct rig *r, bool out, struct ibv_sge *list, size_t n, uint32_t rkey, uint64_t to)
{
	struct pair_end *e = &r->p.client;

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	if (out)
		ibv_wr_rdma_write(e->qpx, rkey, to);
	else
		ibv_wr_rdma_read(e->qpx, rkey, to);
	ibv_wr_set_sge_list(e->qpx, n, list);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
}

/*
 * The key's memory overlaps the memory of the other side: the bytes at the destination must be
 * right.
 */
static void
case_overlap(void)
{
	static const int32_t shifts[] = {16, -48, 500, 512};
	enum {
		AT = 4096
	};

	for (unsigned int i = 0; i < 2 * sizeof(shifts) / sizeof(shifts[0]); i++) {
		const bool out = i & 1;
		struct mlx5dv_crypto_attr crypto;
		uint8_t secret[512], *from, *to;
		struct ibv_sge sge;
		struct pair_end *e;
		struct rig r;

		rig_init(&r, false, false);
		e = &r.p.client;
		crypto = crypto_of(&r, out, MLX5DV_BLOCK_SIZE_512);
		e->buf += AT; /* start of the key */
		CHECK_EQ(configure_key(e, r.mkey, 512, &crypto, NULL), IBV_WC_SUCCESS);
		from = out ? e->buf : e->buf + shifts[i / 2];
		to = out ? e->buf + shifts[i / 2] : e->buf;
		memcpy(from, r.data, 512);
		cipher(&r.secret, true, 0, 512, r.data, secret, 512);
		sge = (struct ibv_sge){0, 512, r.mkey->lkey};
		move_list(&r, out, &sge, 1, e->mr->rkey, (uintptr_t)(out ? to : from));
		CHECK(memcmp(to, secret, 512) == 0);
		e->buf -= AT;
		rig_fini(&r);
	}
}

/*
 * A list has keys that encrypt and plain memory, and the other side is one piece: each part of the
 * list must be converted by its own key.
 */
static void
case_lists(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		const bool out = i == 1;
		struct mlx5dv_crypto_attr crypto;
		struct mlx5dv_mkey *other;
		uint8_t secret[1024], wire[10 + 1024 + 20];
		struct ibv_sge list[4];
		struct pair_end *e;
		struct rig r;

		rig_init(&r, false, false);
		e = &r.p.client;
		other = key_create(r.p.pd, MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO);
		crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512);
		CHECK_EQ(configure_key(e, r.mkey, 512, &crypto, NULL), IBV_WC_SUCCESS);
		e->buf += 8192;
		CHECK_EQ(configure_key(e, other, 512, &crypto, NULL), IBV_WC_SUCCESS);
		e->buf -= 8192;
		cipher(&r.secret, true, 0, 512, r.data, secret, 512);
		cipher(&r.secret, true, 0, 512, r.data + 512, secret + 512, 512);
		list[0] = (struct ibv_sge){(uintptr_t)e->buf + 20000, 10, e->mr->lkey};
		list[1] = (struct ibv_sge){0, 512, r.mkey->lkey};
		list[2] = (struct ibv_sge){(uintptr_t)e->buf + 20010, 20, e->mr->lkey};
		list[3] = (struct ibv_sge){0, 512, other->lkey};
		memcpy(wire, "0123456789", 10);
		memcpy(wire + 10, secret, 512);
		memcpy(wire + 10 + 512, "abcdefghijklmnopqrst", 20);
		memcpy(wire + 10 + 512 + 20, secret + 512, 512);
		if (out) {
			memcpy(e->buf, r.data, 512);
			memcpy(e->buf + 8192, r.data + 512, 512);
			memcpy(e->buf + 20000, "0123456789abcdefghijklmnopqrst", 30);
		} else {
			memcpy(r.p.server.buf, wire, sizeof(wire));
		}
		move_list(&r, out, list, 4, r.p.server.mr->rkey, (uintptr_t)r.p.server.buf);
		if (out) {
			signature_expect(r.p.server.buf, wire, sizeof(wire), 0x22);
		} else {
			signature_expect(e->buf, r.data, 512, 0x11);
			signature_expect(e->buf + 8192, r.data + 512, 512, 0x11);
			signature_expect(e->buf + 20000,
				(const uint8_t *)"0123456789abcdefghijklmnopqrst", 30, 0x11);
		}
		CHECK_EQ(mlx5dv_destroy_mkey(other), 0);
		rig_fini(&r);
	}
}

/*
 * One key encrypts, its ciphertext is on the wire, and a key of the peer decrypts it: the peer must
 * get the plaintext.
 */
static void
case_both_ends(void)
{
	for (unsigned int i = 0; i < 4; i++) {
		const uint32_t len = i & 2 ? 500 : 512; /* the key has two pieces, or one */
		struct mlx5dv_crypto_attr crypto;
		struct mlx5dv_mkey *far;
		struct ibv_sge sge;
		struct rig r;

		rig_init(&r, true, false);
		far = key_create(r.p.pd, MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO);
		crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512);
		CHECK_EQ(configure_key(&r.p.client, r.mkey, len, &crypto, NULL), IBV_WC_SUCCESS);
		CHECK_EQ(configure_key(&r.p.server, far, len, &crypto, NULL), IBV_WC_SUCCESS);
		memcpy(i & 1 ? r.p.client.buf : r.p.server.buf, r.data, 496);
		sge = (struct ibv_sge){0, 496, r.mkey->lkey};
		move_list(&r, i & 1, &sge, 1, far->rkey, 0);
		signature_expect(r.p.client.buf, r.data, 496, 0x11);
		signature_expect(r.p.server.buf, r.data, 496, 0x22);
		CHECK_EQ(mlx5dv_destroy_mkey(far), 0);
		rig_fini(&r);
	}
}

/* A datagram: the ciphertext must follow the network header. */
static void
case_datagram(void)
{
	enum {
		GRH = 40
	};
	struct ibv_sge out, in;
	struct ibv_send_wr send = {.sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_recv_wr recv = {.sg_list = &in, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr *bad;
	uint8_t secret[512];
	struct plan plan;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct rig r;

	rig_init(&r, false, false);
	qp = pair_datagram_qp(&r.p, NULL);
	ah = pair_own_ah(&r.p, 0);
	plan = (struct plan){.len = 512, .crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512)};
	CHECK(again(&r, &plan));
	memcpy(r.p.client.buf, r.data, 512);
	cipher(&r.secret, true, 0, 512, r.data, secret, 512);
	in = (struct ibv_sge){(uintptr_t)r.p.server.buf, GRH + 512, r.p.server.mr->lkey};
	out = (struct ibv_sge){0, 512, r.mkey->lkey};
	pair_make_datagram(&send, ah, qp);
	pair_publish_to(qp, NULL);
	CHECK_EQ(ibv_post_recv(qp, &recv, &bad_recv), 0);
	pair_publish_to(qp, NULL);
	CHECK_EQ(ibv_post_send(qp, &send, &bad), 0);
	CHECK_EQ(pair_wait(&r.p.server).status, IBV_WC_SUCCESS);
	signature_expect(r.p.server.buf + GRH, secret, 512, 0x22);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	rig_fini(&r);
}

/*
 * Two queues, each with its own doorbell page, encrypt with the same DEK at the same time: the
 * bytes of both must be right.
 */
static void
case_two_queues(void)
{
	enum {
		N = 32,
		LEN = 512,
		AT = 4096 /* offset of the ciphertext, at both ends */
	};
	struct mlx5dv_mkey *keys[2];
	struct mlx5dv_crypto_attr crypto;
	uint8_t secret[LEN];
	struct rig r;

	rig_init_opts(&r, false, false, &(struct pair_opts){.keys = true, .own_uar = true});
	crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512);
	cipher(&r.secret, true, 0, LEN, r.data, secret, LEN);
	for (unsigned int i = 0; i < 2; i++) {
		struct pair_end *e = i == 0 ? &r.p.client : &r.p.server;

		keys[i] = key_create(r.p.pd, MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO);
		memcpy(e->buf, r.data, LEN);
		CHECK_EQ(configure_key(e, keys[i], LEN, &crypto, NULL), IBV_WC_SUCCESS);
	}
	for (unsigned int n = 0; n < 2 * N; n++) {
		struct pair_end *e = n % 2 == 0 ? &r.p.client : &r.p.server;
		struct pair_end *to = n % 2 == 0 ? &r.p.server : &r.p.client;

		pair_publish(e);
		ibv_wr_start(e->qpx);
		e->qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(e->qpx, to->mr->rkey, (uintptr_t)to->buf + AT + n * LEN);
		ibv_wr_set_sge(e->qpx, keys[n % 2]->lkey, 0, LEN);
		CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	}
	for (unsigned int n = 0; n < 2 * N; n++) {
		struct pair_end *e = n % 2 == 0 ? &r.p.client : &r.p.server;
		struct pair_end *to = n % 2 == 0 ? &r.p.server : &r.p.client;

		CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
		CHECK(memcmp(to->buf + AT + n * LEN, secret, LEN) == 0);
	}
	for (unsigned int i = 0; i < 2; i++)
		CHECK_EQ(mlx5dv_destroy_mkey(keys[i]), 0);
	rig_fini(&r);
}

/* ---------------------------------------------------------------- with block signatures */

#define AFTER  MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX
#define BEFORE MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX

static const struct row {
	char name; /* letter of the row in mlx5dv_wr_set_mkey_crypto(3) */
	struct side memory, wire;
	bool tx;
	enum mlx5dv_signature_crypto_order order;
} rows[] = {
	{'A', {false, NONE}, {true, NONE}, true, AFTER},
	{'A', {false, NONE}, {true, NONE}, true, BEFORE},
	{'B', {false, NONE}, {true, DIF_CRC, true}, true, AFTER},
	{'B', {false, NONE}, {true, CRC32C, true}, true, AFTER},
	{'C', {false, NONE}, {true, DIF_CRC}, true, BEFORE},
	{'C', {false, NONE}, {true, CRC64}, true, BEFORE},
	{'D', {false, CRC32}, {true, NONE}, true, BEFORE},
	{'E', {false, CRC32}, {true, DIF_CRC}, true, BEFORE},
	{'F', {true, NONE}, {false, NONE}, false, AFTER},
	{'F', {true, NONE}, {false, NONE}, false, BEFORE},
	{'G', {true, NONE}, {false, DIF_CRC}, false, AFTER},
	{'H', {true, DIF_CRC}, {false, NONE}, false, AFTER},
	{'I', {true, CRC64}, {false, DIF_CRC}, false, AFTER},
	{'J', {true, DIF_CRC, true}, {false, NONE}, false, BEFORE},
	{'J', {true, CRC32, true}, {false, NONE}, false, BEFORE},
};

/*
 * Returns the index of the data unit's size. A data unit is one block, or 8 blocks if `large`. If
 * signatures are encrypted too, a block has 520 bytes instead of 512.
 */
static unsigned int
unit_for(const struct row *row, bool large)
{
	const struct side *side = row->memory.encrypted ? &row->memory : &row->wire;

	if (side->kind != NONE && !side->in_clear)
		return large ? 4 : 1;
	return large ? 3 : 0;
}

struct domains {
	struct signature_domain mem, wire;
	struct mlx5dv_sig_block_attr attr;
};

static const struct mlx5dv_sig_block_attr *
domains_of(struct domains *d, const struct row *row)
{
	d->attr = (struct mlx5dv_sig_block_attr){.mem = signature_domain(&d->mem,
							 &signatures[row->memory.kind],
							 MLX5DV_BLOCK_SIZE_512, 0),
		.wire = signature_domain(&d->wire, &signatures[row->wire.kind],
			MLX5DV_BLOCK_SIZE_512, 0),
		.check_mask = 0xff};
	return &d->attr;
}

static void
pass_row(const struct row *row, bool large)
{
	const uint32_t data = is_single() ? large ? 4096 : 512 : 8 * BLOCK;
	const unsigned int unit = unit_for(row, large);
	uint8_t memory[MAX_LEN], wire[MAX_LEN];
	uint32_t memory_len, wire_len;
	struct domains d;
	struct plan plan;
	struct rig r;

	printf("row %c, units of %u\n", row->name, units[unit].len);
	rig_init(&r, large, true);
	memory_len = lay(&r.secret, &row->memory, units[unit].len, r.data, data, memory);
	wire_len = lay(&r.secret, &row->wire, units[unit].len, r.data, data, wire);
	plan = (struct plan){.len = memory_len,
		.crypto = crypto_of(&r, row->tx, units[unit].size),
		.sig = domains_of(&d, row)};
	if (row->memory.kind == NONE && row->wire.kind == NONE)
		plan.sig = NULL; /* libmlx5 then writes a BSF without signatures */
	plan.crypto.signature_crypto_order = row->order;
	pass(&r, memory, memory_len, wire, wire_len, again, &plan);
	CHECK_EQ(signature_key_error(r.mkey).err_type, MLX5DV_MKEY_NO_ERR);
	rig_fini(&r);
}

static void
case_signatures(void)
{
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		/*
		 * libmlx5 compares the whole length of the key with the data unit, so it would
		 * refuse this row.
		 */
		if (is_single() && rows[i].memory.kind != NONE && !rows[i].memory.encrypted)
			continue;
		if (is_single() && rows[i].memory.in_clear)
			continue;
		pass_row(&rows[i], false);
		pass_row(&rows[i], true);
	}
}

/*
 * The wire has a signature, and the message ends before this signature: a single data unit must
 * pass. The two keys of rdma-core's test_mlx5_crypto_signature_mkey are used in this way; the order
 * and the signature of the second key are not in the manual page's table.
 */
static void
case_left_out(void)
{
	static const struct row rows_of_test[] = {
		{'C', {false, NONE}, {true, CRC32}, true, BEFORE},
		{'-', {true, NONE}, {false, CRC32}, false, BEFORE},
	};

	for (unsigned int i = 0; i < 2; i++) {
		const struct row *row = &rows_of_test[i];
		uint8_t secret[BLOCK];
		struct domains d;
		struct plan plan;
		struct rig r;

		rig_init(&r, true, true);
		plan = (struct plan){.len = BLOCK,
			.crypto = crypto_of(&r, row->tx, MLX5DV_BLOCK_SIZE_512),
			.sig = domains_of(&d, row)};
		plan.crypto.signature_crypto_order = row->order;
		cipher(&r.secret, true, 0, BLOCK, r.data, secret, BLOCK);
		pass(&r, row->tx ? r.data : secret, BLOCK, row->tx ? secret : r.data, BLOCK, again,
			&plan);
		CHECK_EQ(signature_key_error(r.mkey).err_type, MLX5DV_MKEY_NO_ERR);
		rig_fini(&r);
	}
}

/* A byte of the ciphertext is wrong: the signature of the decrypted block must report an error. */
static void
case_wrong_signature(void)
{
	static const struct row row = {'C', {false, NONE}, {true, DIF_CRC}, true, BEFORE};
	uint8_t wire[MAX_LEN];
	struct mlx5dv_mkey_err err;
	struct domains d;
	struct plan plan;
	struct rig r;

	rig_init(&r, false, true);
	lay(&r.secret, &row.wire, 520, r.data, BLOCK, wire);
	plan = (struct plan){.len = BLOCK,
		.crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_520),
		.sig = domains_of(&d, &row)};
	plan.crypto.signature_crypto_order = BEFORE;
	CHECK(again(&r, &plan));
	wire[100] ^= 1;
	memcpy(r.p.server.buf, wire, 520);
	CHECK_EQ(move(&r, LOCAL_IN, 0, 520), IBV_WC_SUCCESS);
	err = signature_key_error(r.mkey);
	CHECK_EQ(err.err_type, MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD);
	rig_fini(&r);
}

/* ---------------------------------------------------------------- DEKs */

/*
 * spoil() makes the DEK in the key's configuration unusable: no data may move in any of the four
 * ways.
 */
static void
refuse_dek(void (*spoil)(struct rig *r, struct mlx5dv_crypto_attr *attr))
{
	for (enum way way = LOCAL_OUT; way <= REMOTE_IN; way++) {
		struct plan plan;
		struct rig r;

		rig_init(&r, false, false);
		plan = (struct plan){.len = 512,
			.crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512)};
		spoil(&r, &plan.crypto);
		CHECK(again(&r, &plan));
		CHECK_EQ(move(&r, way, 0, 512), way == LOCAL_OUT || way == LOCAL_IN
							? IBV_WC_LOC_PROT_ERR
							: IBV_WC_REM_ACCESS_ERR);
		signature_expect(is_out(way) ? r.p.server.buf : r.p.client.buf, r.data, 0,
			is_out(way) ? 0x22 : 0x11);
		rig_fini(&r);
	}
}

static void
spoil_pd(struct rig *r, struct mlx5dv_crypto_attr *attr)
{
	CHECK_EQ(mlx5dv_dek_destroy(r->dek), 0);
	r->other_pd = ibv_alloc_pd(r->p.ctx);
	CHECK(r->other_pd != NULL);
	r->dek = dek_create(r->other_pd, &r->secret, NULL);
	attr->dek = r->dek;
}

static void
spoil_tag(struct rig *r, struct mlx5dv_crypto_attr *attr)
{
	CHECK_EQ(mlx5dv_dek_destroy(r->dek), 0);
	r->dek = dek_create(r->p.pd, &r->secret, "the tag!");
	memcpy(attr->keytag, "the tag?", 8);
	attr->dek = r->dek;
}

static void
case_wrong_dek(void)
{
	refuse_dek(spoil_pd);
	refuse_dek(spoil_tag);
}

/* Expects that the key encrypts a data unit of 512 bytes. */
static void
one_unit_passes(struct rig *r)
{
	uint8_t secret[512];

	cipher(&r->secret, true, 0, 512, r->data, secret, 512);
	memcpy(r->p.client.buf, r->data, 512);
	CHECK_EQ(move(r, LOCAL_OUT, 0, 512), IBV_WC_SUCCESS);
	signature_expect(r->p.server.buf, secret, 512, 0x22);
}

/*
 * The DEK is destroyed while the key refers to it: no data may move. A new configuration of the key
 * with another DEK must work.
 */
static void
case_destroyed_dek(void)
{
	struct plan plan;
	struct rig r;

	rig_init(&r, false, false);
	plan = (struct plan){.len = 512, .crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512)};
	CHECK(again(&r, &plan));
	CHECK_EQ(mlx5dv_dek_destroy(r.dek), 0);
	CHECK_EQ(move(&r, LOCAL_OUT, 0, 512), IBV_WC_LOC_PROT_ERR);
	signature_expect(r.p.server.buf, r.data, 0, 0x22);
	CHECK_EQ(pair_modify(&r.p.client, IBV_QPS_RESET), 0);
	CHECK_EQ(pair_modify(&r.p.server, IBV_QPS_RESET), 0);
	pair_connect(&r.p, &r.p.client, r.p.server.qp->qp_num);
	pair_connect(&r.p, &r.p.server, r.p.client.qp->qp_num);
	r.secret = secret_of(true);
	r.dek = dek_create(r.p.pd, &r.secret, NULL);
	plan.crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512);
	CHECK(again(&r, &plan));
	one_unit_passes(&r);
	rig_fini(&r);
}

/*
 * The configuration has the keytag of the DEK; or the DEK has no keytag, and that of the
 * configuration must be ignored.
 */
static void
case_keytag(void)
{
	for (unsigned int i = 0; i < 4; i++) {
		const char *tag = i & 1 ? "the tag!" : NULL;
		struct plan plan;
		struct rig r;

		rig_init(&r, i & 2, false);
		CHECK_EQ(mlx5dv_dek_destroy(r.dek), 0);
		r.dek = dek_create(r.p.pd, &r.secret, tag);
		plan = (struct plan){.len = 512,
			.crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512)};
		memcpy(plan.crypto.keytag, "the tag!", 8);
		CHECK(again(&r, &plan));
		one_unit_passes(&r);
		rig_fini(&r);
	}
}

/* ---------------------------------------------------------------- keys that move nothing */

/* A key that is created for encryption must move no data if it has only signatures. */
static void
case_signature_alone(void)
{
	static const struct row row = {'B', {false, NONE}, {true, DIF_CRC, true}, true, AFTER};
	struct domains d;
	struct rig r;

	rig_init(&r, false, true);
	CHECK_EQ(configure(&r, BLOCK, NULL, domains_of(&d, &row)), IBV_WC_SUCCESS);
	CHECK_EQ(move(&r, LOCAL_OUT, 0, 520), IBV_WC_LOC_PROT_ERR);
	signature_expect(r.p.server.buf, r.data, 0, 0x22);
	rig_fini(&r);
}

/* A key that encrypts must be refused as a part of another key. */
static void
case_inside_key(void)
{
	struct mlx5dv_mkey_conf_attr conf = {0};
	struct mlx5dv_mkey *outer;
	struct pair_end *e;
	struct ibv_sge v;
	struct plan plan;
	struct rig r;

	rig_init(&r, false, false);
	e = &r.p.client;
	outer = key_create(r.p.pd, 0);
	plan = (struct plan){.len = 512, .crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512)};
	CHECK(again(&r, &plan));
	v = (struct ibv_sge){0, 512, r.mkey->lkey};
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(e->dvx, outer, 2, &conf);
	mlx5dv_wr_set_mkey_access_flags(e->dvx, IBV_ACCESS_LOCAL_WRITE);
	mlx5dv_wr_set_mkey_layout_list(e->dvx, 1, &v);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(e->qpx, r.p.server.mr->rkey, (uintptr_t)r.p.server.buf);
	ibv_wr_set_sge(e->qpx, outer->lkey, 0, 512);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	CHECK_EQ(pair_wait(e).status, IBV_WC_LOC_PROT_ERR);
	signature_expect(r.p.server.buf, r.data, 0, 0x22);
	CHECK_EQ(mlx5dv_destroy_mkey(outer), 0);
	rig_fini(&r);
}

/* ---------------------------------------------------------------- wrong configurations */

/*
 * Configures the key by the first WQE of its queue, and posts this WQE once more with one byte of
 * its BSF (the last 64 bytes) changed, or for another key if `other` is not NULL. libmlx5 itself
 * never writes such a WQE.
 */
static enum ibv_wc_status
post_spoiled(struct rig *r, const struct plan *plan, unsigned int byte, uint8_t value,
	const struct mlx5dv_mkey *other)
{
	struct mlx5dv_qp dv = {0};
	struct mlx5dv_obj obj = {.qp = {.in = r->p.client.qp, .out = &dv}};
	uint8_t wqe[512];
	uint32_t len;

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	CHECK(again(r, plan));
	len = (((uint8_t *)dv.sq.buf)[7] & 0x3f) * 16;
	memcpy(wqe, dv.sq.buf, len);
	/* the last 64 bytes are a BSF for encryption */
	CHECK_EQ(wqe[len - 64], (plan->sig != NULL ? 3 : 2) << 6 | 1);
	wqe[11] |=
		/*
		 * With a signature, SET_PSVs follow the UMR, and only the last WQE makes a
		 * completion.
		 */
		MLX5_WQE_CTRL_CQ_UPDATE;
	wqe[len - 64 + byte] = value;
	if (other != NULL)
		memcpy(wqe + 12, &(uint32_t){htobe32(other->lkey)}, 4);
	pair_publish(&r->p.client);
	ibv_wr_start(r->p.client.qpx);
	r->p.client.qpx->wr_flags = IBV_SEND_SIGNALED;
	mlx5dv_wr_raw_wqe(r->p.client.dvx, wqe);
	CHECK_EQ(ibv_wr_complete(r->p.client.qpx), 0);
	return pair_wait(&r->p.client).status;
}

/* row: the configuration has the signatures of this row, or none if NULL. */
static void
spoil_bsf(unsigned int byte, uint8_t value, bool other_key, const struct row *row,
	enum ibv_wc_status want)
{
	struct domains d;
	struct mlx5dv_mkey *other;
	struct plan plan;
	struct rig r;

	rig_init(&r, false, row != NULL);
	plan = (struct plan){.len = 512,
		.crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_512),
		.sig = row != NULL ? domains_of(&d, row) : NULL};
	plan.crypto.signature_crypto_order = BEFORE;
	other = key_create(r.p.pd, MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE);
	CHECK_EQ(post_spoiled(&r, &plan, byte, value, other_key ? other : NULL), want);
	CHECK_EQ(mlx5dv_destroy_mkey(other), 0);
	rig_fini(&r);
}

static void
case_bsf(void)
{
	static const struct row both = {'E', {false, CRC32}, {true, DIF_CRC}, true, BEFORE};

	spoil_bsf(0, 2 << 6 | 1, false, NULL, IBV_WC_SUCCESS); /* the unchanged BSF is accepted */
	/* The key was not made for encryption, so it cannot be configured. */
	spoil_bsf(0, 2 << 6 | 1, true, NULL, IBV_WC_MW_BIND_ERR);
	/*
	 * The size in the BSF announces a BSF for signatures, which is not there; then it announces
	 * a shorter BSF.
	 */
	spoil_bsf(0, 3 << 6 | 1, false, NULL, IBV_WC_LOC_QP_OP_ERR);
	spoil_bsf(0, 1 << 6 | 1, false, NULL, IBV_WC_LOC_QP_OP_ERR);
	spoil_bsf(1, 4, false, NULL, IBV_WC_LOC_QP_OP_ERR); /* unknown order */
	spoil_bsf(3, 1, false, NULL, IBV_WC_LOC_QP_OP_ERR); /* another encryption standard */
	spoil_bsf(8, 0, false, NULL, IBV_WC_LOC_QP_OP_ERR); /* no data unit */
	spoil_bsf(8, 7, false, NULL, IBV_WC_LOC_QP_OP_ERR); /* unknown data unit */
	/* With signatures on both sides, the orders for raw data must be refused. */
	for (uint8_t order = 0; order < 4; order++)
		spoil_bsf(1, order, false, &both,
			order < 2 ? IBV_WC_SUCCESS : IBV_WC_LOC_QP_OP_ERR);
}

/*
 * A key of 4096 bytes has data units of 512 bytes; libmlx5 does not allow this if the device
 * encrypts only one unit. Then the first unit must pass, and no byte of a longer message or of a
 * later unit may move. With any other device all these messages must pass.
 */
static void
one_unit(enum way way, uint32_t off, uint32_t len, bool passes)
{
	enum {
		UNIT_SELECTOR = 8, /* offset of the selector in the BSF */
		UNIT_512 = 1
	};
	const enum ibv_wc_status refused =
		way == LOCAL_OUT || way == LOCAL_IN ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR;
	struct plan plan;
	struct rig r;

	rig_init(&r, false, false);
	plan = (struct plan){.len = 4096, .crypto = crypto_of(&r, true, MLX5DV_BLOCK_SIZE_4096)};
	CHECK_EQ(post_spoiled(&r, &plan, UNIT_SELECTOR, UNIT_512, NULL), IBV_WC_SUCCESS);
	CHECK_EQ(move(&r, way, off, len), passes || !is_single() ? IBV_WC_SUCCESS : refused);
	if (!passes && is_single())
		signature_expect(is_out(way) ? r.p.server.buf : r.p.client.buf, r.data, 0,
			is_out(way) ? 0x22 : 0x11);
	rig_fini(&r);
}

static void
case_one_unit(void)
{
	for (enum way way = LOCAL_OUT; way <= REMOTE_IN; way++) {
		one_unit(way, 0, 512, true);
		one_unit(way, 0, 256, true);
		one_unit(way, 0, 528, false);
		one_unit(way, 0, 1024, false);
		one_unit(way, 512, 512, false);
		one_unit(way, 1024, 512, false);
	}
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"all units, keys, directions and orders pass, in all ways", case_units},
		{"a message has a length that the manual page allows", case_lengths},
		{"a message begins with a data unit", case_inside_unit},
		{"a receive decrypts the message, and nothing after it", case_receive},
		{"memory is encrypted in place", case_in_place},
		{"the two sides of a key may overlap", case_overlap},
		{"a list may have keys that encrypt, and plain memory", case_lists},
		{"data that one key encrypts are decrypted by another", case_both_ends},
		{"a datagram is encrypted", case_datagram},
		{"two queues encrypt with one DEK at once", case_two_queues},
		{"every row of the manual page's table passes, in all ways", case_signatures},
		{"a message may leave out the wire's last signature", case_left_out},
		{"a wrong byte of ciphertext is a wrong signature", case_wrong_signature},
		{"a DEK of another PD or with another tag encrypts nothing", case_wrong_dek},
		{"a destroyed DEK encrypts nothing, and the key can have another one",
			case_destroyed_dek},
		{"the tag of a DEK is compared, if it has one", case_keytag},
		{"a key that was created to encrypt cannot have only signatures",
			case_signature_alone},
		{"a key that encrypts cannot be a part of another key", case_inside_key},
		{"a wrong description of encryption is refused", case_bsf},
		{"a device that encrypts one data unit of a key moves no more", case_one_unit},
		{"a message that begins with a later unit has its tweak",
			case_offset}, /* the last case; a device with one unit lacks it */
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]) - is_single(), argc, argv);
}
