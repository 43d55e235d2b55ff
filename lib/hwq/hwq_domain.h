/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Domains: what one owner thread has of a device. A domain holds a doorbell register
 * (ibv_alloc_td(3)) and a protection domain that leads to it (ibv_alloc_parent_domain(3)). CQs, QPs
 * and pools of keys are created in it. No other thread's queue writes that register, so nothing is
 * locked.
 *
 * Threads: create and destroy come from any thread, but not two at once on one device or domain.
 * From the first posted WQE on, a domain and all that was created in it belong to one owner thread.
 */
#ifndef HWQ_DOMAIN_H
#define HWQ_DOMAIN_H

#include "hwq_dev.h"
#include "hwq_sq.h"

struct ibv_td;
struct ibv_pd;
struct hwq_mkey_pool;

/** One owner thread's share of the device. */
struct hwq_domain {
	struct hwq_dev *dev;
	struct ibv_td *td; /**< NULL where the device has no registers to give away */
	struct ibv_pd *pd; /**< parent domain of td and of the device's PD */
	struct hwq_bf bf;  /**< the domain's doorbell register */
	unsigned int refs; /**< CQs, QPs and pools created in it */
	struct hwq_mkey_pool *mkey_pools; /**< hwq_mkey_find() looks through them */
};

/** Creates a domain. The device must outlive it. @return 0; -ENOMEM; or the errno of the verbs call
 *  that failed. *domain is written on success only. */
HWQ_API int hwq_domain_create(struct hwq_dev *dev, struct hwq_domain **domain);
/** Destroys a domain. @return 0; -EBUSY while it has CQs, QPs or pools: nothing was destroyed; or the
 *  errno of the verbs call that failed: call again. */
HWQ_API int hwq_domain_destroy(struct hwq_domain *domain);

#endif
