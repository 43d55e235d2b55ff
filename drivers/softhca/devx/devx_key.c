/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Indirect keys and PSVs, made by firmware commands; work requests set them up (umr.c, keysig.c).
 *
 * Offsets in bits, as libmlx5 44 sends them (mlx5dv_create_mkey(3)).
 */
#include <errno.h>

#include "devx.h"
#include "uverbs.h"

#define CMD_CREATE_MKEY 0x200
#define CMD_CREATE_PSV  0x600

enum {
	IN_MKC = 0x80,
	IN_MKEY_END = 0x880,
	MKC_FREE = IN_MKC + 0x01,
	MKC_MODE_4_2 = IN_MKC + 0x03, /* 3 bits */
	MKC_UMR_EN = IN_MKC + 0x10,
	MKC_MODE_1_0 = IN_MKC + 0x16, /* 2 bits */
	MKC_QPN = IN_MKC + 0x20,      /* 24 bits */
	MKC_VARIANT = IN_MKC + 0x38,  /* 8 bits */
	MKC_BSF_EN = IN_MKC + 0x61,
	MKC_EN_RINVAL = IN_MKC + 0x67,
	MKC_PD = IN_MKC + 0x68,         /* 24 bits */
	MKC_BSF_UNITS = IN_MKC + 0x100, /* 32 bits: of BSF, 16 bytes each */
	MKC_UNITS = IN_MKC + 0x1a0,     /* 32 bits: of layout, 16 bytes each */
	MKC_CRYPTO = IN_MKC + 0x1e3,    /* 2 bits: 1 for AES-XTS */
};

#define MODE_KLMS     2
#define KEY_BSF_UNITS 4
#define MAX_UNITS     (1U << 16)
#define QPN_OF_NOBODY 0xffffff

enum {
	IN_PSV_N = 0x40,  /* 4 bits */
	IN_PSV_PD = 0x48, /* 24 bits */
	IN_PSV_END = 0x80,
	OUT_PSV_0 = 0x88 /* 24 bits */
};

static int
check_mkey(const struct softhca_config *cfg, const uint8_t *in)
{
	static const struct {
		uint16_t bit;
		uint8_t width;
		uint32_t value;
	} must[] = {{MKC_FREE, 1, 1}, {MKC_MODE_4_2, 3, 0}, {MKC_UMR_EN, 1, 1},
		{MKC_MODE_1_0, 2, MODE_KLMS}, {MKC_QPN, 24, QPN_OF_NOBODY}};
	uint32_t crypto = devx_get(in, MKC_CRYPTO, 2), bsf = devx_get(in, MKC_BSF_EN, 1);
	uint32_t units = devx_get(in, MKC_BSF_UNITS, 32);

	for (size_t i = 0; i < ARRAY_SIZE(must); i++)
		if (devx_get(in, must[i].bit, must[i].width) != must[i].value)
			return DEVX_REFUSE(DEVX_BAD_PARAM, must[i].bit);
	if (devx_get(in, MKC_UNITS, 32) == 0 || devx_get(in, MKC_UNITS, 32) > MAX_UNITS)
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_UNITS);
	if (crypto > 1 || (crypto != 0 && (bsf == 0 || cfg->crypto == SOFTHCA_CRYPTO_OFF)))
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_CRYPTO);
	/* One of a signature, one of encryption, or one of each. */
	if (units != bsf * KEY_BSF_UNITS && !(crypto != 0 && units == 2 * KEY_BSF_UNITS))
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_BSF_UNITS);
	return 0;
}

static int
create_mkey(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_pd *pd = ctx_find_pdn(call->ctx, devx_get(in, MKC_PD, 24));
	struct object_mr *mkey;
	int rc = check_mkey(call->ctx->dev->cfg, in);

	if (rc == 0 && pd == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, MKC_PD);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, OBJ_DEVX_MKEY, sizeof(*mkey),
					       &mkey),
			0);
	if (rc != 0)
		return rc;
	mkey->attr = (struct softhca_mkey_attr){.pdn = pd->pdn,
		.kind = SOFTHCA_MKEY_INDIRECT,
		.bsf = devx_get(in, MKC_BSF_EN, 1),
		.crypto = devx_get(in, MKC_CRYPTO, 2) != 0,
		.rinval = devx_get(in, MKC_EN_RINVAL, 1),
		.variant = devx_get(in, MKC_VARIANT, 8),
		.max_entries = devx_get(in, MKC_UNITS, 32)};
	rc = devx_refuse_errno(softhca_mkey_create(call->ctx->dev, &mkey->attr, &mkey->mkey),
		MKC_UNITS);
	if (rc != 0) {
		object_forget(call->ctx, &mkey->obj);
		return rc;
	}
	mkey->pd = pd;
	object_use(&pd->obj);
	devx_set(out, DEVX_NUMBER, 24, softhca_mkey_key(mkey->mkey) >> 8);
	*obj = &mkey->obj;
	return 0;
}

/* The command could make four; mlx5_ib lets it pass for one: devx_is_obj_create_cmd() of the kernel. */
static int
create_psv(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_pd *pd = ctx_find_pdn(call->ctx, devx_get(in, IN_PSV_PD, 24));
	struct object_psv *psv;
	int rc = 0;

	if (devx_get(in, IN_PSV_N, 4) != 1)
		return -EINVAL;
	if (pd == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, IN_PSV_PD);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, OBJ_DEVX_PSV, sizeof(*psv), &psv),
			0);
	if (rc != 0)
		return rc;
	rc = devx_refuse_errno(softhca_psv_create(call->ctx->dev, pd->pdn, &psv->psv), 0);
	if (rc != 0) {
		object_forget(call->ctx, &psv->obj);
		return rc;
	}
	psv->pd = pd;
	object_use(&pd->obj);
	devx_set(out, OUT_PSV_0, 24, softhca_psv_number(psv->psv));
	*obj = &psv->obj;
	return 0;
}

const struct devx_create devx_key_creates[] = {
	{CMD_CREATE_MKEY, IN_MKEY_END / 8, create_mkey},
	{CMD_CREATE_PSV, IN_PSV_END / 8, create_psv},
	{.opcode = 0},
};
