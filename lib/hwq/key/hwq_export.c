/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that other functions of the card may use: how they are made, allowed and destroyed. */
#include "hwq_alias.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "hwq_cmd.h"
#include "hwq_index.h"
#include "hwq_left.h"
#include "hwq_log.h"
#include "hwq_new_key.h"
#include "hwq_verbs.h"

#define CMD_CREATE_MKEY      0x200
#define CMD_ALLOW_OTHER_VHCA 0xb16
#define TYPE_MKEY            0xff01

/* CREATE_MKEY: bit positions, with those of the key's context. */
enum {
	MKC = 0x80,
	MKC_RW = MKC + 0x12,
	MKC_RR = MKC + 0x13,
	MKC_LW = MKC + 0x14,
	MKC_LR = MKC + 0x15,
	MKC_MODE_1_0 = MKC + 0x16,    /* 2 bits */
	MKC_QPN = MKC + 0x20,         /* 24 bits */
	MKC_PD = MKC + 0x68,          /* 24 bits */
	MKC_START = MKC + 0x80,       /* 64 bits */
	MKC_LEN = MKC + 0xc0,         /* 64 bits */
	MKC_UNITS = MKC + 0x1a0,      /* 32 bits: translations, in units of 16 bytes */
	MKC_LOG_ENTITY = MKC + 0x1db, /* 5 bits: log2 of a page or of a part */
	MKEY_UMEM_VALID = 0x61,       /* the pages are those of user memory */
	MKEY_UNITS = 0x300,           /* 32 bits: translations in the command */
	MKEY_UMEM_ID = 0x320,         /* 32 bits */
	MKEY_IN_END = 0x880,          /* the parts of a KSM follow */
	/* A part of a KSM. */
	KSM_KEY = 0x20,  /* 32 bits */
	KSM_ADDR = 0x40, /* 64 bits */
	KSM_UNIT = 0x80,
};

enum {
	ALLOW_TYPE = 0x90, /* 16 bits */
	ALLOW_OBJ = 0xa0,  /* 32 bits */
	ALLOW_ACCESS_KEY = 0x100,
	ALLOW_END = 0x200,
	ALLOW_OUT_END = 0x80,
};

#define MODE_PAGES    1
#define MODE_KSM      3
#define QPN_OF_ANYONE 0xffffff
#define LOG_PAGE      12
#define LOG_PART      31 /* a part of a KSM; UCX (ib_md.h, UCT_IB_MD_MAX_MR_SIZE) has the same */
#define ACCESS_ALL    (HWQ_ACCESS_LOCAL_WRITE | HWQ_ACCESS_REMOTE_WRITE | HWQ_ACCESS_REMOTE_READ)

static void
put64(uint8_t *cmd, unsigned int bit, uint64_t value)
{
	hwq_cmd_put(cmd, bit, 32, (uint32_t)(value >> 32));
	hwq_cmd_put(cmd, bit + 32, 32, (uint32_t)value);
}

static void
put_common(uint8_t *in, uint32_t pdn, unsigned int access, unsigned int mode)
{
	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_CREATE_MKEY);
	hwq_cmd_put(in, MKC_MODE_1_0, 2, mode);
	hwq_cmd_put(in, MKC_LR, 1, 1);
	hwq_cmd_put(in, MKC_LW, 1, (access & HWQ_ACCESS_LOCAL_WRITE) != 0);
	hwq_cmd_put(in, MKC_RW, 1, (access & HWQ_ACCESS_REMOTE_WRITE) != 0);
	hwq_cmd_put(in, MKC_RR, 1, (access & HWQ_ACCESS_REMOTE_READ) != 0);
	hwq_cmd_put(in, MKC_QPN, 24, QPN_OF_ANYONE);
	hwq_cmd_put(in, MKC_PD, 24, pdn);
}

static int
create(struct hwq_dev *dev, const uint8_t *in, size_t len, struct hwq_export *exported)
{
	return hwq_new_key(dev, in, len, &exported->obj, &exported->key);
}

/*
 * Makes a KSM. Its parts begin at multiples of 2 GiB, as UCX lays them out
 * (uct_ib_mlx5_devx_reg_ksm_data_contig()), so it also names addresses before the range; the
 * registration does not cover them. UCX adds a page before it counts the parts, because of a check
 * of CREATE_MKEY.
 */
