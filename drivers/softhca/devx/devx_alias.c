/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of other functions of the card: ALLOW_OTHER_VHCA_ACCESS, by which the owner of a key allows
 * aliases of it, and the general object by which another function makes an alias.
 *
 * Bit offsets: UCX, dv/ib_mlx5_ifc.h; Linux, mlx5_ifc.h (allow_other_vhca_access_in,
 * alias_context); DPDK, mlx5_prm.h.
 */
#include <errno.h>
#include <string.h>

#include "devx.h"
#include "hca.h"
#include "uverbs_mr.h"
#include "uverbs_pd.h"

#define CMD_ALLOW_OTHER_VHCA 0xb16
#define TYPE_MKEY            0xff01

enum {
	ALLOW_TYPE = 0x90,        /* 16 bits: kind of the object */
	ALLOW_OBJ = 0xa0,         /* 32 bits: for a key, its number without the variant */
	ALLOW_ACCESS_KEY = 0x100, /* 256 bits */
	ALLOW_END = 0x200
};

enum {
	ALIAS_BIT = 0x60,                  /* 1 bit: the new object is an alias */
	ALIAS_VHCA = DEVX_OBJ_AT,          /* 16 bits */
	ALIAS_STATUS = DEVX_OBJ_AT + 0x1d, /* 3 bits; 0: the alias is valid */
	ALIAS_OBJ = DEVX_OBJ_AT + 0x20,    /* 32 bits */
	ALIAS_ACCESS_KEY = DEVX_OBJ_AT + 0x80,
	ALIAS_METADATA = DEVX_OBJ_AT + 0x180, /* 128 bits; for a key, its first 32 are the PD */
	ALIAS_END = DEVX_OBJ_AT + 0x200
};

#define STATUS_VALID   0
#define STATUS_INVALID 1 /* Assumed: alias-status. */

struct object_alias {
	struct object obj;
	struct object_pd *pd;
	struct softhca_mkey *mkey;
	uint32_t vhca_id, index;
};

/* ---------------------------------------------------------------- the owner */

/* Finds a region, a window or an indirect key of the context by its number. */
static struct object_mr *
find_key(struct softhca_ctx *ctx, uint32_t index)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object *obj = object_find(ctx, NULL, i);
		struct object_mr *mr = (struct object_mr *)obj;

		if (obj != NULL && obj->cls->end == mr_end &&
			softhca_mkey_key(mr->mkey) >> 8 == index)
			return mr;
	}
	return NULL;
}

static bool
is_alias(struct softhca_ctx *ctx, uint32_t index)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object *obj = object_find(ctx, &devx_alias_class, i);

		if (obj != NULL &&
			softhca_mkey_key(((struct object_alias *)obj)->mkey) >> 8 == index)
			return true;
	}
	return false;
}

/*
 * True if a key of this kind may be allowed. BlueField-3 allows keys over DEVX user memory, and
 * indirect keys; BlueField-2 and ConnectX-7 refuse indirect keys (UCX, pull requests 10476 and
 * 10980). Keys for signatures or encryption and keys of ibv_reg_mr(3) are refused. Assumed:
 * alias-of-region, alias-of-signature.
 */
static bool
may_allow(const struct softhca_config *cfg, const struct object_mr *mr)
{
	if (mr->obj.cls != &devx_mkey_class || mr->attr.bsf || mr->attr.crypto)
		return false;
	return mr->attr.kind == SOFTHCA_MKEY_MR || cfg->cross_vhca == SOFTHCA_CROSS_VHCA_ANY;
}

static int
allow(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct softhca_config *cfg = call->ctx->dev->cfg;
	const uint32_t index = bits_get(in, ALLOW_OBJ, 32);
	struct object_mr *mr;

	(void)obj;
	(void)out;
	if (cfg->cross_vhca == SOFTHCA_CROSS_VHCA_OFF)
		return DEVX_REFUSE(DEVX_BAD_OP, DEVX_OPCODE);
	if (bits_get(in, ALLOW_TYPE, 16) != TYPE_MKEY)
		return DEVX_REFUSE(DEVX_BAD_PARAM, ALLOW_TYPE);
	if (is_alias(call->ctx, index)) /* Assumed: alias-of-alias. */
		return DEVX_REFUSE(DEVX_BAD_PARAM, ALLOW_OBJ);
	mr = find_key(call->ctx, index);
	if (mr == NULL)
		return DEVX_REFUSE(DEVX_BAD_RES, ALLOW_OBJ);
	if (!may_allow(cfg, mr))
		return DEVX_REFUSE(DEVX_BAD_PARAM, ALLOW_OBJ);
	softhca_mkey_allow(mr->mkey, in + ALLOW_ACCESS_KEY / 8);
	return 0;
}

