/* SPDX-License-Identifier: BSD-3-Clause */
/* Address handles: verbs creates them, hwq reads their address vectors once. */
#include "hwq_ah.h"

#include <string.h>

#include "hwq_addr.h"
#include "hwq_log.h"
#include "hwq_port.h"
#include "hwq_verbs.h"

int
hwq_ah_from_verbs(struct ibv_ah *from, struct hwq_ah *ah)
{
	struct mlx5dv_ah view;
	int ret;

	ret = hwq_verbs_ah_take(from, &view);
	if (ret != 0)
		return ret;
	*ah = (struct hwq_ah){.av = *view.av};
	return 0;
}

static int
create(struct hwq_dev *dev, const struct hwq_dev_port *port, uint8_t traffic_class,
	const struct hwq_addr *remote, struct hwq_ah *ah)
{
	struct ibv_ah_attr attr = {0};
	struct ibv_ah *made;
	int ret;

	ret = hwq_addr_check(port, remote, "an address handle");
	if (ret != 0)
		return ret;
	hwq_addr_to_ah(port, remote, &attr);
	attr.grh.traffic_class = traffic_class;
	ret = hwq_verbs_ah_create(dev->pd, &attr, &made);
	if (ret != 0) {
		hwq_log("%s: creating an address handle: %s", hwq_dev_name(dev), strerror(-ret));
		return ret;
	}
	ret = hwq_ah_from_verbs(made, ah);
	if (ret != 0) {
		hwq_log("%s: reading an address handle: %s", hwq_dev_name(dev), strerror(-ret));
		hwq_verbs_ah_destroy(made);
		return ret;
	}
	ah->ah = made;
	ah->dev = dev;
	hwq_count_add(&dev->refs, 1);
	return 0;
}

int
hwq_ah_create(struct hwq_dev *dev, const struct hwq_addr *remote, struct hwq_ah *ah)
{
	return create(dev, &dev->port, 0, remote, ah);
}

int
hwq_ah_create_from(const struct hwq_qp *qp, const struct hwq_addr *remote, struct hwq_ah *ah)
{
	if (qp->domain == NULL) {
		hwq_log("QP 0x%06x is the caller's own: use hwq_ah_create()", qp->qpn);
		return -EINVAL;
	}
	return create(qp->domain->dev, &qp->port, qp->path.traffic_class, remote, ah);
}

int
hwq_ah_create_on(struct hwq_dev *dev, const struct hwq_path *path, const struct hwq_addr *remote,
	struct hwq_ah *ah)
{
	struct hwq_dev_port port;
	int ret;

	ret = hwq_port_of_path(dev, path, &port);
	return ret != 0 ? ret : create(dev, &port, path->traffic_class, remote, ah);
}

int
hwq_ah_destroy(struct hwq_ah *ah)
{
	int ret;

	if (ah->ah == NULL)
		return 0;
	ret = hwq_verbs_ah_destroy(ah->ah);
	if (ret != 0) {
		hwq_log("%s: destroying an address handle: %s", hwq_dev_name(ah->dev),
			strerror(-ret));
		return ret;
	}
	hwq_count_sub(&ah->dev->refs, 1);
	memset(ah, 0, sizeof(*ah));
	return 0;
}
