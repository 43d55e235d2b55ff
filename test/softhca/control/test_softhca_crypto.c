/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AES-XTS objects on the emulated adapter, through stock libmlx5: capabilities, DEKs with their
 * states, and keys for encryption. test_crypto.c moves data through such keys.
 *
 * The expected results depend on the setting: SOFTHCA_CRYPTO is off, plaintext, plaintext_single or
 * wrapped.
 */
#include "devx_bits.h"
#include "softhca_pair.h"
#include "softhca_wrap.h"

/* Bits of general object types (NVIDIA "Ethernet Adapters Programming Manual"). */
enum {
	IN_LEN = 272,
	OPCODE = 0x00,
	OBJ_TYPE = 0x30,
	OBJ_ID = 0x40,
	LOG_RANGE = 0x63,
	SELECT = 0xa0,
	STATE = 0xc0,
	KEY_SIZE = 0xd4,
	KEYTAG = 0xd8,
	OPAQUE = 0x200,
	PURPOSE = 0xdc,
	PD = 0xe8,
	KEY = 0x280,
	CREATE = 0xa00,
	MODIFY = 0xa01,
	QUERY = 0xa02,
	DEK = 0x0c,
	BAD_PARAM = 3,
	BAD_RES = 5,
	BAD_INP_LEN = 0x50
};

static bool
is_on(void)
{
	const char *crypto = getenv("SOFTHCA_CRYPTO");

	return crypto != NULL && strcmp(crypto, "off") != 0;
}

static bool
is_single(void)
{
	return is_on() && strcmp(getenv("SOFTHCA_CRYPTO"), "plaintext_single") == 0;
}

static struct mlx5dv_dek_init_attr
dek_attr(struct ibv_pd *pd)
{
	struct mlx5dv_dek_init_attr attr = {.key_size = MLX5DV_CRYPTO_KEY_SIZE_128,
		.key_purpose = MLX5DV_CRYPTO_KEY_PURPOSE_AES_XTS,
		.pd = pd,
		.opaque = "dek 007",
		.comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN};

	for (unsigned int i = 0; i < sizeof(attr.key); i++)
		attr.key[i] = (char)(0x40 + i);
	return attr;
}

static struct mlx5dv_mkey *
crypto_key(struct ibv_pd *pd, bool signature)
{
	struct mlx5dv_mkey_init_attr attr = {.pd = pd,
		.max_entries = 4,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_CRYPTO |
				(signature ? MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE : 0)};

	return mlx5dv_create_mkey(&attr);
}

static uint32_t
pdn_of(struct ibv_pd *pd)
{
	struct mlx5dv_pd view = {0};
	struct mlx5dv_obj obj = {.pd = {.in = pd, .out = &view}};

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	return view.pdn;
}

static void
command(uint8_t in[IN_LEN], uint16_t opcode, uint32_t id)
{
	memset(in, 0, IN_LEN);
	devx_put(in, OPCODE, 16, opcode);
	devx_put(in, OBJ_TYPE, 16, DEK);
	devx_put(in, OBJ_ID, 32, id);
}

/* ---------------------------------------------------------------- capabilities */