/* ---------------------------------------------------------------- the importer */

/* A wrong alias fails at its creation. Assumed: alias-refused. */
static int
refuse_alias(int rc)
{
	switch (rc) {
	case SOFTHCA_ALIAS_NO_VHCA:
		return DEVX_REFUSE(DEVX_BAD_PARAM, ALIAS_VHCA);
	case SOFTHCA_ALIAS_NO_KEY:
		return DEVX_REFUSE(DEVX_BAD_PARAM, ALIAS_OBJ);
	case SOFTHCA_ALIAS_WRONG_KEY:
		return DEVX_REFUSE(DEVX_BAD_PARAM, ALIAS_ACCESS_KEY);
	default:
		return devx_refuse_errno(rc, 0);
	}
}

static int
check_alias(const struct softhca_config *cfg, const uint8_t *in)
{
	if (cfg->cross_vhca == SOFTHCA_CROSS_VHCA_OFF)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_OBJ_TYPE);
	if (bits_get(in, ALIAS_BIT, 1) == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, ALIAS_BIT);
	if (bits_get(in, DEVX_LOG_OBJ_RANGE, 5) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_LOG_OBJ_RANGE);
	if (bits_get(in, ALIAS_OBJ, 8) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, ALIAS_OBJ);
	return 0;
}

static void
put_context(const struct object_alias *alias, uint8_t *out)
{
	const bool whole = softhca_alias_is_whole(alias->mkey);

	bits_set(out, DEVX_OBJ_ID, 32, softhca_mkey_key(alias->mkey) >> 8);
	bits_set(out, ALIAS_VHCA, 16, alias->vhca_id);
	bits_set(out, ALIAS_STATUS, 3, whole ? STATUS_VALID : STATUS_INVALID);
	bits_set(out, ALIAS_OBJ, 32, alias->index);
	bits_set(out, ALIAS_METADATA, 32, alias->pd->pdn);
}

static int
create_alias(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_pd *pd = pd_find_number(call->ctx, bits_get(in, ALIAS_METADATA, 32));
	struct softhca_alias_attr attr = {.vhca_id = bits_get(in, ALIAS_VHCA, 16),
		.index = bits_get(in, ALIAS_OBJ, 32)};
	struct object_alias *alias;
	int rc = check_alias(call->ctx->dev->cfg, in);

	if (rc == 0 && pd == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, ALIAS_METADATA);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_alias_class, &alias), 0);
	if (rc != 0)
		return rc;
	attr.pdn = pd->pdn;
	memcpy(attr.key, in + ALIAS_ACCESS_KEY / 8, sizeof(attr.key));
	rc = softhca_alias_create(call->ctx->dev, &attr, &alias->mkey);
	if (rc != 0) {
		object_forget(call->ctx, &alias->obj);
		return refuse_alias(rc);
	}
	alias->pd = pd;
	alias->vhca_id = attr.vhca_id;
	alias->index = attr.index;
	object_use(&pd->obj);
	put_context(alias, out);
	*obj = &alias->obj;
	return 0;
}

/* The access key is a secret, so the answer has zeros in its place. */
static int
query_alias(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct object_alias *alias = (struct object_alias *)obj;

	(void)call;
	if (bits_get(in, DEVX_OBJ_TYPE, 16) != TYPE_MKEY ||
		bits_get(in, DEVX_OBJ_ID, 32) != softhca_mkey_key(alias->mkey) >> 8)
		return -EINVAL;
	put_context(alias, out);
	return 0;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_alias *alias = (struct object_alias *)obj;
	int rc;

	(void)events;
	softhca_catch_up(ctx->dev); /* Assumed: dereg-after-work. */
	rc = softhca_mkey_destroy(alias->mkey);
	if (rc == 0)
		object_unuse(&alias->pd->obj);
	return rc;
}

static const struct devx_create creates[] = {
	{DEVX_CREATE_GENERAL, ALIAS_END / 8, create_alias, TYPE_MKEY},
};
static const struct devx_command commands[] = {
	{DEVX_GENERAL, NULL, CMD_ALLOW_OTHER_VHCA, ALLOW_END / 8, DEVX_HEADER, allow},
	{DEVX_QUERIES, &devx_alias_class, DEVX_QUERY_GENERAL, DEVX_HEADER, ALIAS_END / 8,
		query_alias},
};

const struct object_class devx_alias_class = {
	.name = "alias of a key",
	.size = sizeof(struct object_alias),
	.limit = mr_limit,
	.end = end,
	.by_devx = true,
	CLASS_CREATES(creates),
	CLASS_COMMANDS(commands),
};
