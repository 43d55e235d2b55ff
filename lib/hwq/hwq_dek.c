/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of data encryption keys: the command that makes one, and the way back. */
#include "hwq_dek.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_cmd.h"
#include "hwq_domain.h"
#include "hwq_log.h"
#include "hwq_verbs.h"

#define CMD_CREATE_GENERAL_OBJECT 0xa00

enum {
	GENERAL_TYPE = 0x30, /* 16 bits */
	DEK = 0x80,
	DEK_KEY_SIZE = DEK + 0x54, /* 4 bits */
	DEK_HAS_KEYTAG = DEK + 0x58,
	DEK_PURPOSE = DEK + 0x5c, /* 4 bits */
	DEK_PD = DEK + 0x68,      /* 24 bits */
	DEK_OPAQUE = DEK + 0x180, /* 64 bits */
	DEK_KEY = DEK + 0x200,    /* 1024 bits */
	DEK_IN_END = DEK + 0x800,
	GENERAL_OUT_ID = 0x40, /* 32 bits */
	GENERAL_OUT_END = 0x80,
};

#define TYPE_DEK        0xc
#define KEY_SIZE_128    0
#define KEY_SIZE_256    1
#define PURPOSE_AES_XTS 3
#define ID_MASK         0xffffff

#define AES_XTS                                                                                    \
	(MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK |                                          \
		MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK)

struct hwq_dek_pool {
	struct hwq_domain *domain;
	unsigned int n;
	struct hwq_dek dek[];
};

/* ------------------------------------------------------------------ one */

static int
dek_create(struct hwq_dev *dev, uint32_t pdn, const struct hwq_dek_conf *conf, struct hwq_dek *dek)
{
	uint8_t in[DEK_IN_END / 8] = {0}, out[GENERAL_OUT_END / 8] = {0};
	int ret;

	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_CREATE_GENERAL_OBJECT);
	hwq_cmd_put(in, GENERAL_TYPE, 16, TYPE_DEK);
	hwq_cmd_put(in, DEK_KEY_SIZE, 4,
		conf->key_size == MLX5DV_CRYPTO_KEY_SIZE_256 ? KEY_SIZE_256 : KEY_SIZE_128);
	hwq_cmd_put(in, DEK_HAS_KEYTAG, 1, conf->has_keytag);
	hwq_cmd_put(in, DEK_PURPOSE, 4, PURPOSE_AES_XTS);
	hwq_cmd_put(in, DEK_PD, 24, pdn);
	memcpy(in + DEK_OPAQUE / 8, conf->opaque, sizeof(conf->opaque));
	memcpy(in + DEK_KEY / 8, conf->key, sizeof(conf->key));
	ret = hwq_verbs_devx_create(dev->ctx, in, sizeof(in), out, sizeof(out), &dek->obj);
	explicit_bzero(in, sizeof(in));
	if (ret == 0)
		dek->id = hwq_cmd_get(out, GENERAL_OUT_ID, 32) & ID_MASK;
	return ret;
}

static int
conf_check(const struct hwq_dev *dev, const struct hwq_dek_conf *conf)
{
	bool wrapped =
		(dev->caps.crypto_wrapped & MLX5DV_CRYPTO_WRAPPED_IMPORT_METHOD_CAP_AES_XTS) != 0;

	if (conf->key_size != MLX5DV_CRYPTO_KEY_SIZE_128 &&
		conf->key_size != MLX5DV_CRYPTO_KEY_SIZE_256) {
		hwq_log("%s: a DEK of size %d: MLX5DV_CRYPTO_KEY_SIZE_128 and _256 are possible",
			hwq_dev_name(dev), (int)conf->key_size);
		return -EINVAL;
	}
	if (conf->wrapped != wrapped) {
		hwq_log("%s: the device takes DEKs %s alone", hwq_dev_name(dev),
			wrapped ? "wrapped" : "in plaintext");
		return -EINVAL;
	}
	return 0;
}

/* ------------------------------------------------------------------ pools */

/* All that is there, from the last on; what a refusal leaves is there still. */
static int
pool_empty(struct hwq_dek_pool *pool)
{
	unsigned int i;
	int ret;

	for (i = pool->n; i-- != 0;) {
		if (pool->dek[i].obj == NULL)
			continue;
		ret = hwq_verbs_devx_destroy(pool->dek[i].obj);
		if (ret != 0)
			return ret;
		pool->dek[i].obj = NULL;
	}
	return 0;
}

int
hwq_dek_pool_create(struct hwq_domain *domain, unsigned int n, const struct hwq_dek_conf *conf,
	struct hwq_dek_pool **out)
{
	struct hwq_dev *dev = domain->dev;
	struct hwq_dek_pool *pool;
	unsigned int i;
	uint32_t pdn;
	int ret = 0;

	if (n == 0) {
		hwq_log("%s: a pool of no DEK", hwq_dev_name(dev));
		return -EINVAL;
	}
	if ((dev->caps.crypto_engines & AES_XTS) == 0) {
		hwq_log("%s: the device has no AES-XTS engine", hwq_dev_name(dev));
		return -EOPNOTSUPP;
	}
	for (i = 0; i < n && ret == 0; i++)
		ret = conf_check(dev, &conf[i]);
	if (ret != 0)
		return ret;
	pool = calloc(1, sizeof(*pool) + n * sizeof(pool->dek[0]));
	if (pool == NULL)
		return -ENOMEM;
	pool->domain = domain;
	pool->n = n;
	ret = hwq_verbs_pdn(dev->pd, &pdn);
	for (i = 0; ret == 0 && i < n; i++)
		ret = dek_create(dev, pdn, &conf[i], &pool->dek[i]);
	if (ret != 0) {
		hwq_log("%s: making DEK %u of %u: %s", hwq_dev_name(dev), i, n, strerror(-ret));
		if (pool_empty(pool) != 0)
			hwq_log("%s: some DEKs are left until the device is closed",
				hwq_dev_name(dev));
		free(pool);
		return ret;
	}
	domain->refs++;
	*out = pool;
	return 0;
}

int
hwq_dek_pool_destroy(struct hwq_dek_pool *pool)
{
	struct hwq_domain *domain = pool->domain;
	unsigned int i;
	int ret;

	for (i = 0; i < pool->n; i++) {
		if (pool->dek[i].users != 0) {
			hwq_log("%s: destroying a pool of which DEK %u is out",
				hwq_dev_name(domain->dev), i);
			return -EBUSY;
		}
	}
	ret = pool_empty(pool);
	if (ret != 0) {
		hwq_log("%s: destroying a DEK: %s", hwq_dev_name(domain->dev), strerror(-ret));
		return ret;
	}
	domain->refs--;
	free(pool);
	return 0;
}

struct hwq_dek *
hwq_dek_get(struct hwq_dek_pool *pool, unsigned int i)
{
	if (i >= pool->n)
		return NULL;
	pool->dek[i].users++;
	return &pool->dek[i];
}

bool
hwq_dek_put(struct hwq_dek *dek)
{
	if (dek->users == 0)
		return false;
	dek->users--;
	return true;
}
