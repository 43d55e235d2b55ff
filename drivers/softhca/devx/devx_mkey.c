/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Indirect keys, made by a firmware command; work requests configure them.
 *
 * Offsets in bits, as libmlx5 44 sends them (mlx5dv_create_mkey(3)).
 */
#include "devx.h"
#include "uverbs_mr.h"

#define CMD_CREATE_MKEY 0x200

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
	MKC_CRYPTO = IN_MKC + 0x1e3,    /* 2 bits: 1 is AES-XTS */
};

#define MODE_KLMS     2
#define KEY_BSF_UNITS 4
#define MAX_UNITS     (1U << 16)
#define QPN_OF_NOBODY 0xffffff

static int
check(const struct softhca_config *cfg, const uint8_t *in)
{
	static const struct {
		uint16_t bit;
		uint8_t width;
		uint32_t value;
	} must[] = {{MKC_FREE, 1, 1}, {MKC_MODE_4_2, 3, 0}, {MKC_UMR_EN, 1, 1},
		{MKC_MODE_1_0, 2, MODE_KLMS}, {MKC_QPN, 24, QPN_OF_NOBODY}};
	uint32_t crypto = bits_get(in, MKC_CRYPTO, 2), bsf = bits_get(in, MKC_BSF_EN, 1);
	uint32_t units = bits_get(in, MKC_BSF_UNITS, 32);

	for (size_t i = 0; i < ARRAY_SIZE(must); i++)
		if (bits_get(in, must[i].bit, must[i].width) != must[i].value)
			return DEVX_REFUSE(DEVX_BAD_PARAM, must[i].bit);
	if (bits_get(in, MKC_UNITS, 32) == 0 || bits_get(in, MKC_UNITS, 32) > MAX_UNITS)
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_UNITS);
	if (crypto > 1 || (crypto != 0 && (bsf == 0 || cfg->crypto == SOFTHCA_CRYPTO_OFF)))
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_CRYPTO);
	/* A BSF for a signature, one for encryption, or both. */
	if (units != bsf * KEY_BSF_UNITS && !(crypto != 0 && units == 2 * KEY_BSF_UNITS))
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_BSF_UNITS);
	return 0;
}

static int
create(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_pd *pd = pd_find_number(call->ctx, bits_get(in, MKC_PD, 24));
	struct object_mr *mkey;
	int rc = check(call->ctx->dev->cfg, in);

	if (rc == 0 && pd == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, MKC_PD);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_mkey_class, &mkey), 0);
	if (rc != 0)
		return rc;
	mkey->attr = (struct softhca_mkey_attr){.pdn = pd->pdn,
		.kind = SOFTHCA_MKEY_INDIRECT,
		.bsf = bits_get(in, MKC_BSF_EN, 1),
		.crypto = bits_get(in, MKC_CRYPTO, 2) != 0,
		.rinval = bits_get(in, MKC_EN_RINVAL, 1),
		.variant = bits_get(in, MKC_VARIANT, 8),
		.max_entries = bits_get(in, MKC_UNITS, 32)};
	rc = devx_refuse_errno(softhca_mkey_create(call->ctx->dev, &mkey->attr, &mkey->mkey),
		MKC_UNITS);
	if (rc != 0) {
		object_forget(call->ctx, &mkey->obj);
		return rc;
	}
	mkey->pd = pd;
	object_use(&pd->obj);
	bits_set(out, DEVX_NUMBER, 24, softhca_mkey_key(mkey->mkey) >> 8);
	*obj = &mkey->obj;
	return 0;
}

static const struct devx_create creates[] = {
	{CMD_CREATE_MKEY, IN_MKEY_END / 8, create},
};

const struct object_class devx_mkey_class = {
	.name = "indirect key",
	.size = sizeof(struct object_mr),
	.limit = mr_limit,
	.end = mr_end,
	.by_devx = true,
	CLASS_CREATES(creates),
};
