/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of firmware commands: indirect keys, which get their layout by the command or later by work
 * requests, and keys over user memory.
 *
 * Bit offsets as in the commands of libmlx5 44 (mlx5dv_create_mkey(3)), with the names in
 * rdma-core's and DPDK's headers. mlx5_ib lets a program specify memory only as user memory, never
 * by a physical address (devx_handle_mkey_create() of the kernel).
 */
#include <stdlib.h>

#include "devx.h"
#include "devx_umem.h"
#include "uverbs_mr.h"

#define CMD_CREATE_MKEY 0x200

enum {
	IN_MKEY_INDEX = 0x48, /* 24 bits: number of the key; 0: the adapter chooses it */
	IN_MKC = 0x80,
	IN_MKEY_UNITS = 0x300, /* 32 bits: number of units of the layout in this command */
	IN_MKEY_UMEM_ID = 0x320,
	IN_MKEY_UMEM_OFFSET = 0x340,
	IN_MKEY_END = 0x880, /* the layout starts here */
	MKC_FREE = IN_MKC + 0x01,
	MKC_MODE_4_2 = IN_MKC + 0x03, /* 3 bits */
	MKC_OTHER_PD = IN_MKC + 0x06, /* 2 bits: the key belongs to another PCI function */
	MKC_UMR_EN = IN_MKC + 0x10,
	MKC_ATOMIC = IN_MKC + 0x11,
	MKC_RW = IN_MKC + 0x12,
	MKC_RR = IN_MKC + 0x13,
	MKC_LW = IN_MKC + 0x14,       /* local write; local reads are always allowed, as in verbs */
	MKC_MODE_1_0 = IN_MKC + 0x16, /* 2 bits */
	MKC_QPN = IN_MKC + 0x20,      /* 24 bits */
	MKC_VARIANT = IN_MKC + 0x38,  /* 8 bits */
	MKC_LENGTH64 = IN_MKC + 0x60, /* 1 bit: the key covers all addresses */
	MKC_BSF_EN = IN_MKC + 0x61,
	MKC_EN_RINVAL = IN_MKC + 0x67,
	MKC_PD = IN_MKC + 0x68,          /* 24 bits */
	MKC_START = IN_MKC + 0x80,       /* 64 bits */
	MKC_LEN = IN_MKC + 0xc0,         /* 64 bits */
	MKC_BSF_UNITS = IN_MKC + 0x100,  /* 32 bits: length of the BSFs, in units of 16 bytes */
	MKC_UNITS = IN_MKC + 0x1a0,      /* 32 bits: length of the layout, in units of 16 bytes */
	MKC_LOG_ENTITY = IN_MKC + 0x1db, /* 5 bits */
	MKC_CRYPTO = IN_MKC + 0x1e3      /* 2 bits: 1 is AES-XTS */
};

/* One unit of a layout. In a KSM layout, whose parts have equal size, a unit has no length. */
enum {
	KLM_LEN = 0,     /* 32 bits */
	KLM_KEY = 0x20,  /* 32 bits */
	KLM_ADDR = 0x40, /* 64 bits */
	UNIT_LEN = 16
};

enum {
	MODE_PAGES = 1,
	MODE_KLMS = 2,
	MODE_KSMS = 3
};

/* Access bits, with the numbers of verbs (ibv_reg_mr(3)). */
enum {
	ACCESS_LOCAL_WRITE = 1,
	ACCESS_REMOTE_WRITE = 2,
	ACCESS_REMOTE_READ = 4,
	ACCESS_REMOTE_ATOMIC = 8
};

#define KEY_BSF_UNITS 4
#define MAX_UNITS     (1U << 16)
#define QPN_OF_NOBODY 0xffffff

/* ---------------------------------------------------------------- checks */

/* Checks the fields for a BSF. A key with a BSF is for signatures, for encryption, or for both. */
static int
check_bsf(const struct softhca_config *cfg, const uint8_t *in)
{
	uint32_t crypto = bits_get(in, MKC_CRYPTO, 2), bsf = bits_get(in, MKC_BSF_EN, 1);
	uint32_t units = bits_get(in, MKC_BSF_UNITS, 32);

	if (crypto > 1 || (crypto != 0 && (bsf == 0 || cfg->crypto == SOFTHCA_CRYPTO_OFF)))
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_CRYPTO);
	if (bsf != 0 && crypto == 0 && cfg->signatures == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_BSF_EN);
	if (units != bsf * KEY_BSF_UNITS && !(crypto != 0 && units == 2 * KEY_BSF_UNITS))
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_BSF_UNITS);
	return 0;
}

