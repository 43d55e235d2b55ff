/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory registration. */
#include "hwq_mr.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "hwq_log.h"
#include "hwq_verbs.h"

static_assert((int)HWQ_ACCESS_LOCAL_WRITE == IBV_ACCESS_LOCAL_WRITE, "");
static_assert((int)HWQ_ACCESS_REMOTE_WRITE == IBV_ACCESS_REMOTE_WRITE, "");
static_assert((int)HWQ_ACCESS_REMOTE_READ == IBV_ACCESS_REMOTE_READ, "");
static_assert((int)HWQ_ACCESS_REMOTE_ATOMIC == IBV_ACCESS_REMOTE_ATOMIC, "");
static_assert((int)HWQ_ACCESS_MW_BIND == IBV_ACCESS_MW_BIND, "");

static void
log_failure(const struct hwq_dev *dev, const void *addr, size_t len, int ret)
{
	struct rlimit lim;

	if (ret == -ENOMEM && getrlimit(RLIMIT_MEMLOCK, &lim) == 0 && lim.rlim_cur < len)
		hwq_log("%s: registering %zu bytes at %p: RLIMIT_MEMLOCK allows %llu; raise it "
			"(ulimit -l)",
			hwq_dev_name(dev), len, addr, (unsigned long long)lim.rlim_cur);
	else
		hwq_log("%s: registering %zu bytes at %p: %s", hwq_dev_name(dev), len, addr,
			strerror(-ret));
}

int
hwq_mr_register(struct hwq_dev *dev, void *addr, size_t len, unsigned int access, struct hwq_mr *mr)
{
	struct ibv_mr *made;
	int ret;

	if (len == 0 || (uintptr_t)addr + (len - 1) < (uintptr_t)addr)
		ret = -EINVAL;
	else
		ret = hwq_verbs_mr_reg(dev->pd, addr, len, access, &made);
	if (ret != 0) {
		log_failure(dev, addr, len, ret);
		return ret;
	}
	atomic_fetch_add(&dev->refs, 1);
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
	atomic_fetch_sub(&mr->dev->refs, 1);
	memset(mr, 0, sizeof(*mr));
	return 0;
}
