/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes devices, and reads their capabilities. */
#include "hwq_dev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_left.h"
#include "hwq_log.h"
#include "hwq_pci.h"
#include "hwq_port.h"
#include "hwq_verbs.h"
#include "hwq_wire.h"

static int
read_caps(struct hwq_dev *dev)
{
	struct hwq_dev_caps *caps = &dev->caps;
	struct mlx5dv_crypto_caps crypto;
	struct mlx5dv_sig_caps sig;
	struct ibv_device_attr attr;
	int ret;

	ret = hwq_verbs_query_device(dev->ctx, &attr);
	if (ret == 0)
		ret = hwq_verbs_query_memcpy(dev->ctx, &caps->max_memcpy_len);
	if (ret == 0)
		ret = hwq_verbs_query_memory(dev->ctx, &caps->max_dm_len, &caps->any_memory);
	if (ret == 0)
		ret = hwq_verbs_query_offloads(dev->ctx, &sig, &crypto);
	if (ret != 0) {
		hwq_log("%s: querying the device: %s", hwq_dev_name(dev), strerror(-ret));
		return ret;
	}
	hwq_verbs_query_devx(dev->ctx, &caps->devx, &caps->dc);
	if (caps->devx)
		hwq_verbs_query_cross(dev->ctx, &caps->vhca_id, &caps->cross_vhca);
	caps->sys_image_guid = attr.sys_image_guid;
	if (caps->max_memcpy_len > HWQ_MMO_LEN_MAX)
		caps->max_memcpy_len = HWQ_MMO_LEN_MAX;
	caps->max_qp_wr = (uint32_t)attr.max_qp_wr;
	if (caps->max_qp_wr > HWQ_SQ_MAX_BB)
		caps->max_qp_wr = HWQ_SQ_MAX_BB;
	/*
	 * max_cqe of verbs is one less than the number of entries, because libmlx5 adds an entry to
	 * each CQ.
	 */
	caps->max_cqe = (uint32_t)attr.max_cqe + 1;
	caps->max_sge = (uint32_t)attr.max_sge;
	caps->atomics = attr.atomic_cap != IBV_ATOMIC_NONE;
	caps->raw_ip_csum = (attr.device_cap_flags & IBV_DEVICE_RAW_IP_CSUM) != 0;
	/* In a QP context, each of these two limits has 8 bits. */
	caps->max_rd_atomic = attr.max_qp_init_rd_atom > 255 ? 255 : attr.max_qp_init_rd_atom;
	caps->max_dest_rd_atomic = attr.max_qp_rd_atom > 255 ? 255 : attr.max_qp_rd_atom;
	caps->sig_block_prot = sig.block_prot;
	caps->sig_block_size = (uint32_t)sig.block_size;
	caps->sig_t10dif_bg = sig.t10dif_bg;
	caps->sig_crc_type = sig.crc_type;
	caps->crypto_engines = crypto.crypto_engines;
	caps->crypto_wrapped = crypto.wrapped_import_method;
	caps->crypto_failed_selftests = crypto.failed_selftests;
	caps->crypto_flags = crypto.flags;
	if (crypto.crypto_engines != 0)
		caps->max_dek =
			crypto.log_max_num_deks < 32 ? 1u << crypto.log_max_num_deks : UINT32_MAX;
	caps->n_ports = attr.phys_port_cnt;
	return 0;
}

static int
read_numa_node(const struct hwq_dev *dev)
{
	char path[2 * IBV_SYSFS_PATH_MAX];
	FILE *f;
	int node = -1;

	snprintf(path, sizeof(path), "%s/device/numa_node", dev->ctx->device->ibdev_path);
	f = fopen(path, "r");
	if (f == NULL)
		return -1;
	if (fscanf(f, "%d", &node) != 1)
		node = -1;
	fclose(f);
	return node;
}

/*
 * Returns true if MLX5_SHUT_UP_BF is set to any value but "0". This is libmlx5's rule (in its
 * README of environment variables).
 */
static bool
bf_is_shut_up(void)
{
	const char *value = getenv("MLX5_SHUT_UP_BF");

	return value != NULL && strcmp(value, "0") != 0;
}

/*
 * Prepares an open device whose capabilities are known. Allocates a protection domain if dev->pd is
 * NULL.
 */
static int
set_up(struct hwq_dev *dev)
{
	int ret;

	ret = hwq_port_choose(dev);
	if (ret != 0)
		return ret;
	if (dev->pd == NULL) {
		ret = hwq_verbs_pd_alloc(dev->ctx, &dev->pd);
		if (ret != 0) {
			hwq_log("%s: allocating a protection domain: %s", hwq_dev_name(dev),
				strerror(-ret));
			return ret;
		}
		dev->own_pd = true;
	}
	dev->numa_node = read_numa_node(dev);
	dev->no_bf = bf_is_shut_up();
	return 0;
}

/*
 * Opens a device if suits() returns true for its capabilities. Returns -ENODEV if it is no mlx5
 * device, -EOPNOTSUPP if suits() returned false.
 */
