/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data encryption keys of firmware commands (mlx5dv_dek_create(3)). The bytes of a key are in
 * plaintext. With the setting crypto = wrapped, they are wrapped with a KEK, and the context must
 * have logged in.
 *
 * Bit offsets as in the commands of libmlx5 44: a general object of type 0xc. The command that
 * replaces a key has the layout that the Linux driver mlx5_core sends.
 */
#include <errno.h>
#include <string.h>

#include "caps.h"
#include "devx.h"
#include "devx_login.h"
#include "hca.h"
#include "uverbs_pd.h"

enum {
	TYPE_DEK = 0x0c,
	DEK_SELECT_LOW = DEVX_OBJ_AT + 0x20, /* 32 bits: the fields to modify; 1 is the key */
	DEK_STATE = DEVX_OBJ_AT + 0x40,      /* 8 bits */
	DEK_KEY_SIZE = DEVX_OBJ_AT + 0x54,   /* 4 bits: 0 is 128 bits, 1 is 256 bits */
	DEK_HAS_KEYTAG = DEVX_OBJ_AT + 0x58,
	DEK_PURPOSE = DEVX_OBJ_AT + 0x5c, /* 4 bits */
	DEK_PD = DEVX_OBJ_AT + 0x68,      /* 24 bits */
	DEK_OPAQUE = DEVX_OBJ_AT + 0x180,
	DEK_KEY = DEVX_OBJ_AT + 0x200,
	DEK_END = DEVX_OBJ_AT + 0x800
};

#define PURPOSE_AES_XTS 3
#define SELECT_KEY      1
#define STATE_READY     0

struct object_dek {
	struct object obj;
	struct object_pd *pd;
	struct softhca_dek *dek;
};

static int
check_dek(const struct softhca_config *cfg, const uint8_t *in)
{
	if (cfg->crypto == SOFTHCA_CRYPTO_OFF)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_OBJ_TYPE);
	if (bits_get(in, DEVX_LOG_OBJ_RANGE, 5) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_LOG_OBJ_RANGE);
	if (bits_get(in, DEK_KEY_SIZE, 4) > 1)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEK_KEY_SIZE);
	if (bits_get(in, DEK_PURPOSE, 4) != PURPOSE_AES_XTS)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEK_PURPOSE);
	return 0;
}

/* Only a context that has logged in can create, replace and query wrapped DEKs. */
static int
check_allowed(struct softhca_ctx *ctx)
{
	if (ctx->dev->cfg->crypto == SOFTHCA_CRYPTO_WRAPPED && !login_is_there(ctx))
		return DEVX_REFUSE(DEVX_BAD_RES, DEVX_OBJ_TYPE);
	return 0;
}

/*
 * Writes the key in plaintext, together with its keytag if it has one. Returns 0 or an error of
 * softhca_unwrap().
 */
static int
key_of(const struct softhca_config *cfg, const struct softhca_dek_attr *attr, const uint8_t *in,
	uint8_t key[SOFTHCA_DEK_KEY_LEN])
{
	size_t len = (attr->key_256 ? 64 : 32) + (attr->has_keytag ? 8 : 0);

	if (cfg->crypto == SOFTHCA_CRYPTO_WRAPPED)
		return softhca_unwrap(cfg->crypto_kek, in + DEK_KEY / 8, len + SOFTHCA_WRAP_MORE,
			key);
	memcpy(key, in + DEK_KEY / 8, len);
	return 0;
}

/* Translates an error to a refusal, as in devx_refuse.h. */
static int
refuse_key(int err)
{
	return devx_refuse_errno(err, err == -EINVAL ? DEK_KEY : 0);
}

static int
dek_make(struct uverbs_call *call, const uint8_t *in, uint32_t pdn, struct softhca_dek **out)
{
	struct softhca_dek_attr attr = {.pdn = pdn,
		.key_256 = bits_get(in, DEK_KEY_SIZE, 4) == 1,
		.has_keytag = bits_get(in, DEK_HAS_KEYTAG, 1)};
	int rc = key_of(call->ctx->dev->cfg, &attr, in, attr.key);

	memcpy(attr.opaque, in + DEK_OPAQUE / 8, sizeof(attr.opaque));
	if (rc == 0)
		rc = softhca_dek_create(call->ctx->dev, &attr, out);
	explicit_bzero(attr.key, sizeof(attr.key));
	return refuse_key(rc);
}

