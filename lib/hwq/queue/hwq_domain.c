/* SPDX-License-Identifier: BSD-3-Clause */
/* Domains: a doorbell register, and the protection domain of QPs that use it. */
#include "hwq_domain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_left.h"
#include "hwq_lines.h"
#include "hwq_log.h"
#include "hwq_verbs.h"

int
hwq_domain_create(struct hwq_dev *dev, struct hwq_domain **out)
{
	struct hwq_domain *domain;
	int ret;

	domain = hwq_alloc_lines(sizeof(*domain));
	if (domain == NULL)
		return -ENOMEM;
	domain->dev = dev;
	ret = hwq_verbs_td_alloc(dev->ctx, &domain->td);
	if (ret == -EOPNOTSUPP) {
		/*
		 * The system has no write-combining memory for the register. QPs then use a
		 * doorbell page without BlueFlame.
		 */
		domain->td = NULL;
		ret = 0;
	}
	if (ret != 0) {
		hwq_log("%s: allocating a thread domain: %s", hwq_dev_name(dev), strerror(-ret));
		goto err_free;
	}
	ret = hwq_verbs_parent_alloc(dev->pd, domain->td, &domain->pd);
	if (ret != 0) {
		hwq_log("%s: allocating a parent domain: %s", hwq_dev_name(dev), strerror(-ret));
		goto err_td;
	}
	hwq_count_add(&dev->refs, 1);
	*out = domain;
	return 0;

err_td:
	if (domain->td != NULL)
		hwq_verbs_td_free(domain->td);
err_free:
	free(domain);
	return ret;
}

int
hwq_domain_destroy(struct hwq_domain *domain)
{
	int ret = 0;

	if (hwq_count_get(&domain->refs) != 0) {
		hwq_log("%s: destroying a domain that has %u queues and pools",
			hwq_dev_name(domain->dev), hwq_count_get(&domain->refs));
		return -EBUSY;
	}
	hwq_left_destroy(domain->dev);
	if (domain->pd != NULL)
		ret = hwq_verbs_pd_free(domain->pd);
	if (ret == 0)
		domain->pd = NULL;
	if (ret == 0 && domain->td != NULL)
		ret = hwq_verbs_td_free(domain->td);
	if (ret != 0) {
		hwq_log("%s: destroying a domain: %s", hwq_dev_name(domain->dev), strerror(-ret));
		return ret;
	}
	hwq_count_sub(&domain->dev->refs, 1);
	free(domain);
	return 0;
}
