/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of data encryption keys, which count the users of each key. */
#include "hwq_dek.h"

#include <errno.h>
#include <stdlib.h>

#include "hwq_domain.h"
#include "hwq_log.h"

struct hwq_dek_pool {
	struct hwq_domain *domain;
	unsigned int n;
	struct hwq_dek dek[];
};

/*
 * Destroys the DEKs, beginning with the last one. If the device refuses to destroy a DEK, this DEK
 * and the DEKs before it still exist.
 */
static int
pool_empty(struct hwq_dek_pool *pool)
{
	unsigned int i;
	int ret;

	for (i = pool->n; i-- != 0;) {
		if (pool->dek[i].obj == NULL)
			continue;
		ret = hwq_dek_fini(&pool->dek[i]);
		if (ret != 0)
			return ret;
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
	int ret = 0;

	if (n == 0) {
		hwq_log("%s: a pool of no DEK", hwq_dev_name(dev));
		return -EINVAL;
	}
	pool = calloc(1, sizeof(*pool) + n * sizeof(pool->dek[0]));
	if (pool == NULL)
		return -ENOMEM;
	pool->domain = domain;
	pool->n = n;
	for (i = 0; ret == 0 && i < n; i++)
		ret = hwq_dek_init(dev, &conf[i], &pool->dek[i]);
	if (ret != 0) {
		hwq_log("%s: no pool of %u DEKs because of DEK %u", hwq_dev_name(dev), n, i - 1);
		if (pool_empty(pool) != 0)
			hwq_log("%s: some DEKs are left until the device is closed",
				hwq_dev_name(dev));
		free(pool);
		return ret;
	}
	hwq_count_add(&domain->refs, 1);
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
	if (ret != 0)
		return ret;
	hwq_count_sub(&domain->refs, 1);
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
