/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of indirect keys and their PSVs: the commands that create and destroy them. */
#include "hwq_mkey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_cmd.h"
#include "hwq_domain.h"
#include "hwq_log.h"
#include "hwq_new_key.h"
#include "hwq_verbs.h"
#include "hwq_wire.h"

#define CMD_CREATE_MKEY 0x200
#define CMD_CREATE_PSV  0x600

/* CREATE_MKEY: bit positions in the key's context. */
enum {
	MKC = 0x80,
	MKC_FREE = MKC + 0x01,   /* the key has no layout yet */
	MKC_UMR_EN = MKC + 0x10, /* UMRs may change the key */
	MKC_LOCAL_READ = MKC + 0x15,
	MKC_MODE_1_0 = MKC + 0x16,   /* 2 bits */
	MKC_QPN = MKC + 0x20,        /* 24 bits */
	MKC_BSF_EN = MKC + 0x61,     /* the key has BSFs, for signatures or encryption */
	MKC_EN_RINVAL = MKC + 0x67,  /* a peer may invalidate the key */
	MKC_PD = MKC + 0x68,         /* 24 bits */
	MKC_BSF_UNITS = MKC + 0x100, /* 32 bits: BSF length in units of 16 bytes */
	MKC_UNITS = MKC + 0x1a0,     /* 32 bits: entries of 16 bytes */
	MKC_CRYPTO_EN = MKC + 0x1e3, /* 2 bits */
	MKEY_IN_END = 0x880,
};

#define MODE_KLMS     2
#define QPN_OF_ANYONE 0xffffff
#define BSF_UNITS     4 /* 16-byte units of the BSFs of a signature; encryption has as many */

/* CREATE_PSV can create up to four PSVs; libmlx5 creates one. */
enum {
	PSV_N = 0x40,  /* 4 bits */
	PSV_PD = 0x48, /* 24 bits */
	PSV_IN_END = 0x80,
	PSV_OUT_0 = 0x88, /* 24 bits */
	PSV_OUT_END = 0x100,
};

#define FLAGS_ALL   (HWQ_MKEY_SIG | HWQ_MKEY_CRYPTO | HWQ_MKEY_UPDATE_VARIANT | HWQ_MKEY_REMOTE_INV)
#define ENTRIES_MAX 65532u

static_assert(sizeof(struct hwq_mkey) <= HWQ_BB_LEN, "what a builder needs is in one cache line");

/* ------------------------------------------------------------------ PSVs */

static int
psv_create(struct hwq_dev *dev, uint32_t pdn, struct hwq_psv *psv)
{
	uint8_t in[PSV_IN_END / 8] = {0}, out[PSV_OUT_END / 8] = {0};
	int ret;

	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_CREATE_PSV);
	hwq_cmd_put(in, PSV_N, 4, 1);
	hwq_cmd_put(in, PSV_PD, 24, pdn);
	ret = hwq_verbs_devx_create(dev->ctx, in, sizeof(in), out, sizeof(out), &psv->obj);
	if (ret == 0)
		psv->index = hwq_cmd_get(out, PSV_OUT_0, 24);
	return ret;
}

/* Destroys a DEVX object. Does nothing if *obj is NULL. */
static int
obj_destroy(struct mlx5dv_devx_obj **obj)
{
	int ret = 0;

	if (*obj != NULL)
		ret = hwq_verbs_devx_destroy(*obj);
	if (ret == 0)
		*obj = NULL;
	return ret;
}

static int
sig_create(struct hwq_dev *dev, uint32_t pdn, struct hwq_mkey_sig *sig)
{
	int ret;

	ret = psv_create(dev, pdn, &sig->mem_psv);
	if (ret == 0)
		ret = psv_create(dev, pdn, &sig->wire_psv);
	/* err_count starts at 1. The first configuration tells this value to the device. */
	sig->err_count = 1;
	sig->err_count_updated = true;
	return ret;
}

/* ------------------------------------------------------------------ keys */

