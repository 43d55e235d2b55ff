/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory, and its registration. */
#include "hwq_dm.h"

#include <errno.h>
#include <string.h>

#include "hwq_log.h"
#include "hwq_verbs.h"
#include "hwq_verbs_obj.h"

#define LOG_ALIGN 6

/*
 * Clears the memory, because the card may return bytes that the previous user of the memory wrote:
 * neither Linux (mlx5/dm.c) nor libmlx5 clears it. The memory is behind PCI, so whole words are
 * written.
 */
static void
clear(void *buf, size_t len)
{
	volatile uint64_t *word = buf;
	size_t i;

	for (i = 0; i < len / sizeof(*word); i++)
		word[i] = 0;
	for (i *= sizeof(*word); i < len; i++)
		((volatile uint8_t *)buf)[i] = 0;
}

int
hwq_dm_alloc(struct hwq_dev *dev, size_t len, struct hwq_dm *dm)
{
	const char *name = hwq_dev_name(dev);
	struct mlx5dv_dm view;
	struct ibv_dm *made;
	int ret;

	if (len == 0)
		return -EINVAL;
	if (dev->caps.max_dm_len == 0) {
		hwq_log("%s: the device has no memory of its own to allocate", name);
		return -EOPNOTSUPP;
	}
	if (len > dev->caps.max_dm_len) {
		hwq_log("%s: %zu bytes of device memory: it has %zu", name, len,
			(size_t)dev->caps.max_dm_len);
		return -ENOMEM;
	}
	ret = hwq_verbs_dm_alloc(dev->ctx, len, LOG_ALIGN, &made);
	if (ret != 0) {
		hwq_log("%s: %zu bytes of device memory: %s", name, len, strerror(-ret));
		return ret;
	}
	ret = hwq_verbs_dm_take(made, &view);
	if (ret != 0) {
		hwq_log("%s: device memory: %s", name, strerror(-ret));
		hwq_verbs_dm_free(made);
		return ret;
	}
	clear(view.buf, len);
	hwq_count_add(&dev->refs, 1);
	*dm = (struct hwq_dm){.addr = view.buf, .len = len, .dev = dev, .dm = made};
	return 0;
}

int
hwq_dm_free(struct hwq_dm *dm)
{
	int ret;

	if (dm->dm == NULL)
		return 0;
	ret = hwq_verbs_dm_free(dm->dm);
	if (ret != 0) {
		hwq_log("%s: freeing %zu bytes of device memory: %s", hwq_dev_name(dm->dev),
			dm->len, strerror(-ret));
		return ret;
	}
	hwq_count_sub(&dm->dev->refs, 1);
	memset(dm, 0, sizeof(*dm));
	return 0;
}

int
hwq_mr_register_dm(const struct hwq_dm *dm, unsigned int access, struct hwq_mr *mr)
{
	struct ibv_mr *made;
	int ret = hwq_verbs_mr_reg_dm(dm->dev->pd, dm->dm, dm->len, access, &made);

	if (ret != 0) {
		hwq_log("%s: registering %zu bytes of device memory: %s", hwq_dev_name(dm->dev),
			dm->len, strerror(-ret));
		return ret;
	}
	hwq_count_add(&dm->dev->refs, 1);
	*mr = (struct hwq_mr){
		.addr = dm->addr,
		.len = dm->len,
		.lkey = made->lkey,
		.rkey = made->rkey,
		.dev = dm->dev,
		.mr = made,
	};
	return 0;
}
