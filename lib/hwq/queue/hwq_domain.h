/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Domains: the objects of a device that one thread owns.
 *
 *     hwq_domain_create             one for each owner thread
 *       hwq_cq_create, hwq_qp_create, hwq_mkey_pool_create, hwq_dek_pool_create
 *       ... destroy all of these ...
 *     hwq_domain_destroy            before hwq_dev_close()
 *
 * A domain holds a doorbell register (ibv_alloc_td(3)) and a protection domain whose queues use it
 * (ibv_alloc_parent_domain(3)). Queues of other threads do not write that register, so nothing is
 * locked.
 *
 * Threads: any thread may create and destroy domains, but not two threads at once on one device or
 * domain. Once a WQE is posted, the domain and all objects in it belong to one owner thread.
 */
#ifndef HWQ_DOMAIN_H
#define HWQ_DOMAIN_H

#include "hwq_atomic.h"
#include "hwq_dev.h"
#include "hwq_sq.h"

struct ibv_td;
struct ibv_pd;
struct hwq_mkey_pool;

/** The objects of a device that one thread owns. Only hwq writes this struct. */
struct hwq_domain {
	struct hwq_dev *dev; /**< the device */
	/** NULL: the device has no separate register for this domain. */
	struct ibv_td *td;
	struct ibv_pd *pd;     /**< parent domain of td and of the device's protection domain */
	struct hwq_count refs; /**< number of CQs, QPs and pools that exist in the domain */
	/**
	 * Channel for the events of CQs that hwq_cq_create() creates; the caller sets it. NULL:
	 * these CQs have no events.
	 */
	struct hwq_channel *channel;
	struct hwq_mkey_pool *mkey_pools; /**< pools of keys, which hwq_mkey_find() searches */

	/** State of the domain's doorbell register. Each doorbell writes it. */
	HWQ_ON_LINE struct hwq_bf bf;
};

static_assert(offsetof(struct hwq_domain, bf) % HWQ_LINE_LEN == 0,
	"the owner's and others' fields share no line");

/**
 * Creates a domain.
 *
 * @param dev
 *   The device, which must outlive the domain.
 * @param domain
 *   Written on success only.
 * @return
 *   0 on success. domain->td is NULL if the device has no register for the domain; this is no
 *   error. Otherwise the log names the call that failed:
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of ibv_alloc_td(3) or ibv_alloc_parent_domain(3).
 */
HWQ_API int hwq_domain_create(struct hwq_dev *dev, struct hwq_domain **domain);

/**
 * Destroys a domain.
 *
 * @param domain
 *   The domain.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   The domain has CQs, QPs or pools: destroy them first. Nothing was destroyed.
 * @retval -errno
 *   The error of ibv_dealloc_pd(3) or ibv_dealloc_td(3): call again.
 */
HWQ_API int hwq_domain_destroy(struct hwq_domain *domain);

#endif