static int
create_ksm(const struct hwq_mr *mr, uint32_t pdn, unsigned int access, struct hwq_export *exported)
{
	const uint64_t part = UINT64_C(1) << LOG_PART, addr = (uintptr_t)mr->addr;
	const uint64_t start = addr & ~(part - 1), len = addr - start + mr->len;
	const uint64_t n = (len + (UINT64_C(1) << LOG_PAGE) + part - 1) >> LOG_PART;
	const size_t in_len = MKEY_IN_END / 8 + n * (KSM_UNIT / 8);
	uint8_t *in = calloc(1, in_len), *unit;
	int ret;

	if (in == NULL)
		return -ENOMEM;
	put_common(in, pdn, access, MODE_KSM);
	put64(in, MKC_START, start);
	put64(in, MKC_LEN, len);
	hwq_cmd_put(in, MKC_UNITS, 32, (uint32_t)n);
	hwq_cmd_put(in, MKEY_UNITS, 32, (uint32_t)n);
	hwq_cmd_put(in, MKC_LOG_ENTITY, 5, LOG_PART);
	unit = in + MKEY_IN_END / 8;
	for (uint64_t i = 0; i < n; i++, unit += KSM_UNIT / 8) {
		hwq_cmd_put(unit, KSM_KEY, 32, mr->lkey);
		put64(unit, KSM_ADDR, start + (i << LOG_PART));
	}
	ret = create(mr->dev, in, in_len, exported);
	free(in);
	return ret;
}

/* Makes a key over the pages of the range, whose first page begins at or before the range. */
static int
create_direct(const struct hwq_mr *mr, uint32_t pdn, unsigned int access,
	struct hwq_export *exported)
{
	const uint64_t page = UINT64_C(1) << LOG_PAGE, addr = (uintptr_t)mr->addr;
	const uint64_t n = ((addr & (page - 1)) + mr->len + page - 1) >> LOG_PAGE;
	const uint32_t units = (uint32_t)((n * 8 + 15) / 16);
	uint8_t in[MKEY_IN_END / 8] = {0};
	int ret;

	ret = hwq_verbs_umem_reg(mr->dev->ctx, mr->addr, mr->len, access, &exported->umem);
	if (ret != 0)
		return ret;
	put_common(in, pdn, access, MODE_PAGES);
	put64(in, MKC_START, addr);
	put64(in, MKC_LEN, mr->len);
	hwq_cmd_put(in, MKC_UNITS, 32, units);
	hwq_cmd_put(in, MKEY_UNITS, 32, units);
	hwq_cmd_put(in, MKC_LOG_ENTITY, 5, LOG_PAGE);
	hwq_cmd_put(in, MKEY_UMEM_VALID, 1, 1);
	hwq_cmd_put(in, MKEY_UMEM_ID, 32, exported->umem->umem_id);
	ret = create(mr->dev, in, sizeof(in), exported);
	if (ret != 0)
		hwq_left_add_key(mr->dev, NULL, exported->umem);
	return ret;
}

/* As hwq_export_init(), without checks, without a line in the log, and not yet counted. */
static int
export_make(const struct hwq_mr *mr, enum hwq_export_kind kind, unsigned int access,
	struct hwq_export *exported)
{
	uint32_t pdn;
	int ret = hwq_verbs_pdn(mr->dev->pd, &pdn);

	*exported = (struct hwq_export){.kind = kind, .dev = mr->dev};
	if (ret != 0)
		return ret;
	return kind == HWQ_EXPORT_KSM ? create_ksm(mr, pdn, access, exported)
				      : create_direct(mr, pdn, access, exported);
}

int
hwq_export_init(const struct hwq_mr *mr, enum hwq_export_kind kind, unsigned int access,
	struct hwq_export *exported)
{
	struct hwq_dev *dev = mr->dev;
	struct hwq_export made;
	int ret;

	if ((kind != HWQ_EXPORT_KSM && kind != HWQ_EXPORT_DIRECT) || (access & ~ACCESS_ALL) != 0) {
		hwq_log("%s: a key of kind %u with access 0x%x for other functions: access has bits "
			"of 0x%x",
			hwq_dev_name(dev), kind, access, ACCESS_ALL);
		return -EINVAL;
	}
	if (!dev->caps.cross_vhca) {
		hwq_log("%s: no key for other functions: functions of this card do not share keys",
			hwq_dev_name(dev));
		return -EOPNOTSUPP;
	}
	ret = hwq_index_prepare(dev);
	if (ret == 0)
		ret = export_make(mr, kind, access, &made);
	if (ret != 0) {
		hwq_log("%s: a key for other functions over %zu bytes at %p: %s", hwq_dev_name(dev),
			mr->len, mr->addr, strerror(-ret));
		return ret;
	}
	hwq_count_add(&dev->refs, 1);
	*exported = made;
	return 0;
}