/*
 * Checks the layout of an indirect key: its maximum length, and the part of the layout that is in
 * the command.
 */
static int
check_layout(const uint8_t *in, size_t len)
{
	uint32_t room = bits_get(in, MKC_UNITS, 32), units = bits_get(in, IN_MKEY_UNITS, 32);
	bool ksm = bits_get(in, MKC_MODE_1_0, 2) == MODE_KSMS;

	if (room == 0 || room > MAX_UNITS)
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_UNITS);
	if (units > room)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_MKEY_UNITS);
	if (len < IN_MKEY_END / 8 + (size_t)units * UNIT_LEN)
		return DEVX_REFUSE(DEVX_BAD_INP_LEN, 0);
	/*
	 * A free key gets its layout by a work request, and a work request cannot write a KSM
	 * layout.
	 */
	if (bits_get(in, MKC_FREE, 1) != 0 && bits_get(in, MKC_UMR_EN, 1) == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_UMR_EN);
	if (ksm && bits_get(in, MKC_UMR_EN, 1) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_UMR_EN);
	return 0;
}

/*
 * Checks a key over user memory. It is the key of a region, so a work request cannot configure it.
 */
static int
check_pages(const uint8_t *in)
{
	static const uint16_t must_be_0[] = {MKC_FREE, MKC_UMR_EN, MKC_LENGTH64, MKC_BSF_EN};

	for (size_t i = 0; i < ARRAY_SIZE(must_be_0); i++)
		if (bits_get(in, must_be_0[i], 1) != 0)
			return DEVX_REFUSE(DEVX_BAD_PARAM, must_be_0[i]);
	if (bits_get64(in, MKC_LEN) == 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, MKC_LEN);
	return 0;
}

static int
check(const struct softhca_config *cfg, const uint8_t *in, size_t len)
{
	static const struct {
		uint16_t bit;
		uint8_t width;
		uint32_t value;
	} must[] = {{IN_MKEY_INDEX, 24, 0}, {MKC_MODE_4_2, 3, 0}, {MKC_OTHER_PD, 2, 0},
		{MKC_QPN, 24, QPN_OF_NOBODY}};
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(must); i++)
		if (bits_get(in, must[i].bit, must[i].width) != must[i].value)
			return DEVX_REFUSE(DEVX_BAD_PARAM, must[i].bit);
	switch (bits_get(in, MKC_MODE_1_0, 2)) {
	case MODE_PAGES:
		rc = check_pages(in);
		break;
	case MODE_KLMS:
	case MODE_KSMS:
		rc = check_layout(in, len);
		break;
	default:
		rc = DEVX_REFUSE(DEVX_BAD_PARAM, MKC_MODE_1_0);
		break;
	}
	return rc != 0 ? rc : check_bsf(cfg, in);
}

/* ---------------------------------------------------------------- creation */

static uint32_t
access_of(const uint8_t *in)
{
	return (bits_get(in, MKC_LW, 1) ? ACCESS_LOCAL_WRITE : 0) |
	       (bits_get(in, MKC_RW, 1) ? ACCESS_REMOTE_WRITE : 0) |
	       (bits_get(in, MKC_RR, 1) ? ACCESS_REMOTE_READ : 0) |
	       (bits_get(in, MKC_ATOMIC, 1) ? ACCESS_REMOTE_ATOMIC : 0);
}

/*
 * Reads the parts of the layout from the command. Returns an array that the caller frees, or NULL
 * if memory is short.
 */
