/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data encryption keys by firmware commands, in plaintext (mlx5dv_dek_create(3)): there is no login
 * that wrapped ones would need.
 *
 * Offsets in bits, as libmlx5 44 sends them: a general object of type 0xc. To modify: the Linux
 * driver's mlx5_core replaces a key so.
 */
#include <errno.h>
#include <string.h>

#include "devx.h"
#include "uverbs.h"

enum {
	TYPE_DEK = 0x0c,
	DEK_SELECT_LOW = DEVX_OBJ_AT + 0x20, /* 32 bits: what to modify; 1: the key */
	DEK_STATE = DEVX_OBJ_AT + 0x40,      /* 8 bits */
	DEK_KEY_SIZE = DEVX_OBJ_AT + 0x54,   /* 4 bits: 0 is 128, 1 is 256 */
	DEK_HAS_KEYTAG = DEVX_OBJ_AT + 0x58,
	DEK_PURPOSE = DEVX_OBJ_AT + 0x5c, /* 4 bits */
	DEK_PD = DEVX_OBJ_AT + 0x68,      /* 24 bits */
	DEK_OPAQUE = DEVX_OBJ_AT + 0x180,
	DEK_KEY = DEVX_OBJ_AT + 0x200,
	DEK_END = DEVX_OBJ_AT + 0x800
};

#define PURPOSE_AES_XTS 3
#define SELECT_KEY      1

static int
check_dek(const struct softhca_config *cfg, const uint8_t *in)
{
	if (cfg->crypto == SOFTHCA_CRYPTO_OFF)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_OBJ_TYPE);
	if (devx_get(in, DEVX_LOG_OBJ_RANGE, 5) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_LOG_OBJ_RANGE);
	if (devx_get(in, DEK_KEY_SIZE, 4) > 1)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEK_KEY_SIZE);
	if (devx_get(in, DEK_PURPOSE, 4) != PURPOSE_AES_XTS)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEK_PURPOSE);
	return 0;
}

static int
dek_make(struct uverbs_call *call, const uint8_t *in, uint32_t pdn, struct softhca_dek **out)
{
	struct softhca_dek_attr attr = {.pdn = pdn,
		.key_256 = devx_get(in, DEK_KEY_SIZE, 4) == 1,
		.has_keytag = devx_get(in, DEK_HAS_KEYTAG, 1)};
	int rc;

	memcpy(attr.key, in + DEK_KEY / 8, sizeof(attr.key));
	memcpy(attr.opaque, in + DEK_OPAQUE / 8, sizeof(attr.opaque));
	rc = softhca_dek_create(call->ctx->dev, &attr, out);
	explicit_bzero(attr.key, sizeof(attr.key));
	return rc;
}

static int
create_dek(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_pd *pd = ctx_find_pdn(call->ctx, devx_get(in, DEK_PD, 24));
	struct object_dek *dek;
	int rc = check_dek(call->ctx->dev->cfg, in);

	if (rc == 0 && pd == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, DEK_PD);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, OBJ_DEVX_DEK, sizeof(*dek), &dek),
			0);
	if (rc != 0)
		return rc;
	rc = devx_refuse_errno(dek_make(call, in, pd->pdn, &dek->dek), 0);
	if (rc != 0) {
		object_forget(call->ctx, &dek->obj);
		return rc;
	}
	dek->pd = pd;
	object_use(&pd->obj);
	devx_set(out, DEVX_OBJ_ID, 32, softhca_dek_number(dek->dek));
	*obj = &dek->obj;
	return 0;
}

/* A command on the object says its type and number again. */
static int
check_named(const struct object_dek *dek, const uint8_t *in)
{
	if (devx_get(in, DEVX_OBJ_TYPE, 16) != TYPE_DEK ||
		devx_get(in, DEVX_OBJ_ID, 32) != softhca_dek_number(dek->dek))
		return -EINVAL;
	return 0;
}

static int
query_dek(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct object_dek *dek = (struct object_dek *)obj;
	enum softhca_dek_state state;
	struct softhca_dek_attr attr;

	(void)call;
	if (check_named(dek, in) != 0)
		return -EINVAL;
	softhca_dek_query(dek->dek, &attr, &state);
	devx_set(out, DEVX_OBJ_ID, 32, softhca_dek_number(dek->dek));
	devx_set(out, DEK_STATE, 8, state);
	devx_set(out, DEK_KEY_SIZE, 4, attr.key_256);
	devx_set(out, DEK_HAS_KEYTAG, 1, attr.has_keytag);
	devx_set(out, DEK_PURPOSE, 4, PURPOSE_AES_XTS);
	devx_set(out, DEK_PD, 24, attr.pdn);
	memcpy(out + DEK_OPAQUE / 8, attr.opaque, sizeof(attr.opaque));
	return 0;
}

static int
modify_dek(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct object_dek *dek = (struct object_dek *)obj;

	(void)call;
	(void)out;
	if (check_named(dek, in) != 0)
		return -EINVAL;
	if (devx_get(in, DEVX_OBJ_AT, 32) != 0 || devx_get(in, DEK_SELECT_LOW, 32) != SELECT_KEY)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEK_SELECT_LOW);
	softhca_dek_rekey(dek->dek, in + DEK_KEY / 8);
	return 0;
}

const struct devx_create devx_dek_creates[] = {
	{DEVX_CREATE_GENERAL, DEK_END / 8, create_dek, TYPE_DEK},
	{.opcode = 0},
};
const struct devx_command devx_dek_modifies[] = {
	{OBJ_DEVX_DEK, DEVX_MODIFY_GENERAL, DEK_END / 8, DEVX_HEADER, modify_dek},
	{.opcode = 0},
};
const struct devx_command devx_dek_queries[] = {
	{OBJ_DEVX_DEK, DEVX_QUERY_GENERAL, DEVX_HEADER, DEK_END / 8, query_dek},
	{.opcode = 0},
};