static int
create_dek(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_pd *pd = pd_find_number(call->ctx, bits_get(in, DEK_PD, 24));
	struct object_dek *dek;
	int rc = check_dek(call->ctx->dev->cfg, in);

	if (rc == 0)
		rc = check_allowed(call->ctx);
	if (rc == 0 && pd == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, DEK_PD);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_dek_class, &dek), 0);
	if (rc != 0)
		return rc;
	rc = dek_make(call, in, pd->pdn, &dek->dek);
	if (rc != 0) {
		object_forget(call->ctx, &dek->obj);
		return rc;
	}
	dek->pd = pd;
	object_use(&pd->obj);
	bits_set(out, DEVX_OBJ_ID, 32, softhca_dek_number(dek->dek));
	*obj = &dek->obj;
	return 0;
}

/* Checks that a command on the object has the object's type and number. */
static int
check_named(const struct object_dek *dek, const uint8_t *in)
{
	if (bits_get(in, DEVX_OBJ_TYPE, 16) != TYPE_DEK ||
		bits_get(in, DEVX_OBJ_ID, 32) != softhca_dek_number(dek->dek))
		return -EINVAL;
	return 0;
}

static int
query_dek(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct object_dek *dek = (struct object_dek *)obj;
	struct softhca_dek_attr attr;
	int rc = check_allowed(call->ctx);

	if (check_named(dek, in) != 0)
		return -EINVAL;
	if (rc != 0)
		return rc;
	softhca_dek_query(dek->dek, &attr);
	bits_set(out, DEVX_OBJ_ID, 32, softhca_dek_number(dek->dek));
	bits_set(out, DEK_STATE, 8, STATE_READY);
	bits_set(out, DEK_KEY_SIZE, 4, attr.key_256);
	bits_set(out, DEK_HAS_KEYTAG, 1, attr.has_keytag);
	bits_set(out, DEK_PURPOSE, 4, PURPOSE_AES_XTS);
	bits_set(out, DEK_PD, 24, attr.pdn);
	memcpy(out + DEK_OPAQUE / 8, attr.opaque, sizeof(attr.opaque));
	return 0;
}

static int
modify_dek(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_dek *dek = (struct object_dek *)obj;
	uint8_t key[SOFTHCA_DEK_KEY_LEN];
	struct softhca_dek_attr attr;
	int rc = check_allowed(call->ctx);

	(void)out;
	if (check_named(dek, in) != 0)
		return -EINVAL;
	if (rc != 0)
		return rc;
	if (bits_get(in, DEVX_OBJ_AT, 32) != 0 || bits_get(in, DEK_SELECT_LOW, 32) != SELECT_KEY)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEK_SELECT_LOW);
	softhca_dek_query(dek->dek, &attr);
	rc = key_of(call->ctx->dev->cfg, &attr, in, key);
	if (rc == 0)
		rc = softhca_dek_rekey(dek->dek, key);
	explicit_bzero(key, sizeof(key));
	return refuse_key(rc);
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_dek *dek = (struct object_dek *)obj;
	int rc = softhca_dek_destroy(dek->dek);

	if (rc == 0)
		object_unuse(&dek->pd->obj);
	return rc;
}

static uint32_t
limit(const struct softhca_config *cfg)
{
	return 1U << CAPS_LOG_MAX_DEKS;
}

static const struct devx_create creates[] = {
	{DEVX_CREATE_GENERAL, DEK_END / 8, create_dek, TYPE_DEK},
};
static const struct devx_command commands[] = {
	{DEVX_MODIFIES, &devx_dek_class, DEVX_MODIFY_GENERAL, DEK_END / 8, DEVX_HEADER, modify_dek},
	{DEVX_QUERIES, &devx_dek_class, DEVX_QUERY_GENERAL, DEVX_HEADER, DEK_END / 8, query_dek},
};

const struct object_class devx_dek_class = {
	.name = "DEK",
	.size = sizeof(struct object_dek),
	.limit = limit,
	.end = end,
	.by_devx = true,
	CLASS_CREATES(creates),
	CLASS_COMMANDS(commands),
};
