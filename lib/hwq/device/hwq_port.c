/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports and their GIDs: chooses the port of a device, and the port and GID of a path. */
#include "hwq_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_log.h"
#include "hwq_verbs.h"

#define GID_TABLE_MAX 256

static const char *
dev_name(const struct hwq_dev *dev)
{
	return ibv_get_device_name(dev->ctx->device);
}

static int
query_port(struct hwq_dev *dev, uint8_t port, struct ibv_port_attr *attr)
{
	int ret = hwq_verbs_query_port(dev->ctx, port, attr);

	if (ret != 0)
		hwq_log("%s: querying port %u: %s", dev_name(dev), port, strerror(-ret));
	return ret;
}

static struct hwq_dev_port
port_of_attr(uint8_t port, const struct ibv_port_attr *attr)
{
	return (struct hwq_dev_port){
		.port = port,
		.link_layer = attr->link_layer,
		.active_mtu = (uint8_t)attr->active_mtu,
		.lid = attr->lid,
	};
}

/* Returns the rank of a GID: routable RoCEv2 is best, then RoCEv2, then all other types. */
static int
gid_rank(const struct ibv_gid_entry *e)
{
	bool link_local = e->gid.raw[0] == 0xfe && (e->gid.raw[1] & 0xc0) == 0x80;

	if (e->gid_type == IBV_GID_TYPE_ROCE_V2)
		return link_local ? 2 : 3;
	return 1;
}

/* Chooses the best GID of the port, or if index is not NULL, the GID with that index. */
static int
choose_gid(struct hwq_dev *dev, const uint8_t *index, struct hwq_dev_port *port)
{
	struct ibv_gid_entry *entries;
	size_t i, n = 0;
	int ret, best = 0;

	entries = calloc(GID_TABLE_MAX, sizeof(*entries));
	if (entries == NULL)
		return -ENOMEM;
	ret = hwq_verbs_query_gids(dev->ctx, entries, GID_TABLE_MAX, &n);
	for (i = 0; ret == 0 && i < n; i++) {
		if (entries[i].port_num != port->port || gid_rank(&entries[i]) <= best)
			continue;
		if (index != NULL && entries[i].gid_index != *index)
			continue;
		best = gid_rank(&entries[i]);
		port->has_gid = true;
		port->gid_index = (uint8_t)entries[i].gid_index;
		memcpy(port->gid, entries[i].gid.raw, sizeof(port->gid));
	}
	free(entries);
	if (ret == 0 && best == 0 && index != NULL) {
		hwq_log("%s: port %u has no GID of index %u: "
			"/sys/class/infiniband/%s/ports/%u/gids lists what there is",
			dev_name(dev), port->port, *index, dev_name(dev), port->port);
		return -EINVAL;
	}
	if (ret == 0 && best == 0 && port->link_layer == IBV_LINK_LAYER_ETHERNET) {
		hwq_log("%s: port %u has no GID: give its network interface an address and set it "
			"up",
			dev_name(dev), port->port);
		return -ENODEV;
	}
	if (ret != 0)
		hwq_log("%s: querying the GID table: %s", dev_name(dev), strerror(-ret));
	return ret;
}

/*
 * Chooses the first active port, or port 1 if no port is active. A later connect then reports the
 * state of port 1.
 */
int
hwq_port_choose(struct hwq_dev *dev)
{
	struct ibv_port_attr attr, chosen = {0};
	uint8_t i, port = 0;
	int ret;

	for (i = 1; i <= dev->caps.n_ports; i++) {
		ret = query_port(dev, i, &attr);
		if (ret != 0)
			return ret;
		if (port != 0 && attr.state != IBV_PORT_ACTIVE)
			continue;
		port = i;
		chosen = attr;
		if (attr.state == IBV_PORT_ACTIVE)
			break;
	}
	if (port == 0) {
		hwq_log("%s: the device has no port", dev_name(dev));
		return -ENODEV;
	}
	if (chosen.state != IBV_PORT_ACTIVE)
		hwq_log("%s: no port is active; using port %u", dev_name(dev), port);
	dev->port = port_of_attr(port, &chosen);
	dev->caps.max_msg_len = chosen.max_msg_sz;
	return choose_gid(dev, NULL, &dev->port);
}