static int
mkey_create(struct hwq_dev *dev, uint32_t pdn, struct hwq_mkey *mkey)
{
	uint8_t in[MKEY_IN_END / 8] = {0};
	uint32_t bsf_units = 0, key;
	int ret;

	if (mkey->flags & HWQ_MKEY_SIG)
		bsf_units += BSF_UNITS;
	if (mkey->flags & HWQ_MKEY_CRYPTO)
		bsf_units += BSF_UNITS;
	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_CREATE_MKEY);
	hwq_cmd_put(in, MKC_FREE, 1, 1);
	hwq_cmd_put(in, MKC_UMR_EN, 1, 1);
	hwq_cmd_put(in, MKC_LOCAL_READ, 1, 1);
	hwq_cmd_put(in, MKC_MODE_1_0, 2, MODE_KLMS);
	hwq_cmd_put(in, MKC_QPN, 24, QPN_OF_ANYONE);
	hwq_cmd_put(in, MKC_BSF_EN, 1, bsf_units != 0);
	hwq_cmd_put(in, MKC_EN_RINVAL, 1, (mkey->flags & HWQ_MKEY_REMOTE_INV) != 0);
	hwq_cmd_put(in, MKC_PD, 24, pdn);
	hwq_cmd_put(in, MKC_BSF_UNITS, 32, bsf_units);
	hwq_cmd_put(in, MKC_UNITS, 32, mkey->max_entries);
	hwq_cmd_put(in, MKC_CRYPTO_EN, 2, (mkey->flags & HWQ_MKEY_CRYPTO) != 0);
	ret = hwq_new_key(dev, in, sizeof(in), &mkey->obj, &key);
	if (ret != 0)
		return ret;
	mkey->lkey = key;
	hwq_mkey_set_variant(mkey, 0);
	return ret;
}

/* Destroys the key before its PSVs, because the key refers to them. */
static int
mkey_destroy(struct hwq_mkey *mkey)
{
	int ret;

	ret = obj_destroy(&mkey->obj);
	if (ret == 0 && mkey->sig != NULL)
		ret = obj_destroy(&mkey->sig->mem_psv.obj);
	if (ret == 0 && mkey->sig != NULL)
		ret = obj_destroy(&mkey->sig->wire_psv.obj);
	return ret;
}

void
hwq_mkey_adopt(struct hwq_mkey *mkey, const struct mlx5dv_mkey *dv, uint16_t max_entries,
	unsigned int flags)
{
	*mkey = (struct hwq_mkey){
		.lkey = dv->lkey,
		.rkey = dv->rkey,
		.max_entries = max_entries,
		.flags = (uint8_t)(flags & HWQ_MKEY_UPDATE_VARIANT),
	};
	hwq_mkey_set_variant(mkey, dv->lkey & 0xff);
}

/* ------------------------------------------------------------------ pools */

static int
conf_check(const struct hwq_dev *dev, const struct hwq_mkey_conf *conf)
{
	const struct hwq_dev_caps *caps = &dev->caps;

	if (conf->n == 0 || conf->max_entries == 0 || conf->max_entries > ENTRIES_MAX ||
		(conf->flags & ~(unsigned int)FLAGS_ALL) != 0) {
		hwq_log("%s: %u keys of %u entries, flags 0x%x: at least one key, 1 to %u entries "
			"and flags of 0x%x are possible",
			hwq_dev_name(dev), conf->n, conf->max_entries, conf->flags, ENTRIES_MAX,
			FLAGS_ALL);
		return -EINVAL;
	}
	if (!caps->devx) {
		hwq_log("%s: no indirect keys, because the device does not open with DEVX",
			hwq_dev_name(dev));
		return -EOPNOTSUPP;
	}
	if ((conf->flags & HWQ_MKEY_SIG) && caps->sig_block_prot == 0) {
		hwq_log("%s: the device has no block signatures", hwq_dev_name(dev));
		return -EOPNOTSUPP;
	}
	if ((conf->flags & HWQ_MKEY_CRYPTO) &&
		(caps->crypto_engines & (MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK |
						MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK)) ==
			0) {
		hwq_log("%s: the device has no AES-XTS engine", hwq_dev_name(dev));
		return -EOPNOTSUPP;
	}
	return 0;
}

static void
pool_free(struct hwq_mkey_pool *pool)
{
	free(pool->keys);
	free(pool->sigs);
	free(pool->cryptos);
	free(pool->free);
	free(pool);
}

static struct hwq_mkey_pool *
pool_alloc(struct hwq_domain *domain, const struct hwq_mkey_conf *conf)
{
	struct hwq_mkey_pool *pool = calloc(1, sizeof(*pool));

	if (pool == NULL)
		return NULL;
	pool->domain = domain;
	pool->n = conf->n;
	pool->keys = calloc(conf->n, sizeof(*pool->keys));
	pool->free = calloc(conf->n, sizeof(struct hwq_mkey *));
	if (conf->flags & HWQ_MKEY_SIG)
		pool->sigs = calloc(conf->n, sizeof(*pool->sigs));
	if (conf->flags & HWQ_MKEY_CRYPTO)
		pool->cryptos = calloc(conf->n, sizeof(*pool->cryptos));
	if (pool->keys == NULL || pool->free == NULL ||
		((conf->flags & HWQ_MKEY_SIG) && pool->sigs == NULL) ||
		((conf->flags & HWQ_MKEY_CRYPTO) && pool->cryptos == NULL)) {
		pool_free(pool);
		return NULL;
	}
	return pool;
}