static int
open_one(struct ibv_device *device, bool (*suits)(const struct hwq_dev_caps *caps),
	struct hwq_dev **out)
{
	const char *name = ibv_get_device_name(device);
	struct hwq_dev *dev = calloc(1, sizeof(*dev));
	int ret;

	if (dev == NULL)
		return -ENOMEM;
	ret = hwq_verbs_open(device, &dev->ctx);
	if (ret == -EOPNOTSUPP) {
		hwq_log("%s: not an mlx5 device", name);
		ret = -ENODEV;
	} else if (ret != 0) {
		hwq_log("%s: opening it: %s", name, strerror(-ret));
	}
	if (ret != 0)
		goto err_free;
	dev->own_ctx = true;
	ret = read_caps(dev);
	if (ret == 0 && suits != NULL && !suits(&dev->caps))
		ret = -EOPNOTSUPP;
	if (ret == 0)
		ret = set_up(dev);
	if (ret != 0)
		goto err_close;
	*out = dev;
	return 0;

err_close:
	hwq_verbs_close(dev->ctx);
err_free:
	free(dev);
	return ret;
}

static bool
is_called(struct ibv_device *device, const char *name)
{
	return strcmp(name, ibv_get_device_name(device)) == 0 || hwq_pci_is_of(name, device);
}

/*
 * Opens the first device of the list that suits() accepts; with a name, only that device. If no
 * device can be opened, returns the error of the last device.
 */
static int
open_first(struct ibv_device **list, int n, const char *name,
	bool (*suits)(const struct hwq_dev_caps *caps), struct hwq_dev **dev)
{
	int ret = -ENODEV, i;

	for (i = 0; i < n; i++) {
		if (name != NULL && !is_called(list[i], name))
			continue;
		ret = open_one(list[i], suits, dev);
		if (ret == 0)
			break;
	}
	return ret;
}

int
hwq_dev_open(const char *name, struct hwq_dev **dev)
{
	return hwq_dev_open_if(name, NULL, dev);
}

int
hwq_dev_open_if(const char *name, bool (*suits)(const struct hwq_dev_caps *caps),
	struct hwq_dev **dev)
{
	struct ibv_device **list;
	int n, ret;

	ret = hwq_verbs_list(&list, &n);
	if (ret == -ENODEV) {
		hwq_log("no RDMA device: load the mlx5_ib driver and see that /dev/infiniband is "
			"accessible, or run the program on the emulated adapter (softhca PROGRAM)");
		return ret;
	}
	if (ret != 0) {
		hwq_log("listing RDMA devices: %s", strerror(-ret));
		return ret;
	}
	ret = open_first(list, n, name, suits, dev);
	ibv_free_device_list(list);
	if (ret == -ENODEV && name != NULL && hwq_pci_is_address(name))
		hwq_log("no mlx5 device has the PCI address %s: ls -l /sys/class/infiniband shows "
			"the addresses",
			name);
	else if (ret == -ENODEV && name != NULL)
		hwq_log("no mlx5 device named %s: ibv_devices(1) lists what there is", name);
	else if (ret == -ENODEV)
		hwq_log("none of the RDMA devices is an mlx5 device");
	return ret;
}

int
hwq_dev_open_on(struct ibv_context *ctx, struct ibv_pd *pd, struct hwq_dev **out)
{
	struct hwq_dev *dev;
	int ret;

	if (!mlx5dv_is_supported(ctx->device)) {
		hwq_log("%s: not an mlx5 device", ibv_get_device_name(ctx->device));
		return -ENODEV;
	}
	if (pd != NULL && pd->context != ctx) {
		hwq_log("%s: the protection domain is of another context",
			ibv_get_device_name(ctx->device));
		return -EINVAL;
	}
	dev = calloc(1, sizeof(*dev));
	if (dev == NULL)
		return -ENOMEM;
	dev->ctx = ctx;
	dev->pd = pd;
	ret = read_caps(dev);
	if (ret == 0)
		ret = set_up(dev);
	if (ret != 0) {
		free(dev);
		return ret;
	}
	*out = dev;
	return 0;
}

int
hwq_dev_close(struct hwq_dev *dev)
{
	int ret = 0;

	hwq_left_destroy(dev);
	if (hwq_count_get(&dev->refs) != 0) {
		hwq_log("%s: close: %u keys and domains of it still exist", hwq_dev_name(dev),
			hwq_count_get(&dev->refs));
		return -EBUSY;
	}
	if (dev->own_pd)
		ret = hwq_verbs_pd_free(dev->pd);
	if (ret != 0) {
		hwq_log("%s: freeing the protection domain: %s", hwq_dev_name(dev), strerror(-ret));
		return ret;
	}
	/* ibv_close_device(3) frees the context even if it returns an error. */
	if (dev->own_ctx)
		ret = hwq_verbs_close(dev->ctx);
	if (ret != 0)
		hwq_log("closing the device: %s", strerror(-ret));
	free(dev);
	return 0;
}

void
hwq_log_set(void (*line)(const char *text))
{
	hwq_log_to(line);
}