static struct softhca_mkey_part *
read_parts(const uint8_t *in, uint32_t n)
{
	struct softhca_mkey_part *parts = calloc(n + 1, sizeof(*parts));
	bool ksm = bits_get(in, MKC_MODE_1_0, 2) == MODE_KSMS;

	if (parts == NULL)
		return NULL;
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *unit = in + IN_MKEY_END / 8 + (size_t)i * UNIT_LEN;

		parts[i].len =
			ksm ? 1U << bits_get(in, MKC_LOG_ENTITY, 5) : bits_get(unit, KLM_LEN, 32);
		parts[i].key = bits_get(unit, KLM_KEY, 32);
		parts[i].va = bits_get64(unit, KLM_ADDR);
	}
	return parts;
}

static int
make_indirect(struct softhca_ctx *ctx, const uint8_t *in, struct object_mr *mkey)
{
	uint32_t n = bits_get(in, IN_MKEY_UNITS, 32);
	struct softhca_mkey_part *parts = read_parts(in, n);
	int rc;

	if (parts == NULL)
		return DEVX_REFUSE(DEVX_NO_RES, IN_MKEY_UNITS);
	mkey->attr.kind = SOFTHCA_MKEY_INDIRECT;
	mkey->attr.max_entries = bits_get(in, MKC_UNITS, 32);
	mkey->attr.parts = parts;
	mkey->attr.n_parts = n;
	rc = devx_refuse_errno(softhca_mkey_create(ctx->dev, &mkey->attr, &mkey->mkey), MKC_UNITS);
	mkey->attr.parts = NULL;
	mkey->attr.n_parts = 0;
	free(parts);
	return rc;
}

static int
make_region(struct softhca_ctx *ctx, const uint8_t *in, struct object_mr *mkey)
{
	const uint32_t writes = ACCESS_LOCAL_WRITE | ACCESS_REMOTE_WRITE | ACCESS_REMOTE_ATOMIC;
	struct object_umem *umem;
	void *at;
	int rc = umem_find(ctx,
		&(struct umem_range){bits_get(in, IN_MKEY_UMEM_ID, 32),
			bits_get64(in, IN_MKEY_UMEM_OFFSET), mkey->attr.len, 1, IN_MKEY_UMEM_ID,
			(mkey->attr.access & writes) != 0},
		&umem, &at);

	if (rc != 0)
		return rc;
	mkey->attr.kind = SOFTHCA_MKEY_MR;
	mkey->attr.addr = (uintptr_t)at;
	rc = devx_refuse_errno(softhca_mkey_create(ctx->dev, &mkey->attr, &mkey->mkey), MKC_LEN);
	if (rc == 0) {
		mkey->dm = &umem->obj;
		object_use(mkey->dm);
	}
	return rc;
}

static struct softhca_mkey_attr
attributes(const uint8_t *in, uint32_t pdn)
{
	bool all = bits_get(in, MKC_LENGTH64, 1) != 0;

	return (struct softhca_mkey_attr){.pdn = pdn,
		.access = access_of(in),
		.iova = all ? 0 : bits_get64(in, MKC_START),
		.len = all ? UINT64_MAX : bits_get64(in, MKC_LEN),
		.bsf = bits_get(in, MKC_BSF_EN, 1),
		.crypto = bits_get(in, MKC_CRYPTO, 2) != 0,
		.rinval = bits_get(in, MKC_EN_RINVAL, 1),
		.has_variant = true,
		.variant = bits_get(in, MKC_VARIANT, 8),
		.free = bits_get(in, MKC_FREE, 1),
		.fixed = bits_get(in, MKC_UMR_EN, 1) == 0};
}

static int
create(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_pd *pd = pd_find_number(call->ctx, bits_get(in, MKC_PD, 24));
	struct object_mr *mkey;
	int rc = check(call->ctx->dev->cfg, in, devx_create_len(call));

	if (rc == 0 && pd == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, MKC_PD);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_mkey_class, &mkey), 0);
	if (rc != 0)
		return rc;
	mkey->attr = attributes(in, pd->pdn);
	if (bits_get(in, MKC_MODE_1_0, 2) == MODE_PAGES)
		rc = make_region(call->ctx, in, mkey);
	else
		rc = make_indirect(call->ctx, in, mkey);
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
	.name = "key of a command",
	.size = sizeof(struct object_mr),
	.limit = mr_limit,
	.end = mr_end,
	.by_devx = true,
	CLASS_CREATES(creates),
};