int
hwq_dev_next_port(struct hwq_dev *dev, uint8_t after, uint8_t *out)
{
	struct ibv_port_attr attr;
	uint8_t i, port = after;
	int ret;

	for (i = 0; i < dev->caps.n_ports; i++) {
		port = (uint8_t)(port % dev->caps.n_ports + 1);
		ret = query_port(dev, port, &attr);
		if (ret != 0)
			return ret;
		if (attr.state == IBV_PORT_ACTIVE && attr.link_layer == dev->port.link_layer) {
			*out = port;
			return 0;
		}
	}
	*out = dev->port.port;
	return 0;
}

/* ------------------------------------------------------------------ paths */

/*
 * Returns true if value is at most max. Otherwise logs a line that names the setting, and returns
 * false.
 */
static bool
in_range(struct hwq_dev *dev, const char *what, unsigned int value, unsigned int max)
{
	if (value <= max)
		return true;
	hwq_log("%s: a path's %s is %u: 0 to %u are possible", dev_name(dev), what, value, max);
	return false;
}

/* As in_range(), for a field that is used only if its bit in the path's mask is set. */
static bool
masked_in_range(struct hwq_dev *dev, const struct hwq_path *path, uint32_t bit, const char *what,
	unsigned int value, unsigned int max)
{
	if ((path->mask & bit) != 0 || value == 0)
		return in_range(dev, what, value, max);
	hwq_log("%s: a path's %s is %u, and the path's mask lacks the field's bit", dev_name(dev),
		what, value);
	return false;
}

static int
check_path(struct hwq_dev *dev, const struct hwq_path *path)
{
	const uint32_t known = HWQ_PATH_GID_INDEX | HWQ_PATH_TIMEOUT | HWQ_PATH_RETRIES |
			       HWQ_PATH_RNR_RETRIES | HWQ_PATH_MIN_RNR_TIMER;

	if ((path->mask & ~known) != 0) {
		hwq_log("%s: a path's mask is 0x%x: 0x%x are known", dev_name(dev), path->mask,
			known);
		return -EINVAL;
	}
	if (!in_range(dev, "port", path->port, dev->caps.n_ports) ||
		!in_range(dev, "mtu", path->mtu, IBV_MTU_4096) ||
		!masked_in_range(dev, path, HWQ_PATH_GID_INDEX, "gid_index", path->gid_index,
			GID_TABLE_MAX - 1) ||
		!masked_in_range(dev, path, HWQ_PATH_TIMEOUT, "timeout", path->timeout,
			HWQ_PATH_MAX_TIMEOUT) ||
		!masked_in_range(dev, path, HWQ_PATH_RETRIES, "retries", path->retries,
			HWQ_PATH_MAX_RETRIES) ||
		!masked_in_range(dev, path, HWQ_PATH_RNR_RETRIES, "rnr_retries", path->rnr_retries,
			HWQ_PATH_MAX_RETRIES) ||
		!masked_in_range(dev, path, HWQ_PATH_MIN_RNR_TIMER, "min_rnr_timer",
			path->min_rnr_timer, HWQ_PATH_MAX_RNR_TIMER))
		return -EINVAL;
	return 0;
}

int
hwq_port_of_path(struct hwq_dev *dev, const struct hwq_path *path, struct hwq_dev_port *out)
{
	struct hwq_dev_port port = dev->port;
	const bool gid_given = (path->mask & HWQ_PATH_GID_INDEX) != 0;
	const uint8_t gid_index = (uint8_t)path->gid_index;
	struct ibv_port_attr attr;
	int ret = check_path(dev, path);

	if (ret != 0)
		return ret;
	if (path->port != 0 && path->port != port.port) {
		ret = query_port(dev, path->port, &attr);
		if (ret != 0)
			return ret;
		port = port_of_attr(path->port, &attr);
		if (!gid_given)
			ret = choose_gid(dev, NULL, &port);
	}
	if (ret == 0 && gid_given)
		ret = choose_gid(dev, &gid_index, &port);
	if (ret == 0 && path->traffic_class != 0 && port.link_layer != IBV_LINK_LAYER_ETHERNET) {
		hwq_log("%s: port %u is on InfiniBand: a path's traffic_class must be 0",
			dev_name(dev), port.port);
		ret = -EINVAL;
	}
	if (ret == 0 && path->mtu > port.active_mtu) {
		hwq_log("%s: a path's mtu is %u: port %u carries at most %u (enum ibv_mtu)",
			dev_name(dev), path->mtu, port.port, port.active_mtu);
		ret = -EINVAL;
	}
	if (ret == 0)
		*out = port;
	return ret;
}