static void
case_caps(void)
{
	struct mlx5dv_context dv = {.comp_mask = MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD};
	struct ibv_context *ctx = pair_open(0);
	struct mlx5dv_crypto_caps caps;

	CHECK_EQ(mlx5dv_query_device(ctx, &dv), 0);
	CHECK((dv.comp_mask & MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD) != 0);
	caps = dv.crypto_caps;
	CHECK_EQ(caps.flags,
		(is_on() ? MLX5DV_CRYPTO_CAPS_CRYPTO : 0) |
			(wrap_is_on() ? MLX5DV_CRYPTO_CAPS_WRAPPED_CRYPTO_OPERATIONAL : 0));
	CHECK_EQ(caps.crypto_engines,
		(is_on() ? MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK : 0) |
			(is_on() && !is_single() ? MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK
						 : 0));
	CHECK_EQ(caps.wrapped_import_method,
		wrap_is_on() ? MLX5DV_CRYPTO_WRAPPED_IMPORT_METHOD_CAP_AES_XTS : 0);
	CHECK_EQ(caps.log_max_num_deks, is_on() ? 12 : 0);
	CHECK_EQ(caps.failed_selftests, 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_off(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct mlx5dv_dek_init_attr attr = dek_attr(pd);

	CHECK(pd != NULL);
	CHECK(mlx5dv_dek_create(ctx, &attr) == NULL && errno == EOPNOTSUPP);
	CHECK(crypto_key(pd, false) == NULL && errno == EOPNOTSUPP);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* The context has no crypto login, so creating a wrapped DEK must be refused. */
static void
case_no_login(void)
{
	struct mlx5dv_crypto_login_attr login = {0};
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct mlx5dv_dek_init_attr attr = dek_attr(pd);

	CHECK_EQ(mlx5dv_crypto_login(ctx, &login), EOPNOTSUPP);
	attr.comp_mask = 0;
	CHECK(mlx5dv_dek_create(ctx, &attr) == NULL);
	CHECK_EQ(errno, is_on() ? EINVAL : EOPNOTSUPP);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---------------------------------------------------------------- logins and wrapped DEKs */

static enum mlx5dv_crypto_login_state
login_state(struct ibv_context *ctx)
{
	enum mlx5dv_crypto_login_state state;

	CHECK_EQ(mlx5dv_crypto_login_query_state(ctx, &state), 0);
	return state;
}

/*
 * Flips a bit of the wrapped credential, or names a credential or KEK that does not exist: the
 * login is refused.
 */
static void
case_wrong_login(void)
{
	struct ibv_context *ctx = pair_open(0);

	for (unsigned int i = 0; i < 4; i++) {
		struct mlx5dv_crypto_login_attr attr = wrap_login_attr();
		uint8_t credential[WRAP_CREDENTIAL];

		attr.credential[17] ^= i == 0;
		attr.credential_id = i == 1;
		attr.import_kek_id = i == 2 ? 0xffffff : 0;
		if (i == 3) { /* correctly wrapped, but another credential */
			wrap_setting("SOFTHCA_CRYPTO_CREDENTIAL", credential);
			credential[WRAP_CREDENTIAL - 1] ^= 1;
			wrap_key(credential, WRAP_CREDENTIAL, (uint8_t *)attr.credential);
		}
		CHECK_EQ(mlx5dv_crypto_login(ctx, &attr), EINVAL);
		CHECK_EQ(login_state(ctx), MLX5DV_CRYPTO_LOGIN_STATE_NO_LOGIN);
	}
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_login(void)
{
	struct mlx5dv_crypto_login_attr attr = wrap_login_attr();
	struct mlx5dv_crypto_login_attr_ex ex = {.credential = attr.credential,
		.credential_len = sizeof(attr.credential)};
	struct mlx5dv_crypto_login_query_attr query = {.state = 99};
	struct ibv_context *ctx = pair_open(0), *other = pair_open(0);
	struct mlx5dv_crypto_login_obj *login;

	CHECK_EQ(mlx5dv_crypto_logout(ctx), ENOENT);
	CHECK_EQ(mlx5dv_crypto_login(ctx, &attr), 0);
	CHECK_EQ(login_state(ctx), MLX5DV_CRYPTO_LOGIN_STATE_VALID);
	CHECK_EQ(mlx5dv_crypto_login(ctx, &attr), EEXIST);
	CHECK(mlx5dv_crypto_login_create(ctx, &ex) == NULL); /* a context can have one login only */
	CHECK_EQ(errno, EBUSY);
	CHECK_EQ(login_state(other), MLX5DV_CRYPTO_LOGIN_STATE_NO_LOGIN);
	login = mlx5dv_crypto_login_create(other, &ex);
	CHECK(login != NULL);
	CHECK_EQ(mlx5dv_crypto_login_query(login, &query), 0);
	CHECK_EQ(query.state, MLX5DV_CRYPTO_LOGIN_STATE_VALID);
	CHECK_EQ(mlx5dv_crypto_login_destroy(login), 0);
	CHECK_EQ(mlx5dv_crypto_logout(ctx), 0);
	CHECK_EQ(login_state(ctx), MLX5DV_CRYPTO_LOGIN_STATE_NO_LOGIN);
	CHECK_EQ(mlx5dv_crypto_login(ctx, &attr), 0);
	CHECK_EQ(mlx5dv_crypto_logout(ctx), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
	CHECK_EQ(ibv_close_device(other), 0);
}

/*
 * A wrapped DEK with one bit changed, of another size, or with a keytag where the configuration has
 * none: it is refused.
 */
static void
case_wrong_wrapping(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct mlx5dv_dek_init_attr attr;
	uint8_t key[32];

	wrap_login(ctx);
	for (unsigned int i = 0; i < 4; i++) {
		attr = dek_attr(pd);
		memcpy(key, attr.key, sizeof(key));
		attr.comp_mask = 0;
		wrap_dek(&attr, key, sizeof(key));
		attr.key[39] ^= i == 0;
		attr.key_size = i == 1 ? MLX5DV_CRYPTO_KEY_SIZE_256 : MLX5DV_CRYPTO_KEY_SIZE_128;
		attr.has_keytag = i == 2;
		if (i == 3) /* a plaintext DEK */
			attr.comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN;
		CHECK(mlx5dv_dek_create(ctx, &attr) == NULL);
		CHECK_EQ(errno, EINVAL);
	}
	CHECK_EQ(mlx5dv_crypto_logout(ctx), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* Without a login, commands that create, replace or query a wrapped DEK must be refused. */
static void
case_logged_out(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct mlx5dv_dek_init_attr attr = dek_attr(pd);
	uint8_t in[IN_LEN], out[IN_LEN] = {0}, key[32];
	struct mlx5dv_dek_attr now = {.state = 99};
	struct mlx5dv_devx_obj *obj;
	struct mlx5dv_dek *dek;

	memcpy(key, attr.key, sizeof(key));
	attr.comp_mask = 0;
	wrap_dek(&attr, key, sizeof(key));
	CHECK(mlx5dv_dek_create(ctx, &attr) == NULL && errno == EINVAL);
	command(in, CREATE, 0);
	devx_put(in, PURPOSE, 4, 3);
	devx_put(in, PD, 24, pdn_of(pd));
	memcpy(in + KEY / 8, attr.key, 40);
	CHECK(mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, 16) == NULL);
	CHECK_EQ(devx_get(out, 0, 8), BAD_RES);
	wrap_login(ctx);
	dek = mlx5dv_dek_create(ctx, &attr);
	obj = mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, 16);
	CHECK(dek != NULL && obj != NULL);
	CHECK_EQ(mlx5dv_dek_query(dek, &now), 0);
	CHECK_EQ(now.state, MLX5DV_DEK_STATE_READY);
	CHECK(memcmp(now.opaque, "dek 007", 8) == 0);
	command(in, MODIFY, devx_get(out, OBJ_ID, 32));
	devx_put(in, SELECT, 32, 1);
	memcpy(in + KEY / 8, attr.key, 40);
	CHECK_EQ(mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, 16), 0);
	in[KEY / 8] ^= 1;
	CHECK(mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, 16) != 0);
	CHECK_EQ(devx_get(out, 0x20, 32), 0x10000 + KEY);
	in[KEY / 8] ^= 1;
	CHECK_EQ(mlx5dv_crypto_logout(ctx), 0);
	CHECK(mlx5dv_devx_obj_modify(obj, in, sizeof(in), out, 16) != 0);
	CHECK_EQ(devx_get(out, 0, 8), BAD_RES);
	CHECK_EQ(mlx5dv_dek_query(dek, &now), EINVAL);
	CHECK_EQ(mlx5dv_dek_destroy(dek), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---------------------------------------------------------------- DEKs */

static void
case_deks(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct mlx5dv_dek_init_attr attr = dek_attr(pd);
	struct mlx5dv_dek *dek[2];

	dek[0] = mlx5dv_dek_create(ctx, &attr);
	attr.key_size = MLX5DV_CRYPTO_KEY_SIZE_256;
	attr.has_keytag = true;
	memcpy(attr.opaque, "another", 8);
	dek[1] = mlx5dv_dek_create(ctx, &attr);
	CHECK(dek[0] != NULL && dek[1] != NULL);
	for (int i = 0; i < 2; i++) {
		struct mlx5dv_dek_attr now = {.state = 99};

		CHECK_EQ(mlx5dv_dek_query(dek[i], &now), 0);
		CHECK_EQ(now.state, MLX5DV_DEK_STATE_READY);
		CHECK(memcmp(now.opaque, i == 0 ? "dek 007" : "another", 8) == 0);
	}
	/* The DEK's protection domain is used, so it cannot be freed. */
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(mlx5dv_dek_destroy(dek[0]), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(mlx5dv_dek_destroy(dek[1]), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* It must be possible to create as many DEKs as the adapter reports, and no more. */
static void
case_limit(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct mlx5dv_dek_init_attr attr = dek_attr(pd);
	static struct mlx5dv_dek *dek[1 << 12];

	for (unsigned int i = 0; i < 1 << 12; i++)
		CHECK((dek[i] = mlx5dv_dek_create(ctx, &attr)) != NULL);
	CHECK(mlx5dv_dek_create(ctx, &attr) == NULL);
	CHECK_EQ(mlx5dv_dek_destroy(dek[7]), 0);
	CHECK((dek[7] = mlx5dv_dek_create(ctx, &attr)) != NULL);
	for (unsigned int i = 0; i < 1 << 12; i++)
		CHECK_EQ(mlx5dv_dek_destroy(dek[i]), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* Creates a DEK with one field changed. Returns the status of the firmware's answer. */
static uint32_t
refusal(struct ibv_pd *pd, unsigned int bit, unsigned int width, uint32_t value, size_t len)
{
	uint8_t in[IN_LEN], out[32] = {0};

	command(in, CREATE, 0);
	devx_put(in, PURPOSE, 4, 3);
	devx_put(in, PD, 24, pdn_of(pd));
	devx_put(in, bit, width, value);
	CHECK(mlx5dv_devx_obj_create(pd->context, in, len, out, sizeof(out)) == NULL);
	CHECK_EQ(errno, EREMOTEIO);
	/*
	 * A syndrome is 0x10000 plus the bit offset of the wrong field: doc/softhca-reference.md.
	 */
	CHECK_EQ(devx_get(out, 0x20, 32), 0x10000 + (len < IN_LEN ? 0 : is_on() ? bit : OBJ_TYPE));
	return devx_get(out, 0, 8);
}

static void
case_refusals(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	if (is_on()) {
		CHECK_EQ(refusal(pd, PURPOSE, 4, 2, IN_LEN), BAD_PARAM);
		CHECK_EQ(refusal(pd, KEY_SIZE, 4, 2, IN_LEN), BAD_PARAM);
		CHECK_EQ(refusal(pd, LOG_RANGE, 5, 1, IN_LEN), BAD_PARAM);
		CHECK_EQ(refusal(pd, PD, 24, 0xffffff, IN_LEN), BAD_RES);
		CHECK_EQ(refusal(pd, KEY, 32, 0, IN_LEN),
			BAD_PARAM); /* the DEK's two AES keys are equal */
		CHECK_EQ(refusal(pd, KEY_SIZE, 4, 1, IN_LEN - 4), BAD_INP_LEN);
	} else {
		CHECK_EQ(refusal(pd, KEY_SIZE, 4, 1, IN_LEN), BAD_PARAM);
	}
	CHECK_EQ(refusal(pd, OBJ_TYPE, 16, 0x1f, IN_LEN), BAD_PARAM);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * Replaces a DEK's key, which is possible only by a command. No command returns the bytes of a key.
 */
static void
case_mkeys(void)
{
	static const struct {
		uint32_t crypto, bsf, units; /* values in the command */
		/* the field that the syndrome must name; 0: the command succeeds */
		unsigned int named;
	} keys[] = {
		{0, 0, 0, 0},
		{0, 1, 4, 0},
		{1, 1, 4, 0},
		{1, 1, 8, 0},            /* with a BSF for signatures as well */
		{1, 0, 0, 0x80 + 0x1e3}, /* encryption without a BSF */
		{2, 1, 4, 0x80 + 0x1e3}, /* another value of the encryption field */
		{3, 1, 4, 0x80 + 0x1e3},
		{0, 1, 8, 0x80 + 0x100},
		{1, 1, 5, 0x80 + 0x100},
		{1, 1, 12, 0x80 + 0x100},
	};
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		uint8_t in[IN_LEN] = {0}, out[32] = {0};
		struct mlx5dv_devx_obj *obj;

		devx_put(in, 0, 16, 0x200);
		devx_put(in, 0x80 + 0x01, 1, 1);
		devx_put(in, 0x80 + 0x10, 1, 1);
		devx_put(in, 0x80 + 0x16, 2, 2);
		devx_put(in, 0x80 + 0x20, 24, 0xffffff);
		devx_put(in, 0x80 + 0x61, 1, keys[i].bsf);
		devx_put(in, 0x80 + 0x68, 24, pdn_of(pd));
		devx_put(in, 0x80 + 0x100, 32, keys[i].units);
		devx_put(in, 0x80 + 0x1a0, 32, 4);
		devx_put(in, 0x80 + 0x1e3, 2, keys[i].crypto);
		obj = mlx5dv_devx_obj_create(ctx, in, IN_LEN, out, sizeof(out));
		if (keys[i].named == 0) {
			CHECK(obj != NULL);
			CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
			continue;
		}
		CHECK(obj == NULL && errno == EREMOTEIO);
		CHECK_EQ(devx_get(out, 0, 8), BAD_PARAM);
		CHECK_EQ(devx_get(out, 0x20, 32), 0x10000 + keys[i].named);
	}
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_modify(void)
{
	uint8_t in[IN_LEN], out[IN_LEN];
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct mlx5dv_devx_obj *dek;
	uint32_t id;

	command(in, CREATE, 0);
	devx_put(in, PURPOSE, 4, 3);
	devx_put(in, KEY_SIZE, 4, 1);
	devx_put(in, PD, 24, pdn_of(pd));
	devx_put(in, KEYTAG, 1, 1);
	memcpy(in + OPAQUE / 8, "opaque!", 8);
	memset(in + KEY / 8, 0x77, 32);
	memset(out, 0, sizeof(out));
	dek = mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, 16);
	CHECK(dek != NULL);
	id = devx_get(out, OBJ_ID, 32);
	CHECK(id != 0);
	command(in, MODIFY, id);
	devx_put(in, SELECT, 32, 1);
	memset(in + KEY / 8, 0x66, 64);
	CHECK(mlx5dv_devx_obj_modify(dek, in, sizeof(in), out, 16) != 0);
	CHECK_EQ(devx_get(out, 0, 8), BAD_PARAM);
	CHECK_EQ(devx_get(out, 0x20, 32), 0x10000 + KEY); /* the DEK's two AES keys are equal */
	memset(in + KEY / 8, 0x77, 32);
	CHECK_EQ(mlx5dv_devx_obj_modify(dek, in, sizeof(in), out, 16), 0);
	for (unsigned int i = 0; i < 2; i++) {
		/*
		 * The field select must name the key, and nothing else: another bit, or a bit in
		 * its upper half, is refused.
		 */
		devx_put(in, SELECT, 32, i == 0 ? 2 : 1);
		devx_put(in, SELECT - 32, 32, i);
		CHECK(mlx5dv_devx_obj_modify(dek, in, sizeof(in), out, 16) != 0);
		CHECK_EQ(devx_get(out, 0, 8), BAD_PARAM);
		CHECK_EQ(devx_get(out, 0x20, 32), 0x10000 + SELECT);
	}
	/* The command names an object of another type, so the kernel refuses the command. */
	command(in, MODIFY, id);
	devx_put(in, SELECT, 32, 1);
	devx_put(in, OBJ_TYPE, 16, DEK + 1);
	CHECK(mlx5dv_devx_obj_modify(dek, in, sizeof(in), out, 16) != 0 && errno == EINVAL);
	/* The kernel checks that the command names the object on which the method was called. */
	command(in, QUERY, id + 1);
	CHECK(mlx5dv_devx_obj_query(dek, in, 16, out, sizeof(out)) != 0);
	command(in, QUERY, id);
	CHECK_EQ(mlx5dv_devx_obj_query(dek, in, 16, out, sizeof(out)), 0);
	memset(in, 0, sizeof(in));
	devx_put(in, OBJ_ID, 32, id);
	devx_put(in, KEY_SIZE, 4, 1);
	devx_put(in, KEYTAG, 1, 1);
	devx_put(in, PURPOSE, 4, 3);
	devx_put(in, PD, 24, pdn_of(pd));
	memcpy(in + OPAQUE / 8, "opaque!", 8);
	/* the answer has the state "ready", and no bytes of the key */
	CHECK(check_bytes(out, in, sizeof(out), "QUERY_DEK"));
	CHECK_EQ(mlx5dv_devx_obj_destroy(dek), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/* ---------------------------------------------------------------- keys for encryption */

static struct mlx5dv_crypto_attr
crypto_attr(struct mlx5dv_dek *dek)
{
	return (struct mlx5dv_crypto_attr){.crypto_standard = MLX5DV_CRYPTO_STANDARD_AES_XTS,
		.encrypt_on_tx = true,
		.data_unit_size = MLX5DV_BLOCK_SIZE_512,
		.dek = dek};
}

/*
 * Configures the key for 512 bytes, with the crypto setter if asked. Returns the result of
 * ibv_wr_complete().
 */
static int
configure(struct pair_end *e, struct mlx5dv_mkey *mkey, const struct mlx5dv_crypto_attr *crypto,
	uint32_t len)
{
	struct mlx5dv_mkey_conf_attr conf = {0};
	struct ibv_sge v = {(uintptr_t)e->buf, len, e->mr->lkey};

	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(e->dvx, mkey, crypto != NULL ? 3 : 2, &conf);
	mlx5dv_wr_set_mkey_access_flags(e->dvx, IBV_ACCESS_LOCAL_WRITE);
	mlx5dv_wr_set_mkey_layout_list(e->dvx, 1, &v);
	if (crypto != NULL)
		mlx5dv_wr_set_mkey_crypto(e->dvx, crypto);
	return ibv_wr_complete(e->qpx);
}

/*
 * A key for encryption without crypto attributes must move no data (mlx5dv_wr_mkey_configure(3)).
 */
static void
case_untold(void)
{
	struct mlx5dv_mkey *mkey;
	struct pair p;

	pair_init(&p, &(struct pair_opts){.keys = true});
	mkey = crypto_key(p.pd, false);
	CHECK(mkey != NULL);
	memset(p.client.buf, 0x11, 512);
	memset(p.server.buf, 0x22, 512);
	CHECK_EQ(configure(&p.client, mkey, NULL, 512), 0);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	ibv_wr_start(p.client.qpx);
	p.client.qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(p.client.qpx, p.server.mr->rkey, (uintptr_t)p.server.buf);
	ibv_wr_set_sge(p.client.qpx, mkey->lkey, 0, 512);
	pair_publish(&p.client);
	CHECK_EQ(ibv_wr_complete(p.client.qpx), 0);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_LOC_PROT_ERR);
	for (unsigned int i = 0; i < 512; i++)
		CHECK_EQ(p.server.buf[i], 0x22);
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	pair_fini(&p);
}

/*
 * If the device encrypts only one data unit for each key, libmlx5 must refuse a key of two data
 * units.
 */
static void
case_units(void)
{
	struct mlx5dv_dek_init_attr attr;
	struct mlx5dv_crypto_attr crypto;
	struct mlx5dv_mkey *mkey;
	struct mlx5dv_dek *dek;
	struct pair p;

	pair_init(&p, &(struct pair_opts){.keys = true});
	attr = dek_attr(p.pd);
	dek = mlx5dv_dek_create(p.ctx, &attr);
	mkey = crypto_key(p.pd, false);
	CHECK(dek != NULL && mkey != NULL);
	crypto = crypto_attr(dek);
	CHECK_EQ(configure(&p.client, mkey, &crypto, 1024), is_single() ? EINVAL : 0);
	CHECK_EQ(mlx5dv_destroy_mkey(mkey), 0);
	CHECK_EQ(mlx5dv_dek_destroy(dek), 0);
	pair_fini(&p);
}

int
main(int argc, char **argv)
{
	static const struct check_case off[] = {
		{"the capabilities are those of the setting", case_caps},
		{"there is no login, and no wrapped DEK", case_no_login},
		{"without the setting there are neither DEKs nor keys for encryption", case_off},
		{"a DEK with a wrong field is refused", case_refusals},
	};
	static const struct check_case on[] = {
		{"the capabilities are those of the setting", case_caps},
		{"there is no login, and no wrapped DEK", case_no_login},
		{"DEKs of both sizes are ready, and hold their protection domain", case_deks},
		{"there are as many DEKs as the adapter says, and no more", case_limit},
		{"a DEK with a wrong field is refused", case_refusals},
		{"a DEK's key can be replaced, and never read", case_modify},
		{"a key has room for the BSFs that it takes", case_mkeys},
		{"a key for encryption moves nothing before it is configured", case_untold},
		{"the engine decides whether a key may have several data units", case_units},
	};

	static const struct check_case wrapped[] = {
		{"the capabilities are those of the setting", case_caps},
		{"a login with a wrong credential is refused", case_wrong_login},
		{"a context logs in once, and out", case_login},
		{"a DEK that is not wrapped with the KEK is refused", case_wrong_wrapping},
		{"a wrapped DEK needs a login", case_logged_out},
		{"a key has room for the BSFs that it takes", case_mkeys},
	};

	if (wrap_is_on())
		return check_main(wrapped, sizeof(wrapped) / sizeof(wrapped[0]), argc, argv);
	return is_on() ? check_main(on, sizeof(on) / sizeof(on[0]), argc, argv)
		       : check_main(off, sizeof(off) / sizeof(off[0]), argc, argv);
}
