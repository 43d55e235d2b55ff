/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers about counters: rdma-statistic(8). A request with STAT_RES is about counters of objects,
 * which this adapter does not have. All other requests are about a port's hw_counters.
 */
#include <errno.h>

#include "counters.h"
#include "nldev.h"

static bool
has_port(const struct softhca_dev *dev, int64_t port)
{
	return port >= 1 && port <= dev->cfg->ports;
}

static void
put_port(struct datagram *d, const struct softhca_dev *dev, int64_t port)
{
	nldev_put_handle(d, dev);
	put_u32(d, RDMA_NLDEV_ATTR_PORT_INDEX, (uint32_t)port);
}

/* ---------------------------------------------------------------- a port's counters */

static void
put_value(struct datagram *d, const char *name, uint64_t value)
{
	const size_t entry = nest_begin(d, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY | NLA_F_NESTED);

	put_string(d, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name);
	put_u64(d, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
	nest_end(d, entry);
}

/*
 * Writes the values of the counters. They are read from the file peer->counters, which belongs to
 * this process or to its parent.
 */
static void
put_values(struct datagram *d, const struct netlink_peer *peer, const struct softhca_dev *dev,
	int64_t port)
{
	const size_t table = nest_begin(d, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS | NLA_F_NESTED);

	for (const char *const *name = counters_hw_names; *name != NULL; name++) {
		uint64_t value = 0;

		if (peer->counters != NULL)
			(void)counters_read(peer->counters, dev->index, (uint32_t)port, *name,
				&value);
		put_value(d, *name, value);
	}
	nest_end(d, table);
}

/* Answers without a status of each counter, because no counter can be switched on or off. */
static int
get_status(const struct netlink_peer *peer, const struct nldev_command *command,
	const struct attributes *attrs, struct datagram *d)
{
	const struct softhca_dev *dev = nldev_find(attribute_u32(attrs, RDMA_NLDEV_ATTR_DEV_INDEX));
	const int64_t port = attribute_u32(attrs, RDMA_NLDEV_ATTR_PORT_INDEX);
	size_t table;

	if (dev == NULL || !has_port(dev, port))
		return -EINVAL;
	put_port(d, dev, port);
	table = nest_begin(d, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS | NLA_F_NESTED);
	for (uint32_t i = 0; counters_hw_names[i] != NULL; i++) {
		const size_t entry =
			nest_begin(d, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY | NLA_F_NESTED);

		put_string(d, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, counters_hw_names[i]);
		put_u32(d, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, i);
		nest_end(d, entry);
	}
	nest_end(d, table);
	return 0;
}

const struct nldev_command nldev_stat_get_status = {get_status, NULL, NULL};

/* ---------------------------------------------------------------- counters of objects */

/* Writes the mode by which queue pairs of a port get counters: no mode is set. */
static int
put_mode(struct datagram *d, const struct attributes *attrs, const struct softhca_dev *dev,
	int64_t port)
{
	if (attrs->of[RDMA_NLDEV_ATTR_STAT_COUNTER_ID] != NULL)
		return -ENOENT;
	if (attrs->of[RDMA_NLDEV_ATTR_STAT_MODE] == NULL)
		return -EINVAL;
	put_port(d, dev, port);
	put_u32(d, RDMA_NLDEV_ATTR_STAT_MODE, RDMA_COUNTER_MODE_NONE);
	return 0;
}

static int
get(const struct netlink_peer *peer, const struct nldev_command *command,
	const struct attributes *attrs, struct datagram *d)
{
	const struct softhca_dev *dev = nldev_find(attribute_u32(attrs, RDMA_NLDEV_ATTR_DEV_INDEX));
	const int64_t port = attribute_u32(attrs, RDMA_NLDEV_ATTR_PORT_INDEX);
	const int64_t of = attribute_u32(attrs, RDMA_NLDEV_ATTR_STAT_RES);

	if (dev == NULL || !has_port(dev, port))
		return -EINVAL;
	if (of == RDMA_NLDEV_ATTR_RES_QP)
		return put_mode(d, attrs, dev, port);
	if (of >= 0)
		return -EOPNOTSUPP;
	put_port(d, dev, port);
	put_values(d, peer, dev, port);
	return 0;
}

static int
dump(const struct netlink_peer *peer, const struct reply *reply, struct datagram *d, uint32_t *next)
{
	return nldev_find(peer->dev_index) != NULL ? 0 : -EINVAL;
}

const struct nldev_command nldev_stat_get = {get, dump, NULL};