/* Creates key number i, its PSVs and its contexts. */
static int
pool_fill(struct hwq_mkey_pool *pool, unsigned int i, const struct hwq_mkey_conf *conf,
	uint32_t pdn)
{
	struct hwq_dev *dev = pool->domain->dev;
	struct hwq_mkey *mkey = &pool->keys[i];
	int ret = 0;

	mkey->pool = pool;
	mkey->flags = (uint8_t)conf->flags;
	mkey->max_entries = (uint16_t)((conf->max_entries + 3u) & ~3u);
	if (pool->sigs != NULL) {
		mkey->sig = &pool->sigs[i];
		ret = sig_create(dev, pdn, mkey->sig);
	}
	if (pool->cryptos != NULL) {
		mkey->crypto = &pool->cryptos[i];
		mkey->crypto->engines = dev->caps.crypto_engines;
	}
	return ret != 0 ? ret : mkey_create(dev, pdn, mkey);
}

/*
 * Destroys the keys, beginning with the last one. If the device refuses to destroy a key, this key
 * and the keys before it still exist.
 */
static int
pool_empty(struct hwq_mkey_pool *pool)
{
	unsigned int i;
	int ret;

	for (i = pool->n; i-- != 0;) {
		ret = mkey_destroy(&pool->keys[i]);
		if (ret != 0)
			return ret;
	}
	return 0;
}

static int
by_index(const void *a, const void *b)
{
	uint32_t x = ((const struct hwq_mkey *)a)->lkey, y = ((const struct hwq_mkey *)b)->lkey;

	return (x > y) - (x < y);
}

int
hwq_mkey_pool_create(struct hwq_domain *domain, const struct hwq_mkey_conf *conf,
	struct hwq_mkey_pool **out)
{
	struct hwq_dev *dev = domain->dev;
	struct hwq_mkey_pool *pool;
	uint32_t pdn;
	unsigned int i = 0;
	int ret;

	ret = conf_check(dev, conf);
	if (ret != 0)
		return ret;
	pool = pool_alloc(domain, conf);
	if (pool == NULL)
		return -ENOMEM;
	ret = hwq_verbs_pdn(dev->pd, &pdn);
	if (ret == 0 && (conf->flags & HWQ_MKEY_UPDATE_VARIANT))
		ret = hwq_verbs_mkey_try_variant(dev->pd);
	for (i = 0; ret == 0 && i < conf->n; i++)
		ret = pool_fill(pool, i, conf, pdn);
	if (ret != 0) {
		hwq_log("%s: making key %u of %u with %u entries, flags 0x%x: %s",
			hwq_dev_name(dev), i, conf->n, conf->max_entries, conf->flags,
			strerror(-ret));
		if (pool_empty(pool) != 0)
			hwq_log("%s: some keys are left until the device is closed",
				hwq_dev_name(dev));
		pool_free(pool);
		return ret;
	}
	qsort(pool->keys, pool->n, sizeof(*pool->keys), by_index);
	for (i = 0; i < pool->n; i++)
		pool->free[i] = &pool->keys[pool->n - 1 - i];
	pool->n_free = pool->n;
	pool->next = domain->mkey_pools;
	domain->mkey_pools = pool;
	hwq_count_add(&domain->refs, 1);
	*out = pool;
	return 0;
}

int
hwq_mkey_pool_destroy(struct hwq_mkey_pool *pool)
{
	struct hwq_domain *domain = pool->domain;
	struct hwq_mkey_pool **at;
	int ret;

	if (pool->n_free != pool->n) {
		hwq_log("%s: destroying a pool of which %u keys are out", hwq_dev_name(domain->dev),
			pool->n - pool->n_free);
		return -EBUSY;
	}
	ret = pool_empty(pool);
	if (ret != 0) {
		hwq_log("%s: destroying a key: %s", hwq_dev_name(domain->dev), strerror(-ret));
		return ret;
	}
	for (at = &domain->mkey_pools; *at != pool; at = &(*at)->next)
		;
	*at = pool->next;
	hwq_count_sub(&domain->refs, 1);
	pool_free(pool);
	return 0;
}

struct hwq_mkey *
hwq_mkey_find(const struct hwq_domain *domain, uint32_t key)
{
	struct hwq_mkey_pool *pool;

	for (pool = domain->mkey_pools; pool != NULL; pool = pool->next) {
		unsigned int from = 0, to = pool->n;

		while (from < to) {
			unsigned int mid = from + (to - from) / 2;

			if (pool->keys[mid].lkey >> 8 < key >> 8)
				from = mid + 1;
			else
				to = mid;
		}
		if (from < pool->n && pool->keys[from].lkey >> 8 == key >> 8)
			return &pool->keys[from];
	}
	return NULL;
}
