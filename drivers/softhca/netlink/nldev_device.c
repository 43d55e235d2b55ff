/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers about adapters, ports and character devices: rdma-dev(8), rdma-link(8), rdma-system(8).
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "caps.h"
#include "cm.h"
#include "devices.h"
#include "netdev.h"
#include "nldev.h"

enum {
	NODE_IB_CA = 1,   /* enum rdma_node_type of the kernel; in sysfs: "1: CA" */
	UVERBS_ABI = 1,   /* ABI version of mlx5_ib: mlx5-abi.h, MLX5_IB_UVERBS_ABI_VERSION */
	NETNS_SHARED = 1, /* the adapters are visible in all network namespaces */
	COPY_ON_FORK =
		/* the device uses the parent's memory, so ibv_fork_init(3) need not protect it */
		1,
	UVERBS_MAJOR = 231,  /* major number of the kernel's uverbs devices */
	UVERBS_MINOR0 = 192, /* minor number of uverbs0 */
};

struct softhca_dev *
nldev_find(int64_t dev_index)
{
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);

	return dev_index >= 0 && dev_index < n ? &devs[dev_index] : NULL;
}

void
nldev_put_handle(struct datagram *d, const struct softhca_dev *dev)
{
	char name[32];

	snprintf(name, sizeof(name), "mlx5_%u", dev->index);
	put_u32(d, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	put_string(d, RDMA_NLDEV_ATTR_DEV_NAME, name);
}

static bool
is_ethernet(const struct softhca_dev *dev)
{
	return dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;
}

/* ---------------------------------------------------------------- adapters */

static void
put_device(struct datagram *d, const struct softhca_dev *dev)
{
	struct ib_uverbs_ex_query_device_resp caps;
	struct mlx5_ib_query_device_resp mlx5;
	char fw[32];

	caps_query_device_ex(dev, &caps, &mlx5);
	snprintf(fw, sizeof(fw), "%u.%u.%04u", dev->cfg->fw_major, dev->cfg->fw_minor,
		dev->cfg->fw_sub);
	nldev_put_handle(d, dev);
	put_u32(d, RDMA_NLDEV_ATTR_PORT_INDEX, dev->cfg->ports);
	put_u64(d, RDMA_NLDEV_ATTR_CAP_FLAGS,
		caps.base.device_cap_flags | caps.device_cap_flags_ex);
	put_string(d, RDMA_NLDEV_ATTR_FW_VERSION, fw);
	put_u64(d, RDMA_NLDEV_ATTR_NODE_GUID, caps_node_guid(dev));
	put_u64(d, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, caps_node_guid(dev));
	put_u8(d, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, NODE_IB_CA);
	put_u8(d, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	put_string(d, RDMA_NLDEV_ATTR_DEV_PROTOCOL, is_ethernet(dev) ? "roce" : "ib");
}

static int
get(const struct netlink_peer *peer, const struct nldev_command *command,
	const struct attributes *attrs, struct datagram *d)
{
	const struct softhca_dev *dev = nldev_find(attribute_u32(attrs, RDMA_NLDEV_ATTR_DEV_INDEX));

	if (dev == NULL)
		return -EINVAL;
	put_device(d, dev);
	return 0;
}

static int
dump(const struct netlink_peer *peer, const struct reply *reply, struct datagram *d, uint32_t *next)
{
	for (const struct softhca_dev *dev; (dev = nldev_find(*next)) != NULL; ++*next) {
		const size_t begin = message_begin(d, reply);

		put_device(d, dev);
		if (d->full) {
			message_cancel(d, begin);
			break;
		}
		message_end(d, begin);
	}
	return 0;
}

const struct nldev_command nldev_get = {get, dump};

/* ---------------------------------------------------------------- ports */

/* Writes the port's network interface, if it has one. */
static void
put_netdev(struct datagram *d, const struct softhca_dev *dev, uint32_t port)
{
	char name[NETDEV_NAME_MAX];
	const uint32_t index = netdev_of(dev, port, name);

	if (index == 0)
		return;
	put_u32(d, RDMA_NLDEV_ATTR_NDEV_INDEX, index);
	put_string(d, RDMA_NLDEV_ATTR_NDEV_NAME, name);
}

static int
put_port(struct datagram *d, const struct softhca_dev *dev, int64_t port)
{
	struct ib_uverbs_query_port_resp_ex resp;
	const struct ib_uverbs_query_port_resp *attr = &resp.legacy_resp;
	struct ib_uverbs_gid_entry gid;
	uint64_t prefix;

	if (port < 0 || caps_query_port(dev, (uint32_t)port, &resp) != 0 ||
		caps_gid(dev, (uint32_t)port, 0, &gid) != 0)
		return -EINVAL;
	nldev_put_handle(d, dev);
	put_u32(d, RDMA_NLDEV_ATTR_PORT_INDEX, (uint32_t)port);
	if (!is_ethernet(dev)) {
		memcpy(&prefix, gid.gid, sizeof(prefix));
		put_u64(d, RDMA_NLDEV_ATTR_CAP_FLAGS,
			(uint64_t)resp.port_cap_flags2 << 32 | attr->port_cap_flags);
		put_u64(d, RDMA_NLDEV_ATTR_SUBNET_PREFIX, be64toh(prefix));
		put_u32(d, RDMA_NLDEV_ATTR_LID, attr->lid);
		put_u32(d, RDMA_NLDEV_ATTR_SM_LID, attr->sm_lid);
		put_u8(d, RDMA_NLDEV_ATTR_LMC, attr->lmc);
	}
	put_u8(d, RDMA_NLDEV_ATTR_PORT_STATE, attr->state);
	put_u8(d, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, attr->phys_state);
	put_netdev(d, dev, (uint32_t)port);
	return 0;
}

static int
port_get(const struct netlink_peer *peer, const struct nldev_command *command,
	const struct attributes *attrs, struct datagram *d)
{
	const struct softhca_dev *dev = nldev_find(attribute_u32(attrs, RDMA_NLDEV_ATTR_DEV_INDEX));

	if (dev == NULL)
		return -EINVAL;
	return put_port(d, dev, attribute_u32(attrs, RDMA_NLDEV_ATTR_PORT_INDEX));
}

static int
port_dump(const struct netlink_peer *peer, const struct reply *reply, struct datagram *d,
	uint32_t *next)
{
	const struct softhca_dev *dev = nldev_find(peer->dev_index);

	if (dev == NULL)
		return -EINVAL;
	for (; *next < dev->cfg->ports; ++*next) {
		const size_t begin = message_begin(d, reply);

		(void)put_port(d, dev, *next + 1);
		message_end(d, begin);
	}
	return 0;
}

const struct nldev_command nldev_port_get = {port_get, port_dump};

/* ---------------------------------------------------------------- character devices, the system */

/*
 * Encodes a device number as the kernel's huge_encode_dev(): bits 19:8 are the major number, all
 * other bits are the minor number.
 */
static uint64_t
encode_dev(uint32_t major, uint32_t minor)
{
	return (minor & 0xff) | major << 8 | (uint64_t)(minor & ~0xffu) << 12;
}

static void
put_chardev(struct datagram *d, uint32_t major, uint32_t minor, uint64_t abi, const char *name)
{
	put_u64(d, RDMA_NLDEV_ATTR_CHARDEV, encode_dev(major, minor));
	put_u64(d, RDMA_NLDEV_ATTR_CHARDEV_ABI, abi);
	put_string(d, RDMA_NLDEV_ATTR_CHARDEV_NAME, name);
}

/*
 * Answers about character devices. An adapter has only uverbs devices, neither umad nor issm.
 * rdma_cm belongs to no adapter.
 */
static int
get_chardev(const struct netlink_peer *peer, const struct nldev_command *command,
	const struct attributes *attrs, struct datagram *d)
{
	const int64_t index = attribute_u32(attrs, RDMA_NLDEV_ATTR_DEV_INDEX);
	const char *type = attribute_string(attrs, RDMA_NLDEV_ATTR_CHARDEV_TYPE);
	const struct softhca_dev *dev = nldev_find(index);
	char name[32];

	if (type == NULL || (index >= 0 && dev == NULL))
		return -EINVAL;
	if (index < 0 && strcmp(type, "rdma_cm") == 0) {
		put_chardev(d, CM_MAJOR, CM_MINOR, CM_ABI, type);
		return 0;
	}
	if (dev == NULL || strcmp(type, "uverbs") != 0)
		return -EOPNOTSUPP;
	snprintf(name, sizeof(name), "uverbs%u", dev->uverbs);
	put_u32(d, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, RDMA_DRIVER_MLX5);
	put_chardev(d, UVERBS_MAJOR, UVERBS_MINOR0 + dev->uverbs, UVERBS_ABI, name);
	return 0;
}

const struct nldev_command nldev_get_chardev = {get_chardev, NULL};

static int
sys_get(const struct netlink_peer *peer, const struct nldev_command *command,
	const struct attributes *attrs, struct datagram *d)
{
	put_u8(d, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, NETNS_SHARED);
	put_u8(d, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, COPY_ON_FORK);
	return 0;
}

const struct nldev_command nldev_sys_get = {sys_get, NULL};