static int
allow(const struct hwq_export *exported, const uint8_t access_key[HWQ_ACCESS_KEY_LEN],
	uint32_t *syndrome)
{
	uint8_t in[ALLOW_END / 8] = {0}, out[ALLOW_OUT_END / 8] = {0};
	int ret;

	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_ALLOW_OTHER_VHCA);
	hwq_cmd_put(in, ALLOW_TYPE, 16, TYPE_MKEY);
	hwq_cmd_put(in, ALLOW_OBJ, 32, exported->key >> 8);
	memcpy(in + ALLOW_ACCESS_KEY / 8, access_key, HWQ_ACCESS_KEY_LEN);
	ret = hwq_verbs_devx_general(exported->dev->ctx, in, sizeof(in), out, sizeof(out));
	explicit_bzero(in, sizeof(in));
	*syndrome = hwq_cmd_get(out, CMD_OUT_SYNDROME, 32);
	return ret;
}

int
hwq_export_allow(const struct hwq_export *exported, const uint8_t access_key[HWQ_ACCESS_KEY_LEN])
{
	uint32_t syndrome;
	int ret = allow(exported, access_key, &syndrome);

	if (ret != 0)
		hwq_log("%s: allowing other functions to use key 0x%x: %s, syndrome 0x%x",
			hwq_dev_name(exported->dev), exported->key, strerror(-ret), syndrome);
	return ret;
}

int
hwq_export_fini(struct hwq_export *exported)
{
	int ret = 0;

	if (exported->obj != NULL)
		ret = hwq_verbs_devx_destroy(exported->obj);
	if (ret == 0) {
		/* Aliases of it may exist, and the device may use the index again. */
		if (exported->obj != NULL)
			hwq_index_retire(exported->dev, exported->key);
		exported->obj = NULL;
		if (exported->umem != NULL)
			ret = hwq_verbs_umem_dereg(exported->umem);
	}
	if (ret != 0) {
		hwq_log("%s: destroying key 0x%x, which other functions use: %s",
			hwq_dev_name(exported->dev), exported->key, strerror(-ret));
		return ret;
	}
	hwq_count_sub(&exported->dev->refs, 1);
	memset(exported, 0, sizeof(*exported));
	return 0;
}

/* True if a key of this kind over the region can be made and allowed. */
static bool
is_allowed(const struct hwq_mr *mr, enum hwq_export_kind kind)
{
	uint8_t access_key[HWQ_ACCESS_KEY_LEN];
	struct hwq_export exported;
	uint32_t syndrome;
	bool allowed;

	/* Nobody learns the access key, so nobody makes an alias. */
	if (getrandom(access_key, sizeof(access_key), 0) != sizeof(access_key))
		return false;
	if (export_make(mr, kind, 0, &exported) != 0)
		return false;
	allowed = allow(&exported, access_key, &syndrome) == 0;
	hwq_left_add_key(mr->dev, exported.obj, exported.umem);
	return allowed;
}

int
hwq_export_kind(struct hwq_dev *dev, enum hwq_export_kind *kind)
{
	const size_t page = (size_t)1 << LOG_PAGE;
	struct hwq_mr mr;
	void *memory;
	int ret;

	*kind = HWQ_EXPORT_NONE;
	if (!dev->caps.cross_vhca)
		return 0;
	if (posix_memalign(&memory, page, page) != 0)
		return -ENOMEM;
	ret = hwq_mr_register(dev, memory, page, HWQ_ACCESS_LOCAL_WRITE, &mr);
	if (ret != 0) {
		free(memory);
		return ret;
	}
	memset(memory, 0, page);
	if (is_allowed(&mr, HWQ_EXPORT_KSM))
		*kind = HWQ_EXPORT_KSM;
	else if (is_allowed(&mr, HWQ_EXPORT_DIRECT))
		*kind = HWQ_EXPORT_DIRECT;
	hwq_left_add_buf(dev, &mr, memory);
	return 0;
}
