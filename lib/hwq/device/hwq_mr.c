/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory registration. */
#include "hwq_mr.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "hwq_index.h"
#include "hwq_log.h"
#include "hwq_mr_why.h"
#include "hwq_verbs.h"

static_assert((int)HWQ_ACCESS_LOCAL_WRITE == IBV_ACCESS_LOCAL_WRITE, "");
static_assert((int)HWQ_ACCESS_REMOTE_WRITE == IBV_ACCESS_REMOTE_WRITE, "");
static_assert((int)HWQ_ACCESS_REMOTE_READ == IBV_ACCESS_REMOTE_READ, "");
static_assert((int)HWQ_ACCESS_REMOTE_ATOMIC == IBV_ACCESS_REMOTE_ATOMIC, "");
static_assert((int)HWQ_ACCESS_MW_BIND == IBV_ACCESS_MW_BIND, "");
static_assert((int)HWQ_ACCESS_ON_DEMAND == IBV_ACCESS_ON_DEMAND, "");
static_assert((int)HWQ_ACCESS_RELAXED_ORDERING == IBV_ACCESS_RELAXED_ORDERING, "");

/* Registers memory, with a key whose index may be used. */
static int
reg(struct hwq_dev *dev, void *addr, size_t len, unsigned int access, struct ibv_mr **mr)
{
	struct ibv_mr *held[HWQ_INDEX_TRIES], *made;
	unsigned int n = 0;
	int ret;

	do {
		ret = hwq_verbs_mr_reg(dev->pd, addr, len, access, &made);
		if (ret != 0)
			break;
		if (!hwq_index_is_retired(dev, made->lkey)) {
			*mr = made;
			break;
		}
		held[n++] = made;
		ret = -EAGAIN;
	} while (n < HWQ_INDEX_TRIES);
	while (n != 0)
		if (hwq_verbs_mr_dereg(held[--n]) != 0)
			hwq_log("%s: a registration that is not used is left over",
				hwq_dev_name(dev));
	return ret;
}

int
hwq_mr_register(struct hwq_dev *dev, void *addr, size_t len, unsigned int access, struct hwq_mr *mr)
{
	struct ibv_mr *made = NULL;
	int ret;

	if (len == 0 || (uintptr_t)addr + (len - 1) < (uintptr_t)addr) {
		hwq_log("%s: registering %zu bytes at %p: the range is empty or overflows",
			hwq_dev_name(dev), len, addr);
		return -EINVAL;
	}
	ret = reg(dev, addr, len, access, &made);
	if (ret != 0)
		return hwq_mr_why(dev, addr, len, access, ret);
	hwq_count_add(&dev->refs, 1);
	*mr = (struct hwq_mr){
		.addr = addr,
		.len = len,
		.lkey = made->lkey,
		.rkey = made->rkey,
		.dev = dev,
		.mr = made,
	};
	return 0;
}

int
hwq_mr_deregister(struct hwq_mr *mr)
{
	int ret;

	ret = hwq_verbs_mr_dereg(mr->mr);
	if (ret != 0) {
		hwq_log("%s: deregistering %zu bytes at %p: %s", hwq_dev_name(mr->dev), mr->len,
			mr->addr, strerror(-ret));
		return ret;
	}
	hwq_count_sub(&mr->dev->refs, 1);
	memset(mr, 0, sizeof(*mr));
	return 0;
}
