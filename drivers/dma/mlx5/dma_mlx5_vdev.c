/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and removes devices: the driver of virtual devices whose names begin with dma_mlx5. */
#include <errno.h>
#include <string.h>

#include <bus_vdev_driver.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "dma_mlx5.h"
#include "dma_mlx5_args.h"
#include "dma_mlx5_data.h"
#include "dma_mlx5_log.h"
#include "dma_mlx5_mem.h"
#include "dma_mlx5_ops.h"

static int
open_engine(const char *name, const struct dma_mlx5_args *args, struct gantry **g)
{
	const struct gantry_conf conf = {
		.device = args->device[0] != '\0' ? args->device : NULL,
		.copy_path = args->mode,
	};
	int ret = gantry_create(&conf, g);

	if (ret == -ENODEV)
		DMA_MLX5_LOG(ERR,
			"%s: there is no such mlx5 device: ibv_devices(1) lists the names, and ls -l "
			"/sys/class/infiniband the PCI addresses; on a machine without one, start the "
			"program by the launcher softhca",
			name);
	else if (ret == -EOPNOTSUPP)
		DMA_MLX5_LOG(ERR,
			"%s: no device that may be used has DMA MMO: use " DMA_MLX5_ARG_MODE
			"=auto or rdma",
			name);
	else if (ret != 0)
		DMA_MLX5_LOG(ERR, "%s: opening the device: %s; the lines above say why", name,
			strerror(-ret));
	return ret;
}

static int
create(struct rte_vdev_device *vdev, const char *name, const struct dma_mlx5_args *args)
{
	struct gantry_info info;
	struct rte_dma_dev *dev;
	struct dma_mlx5 *d;
	struct gantry *g;
	int ret = open_engine(name, args, &g);

	if (ret != 0)
		return ret;
	gantry_info_get(g, &info);
	dev = rte_dma_pmd_allocate(name, info.numa_node, sizeof(*d));
	if (dev == NULL) {
		/* The engine has logged the reason. */
		(void)gantry_destroy(g);
		return -ENOMEM;
	}
	d = dev->data->dev_private;
	d->g = g;
	d->info = info;
	d->dev = dev;
	d->max_desc = RTE_MIN(args->max_desc, info.max_depth);
	LIST_INIT(&d->maps);
	dma_mlx5_mem_begin(d);
	vdev->device.numa_node = info.numa_node;
	dev->device = &vdev->device;
	dev->dev_ops = &dma_mlx5_ops;
	dma_mlx5_data_init(dev->fp_obj, d);
	dev->state = RTE_DMA_DEV_READY;
	return 0;
}

static int
probe(struct rte_vdev_device *vdev)
{
	const char *name = rte_vdev_device_name(vdev);
	struct dma_mlx5_args args;
	int ret;

	/*
	 * Only the primary process gets a device: a channel has one owner, and its rings are
	 * private memory of the process that made the channel.
	 */
	if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
		DMA_MLX5_LOG(NOTICE,
			"%s is the primary process's alone: to copy, start this program as a primary "
			"process (--file-prefix)",
			name);
		return 0;
	}
	ret = dma_mlx5_args_parse(rte_vdev_device_args(vdev), &args);
	return ret == 0 ? create(vdev, name, &args) : ret;
}

/* Returns the device, or NULL if the application has closed it. */
static struct dma_mlx5 *
find(struct rte_vdev_device *vdev)
{
	int id = rte_dma_get_dev_id_by_name(rte_vdev_device_name(vdev));

	return id < 0 ? NULL : rte_dma_fp_objs[id].dev_private;
}

static int
remove_dev(struct rte_vdev_device *vdev)
{
	struct dma_mlx5 *d = find(vdev);
	int ret = 0;

	if (d == NULL)
		return 0;
	if (d->dev->data->dev_started)
		ret = rte_dma_stop(d->dev->data->dev_id);
	/* rte_dma_pmd_release() closes the device. */
	return ret == 0 ? rte_dma_pmd_release(rte_vdev_device_name(vdev)) : ret;
}

/* Returns 0, or -1 with rte_errno, as rte_dev_dma_map() does. */
static int
with_errno(int ret)
{
	rte_errno = -ret;
	return ret == 0 ? 0 : -1;
}

static int
dma_map(struct rte_vdev_device *vdev, void *addr, uint64_t iova, size_t len)
{
	struct dma_mlx5 *d = find(vdev);

	RTE_SET_USED(iova); /* operations use virtual addresses */
	return with_errno(d == NULL ? -ENODEV : dma_mlx5_mem_map(d, addr, len));
}

static int
dma_unmap(struct rte_vdev_device *vdev, void *addr, uint64_t iova, size_t len)
{
	struct dma_mlx5 *d = find(vdev);

	RTE_SET_USED(iova);
	return with_errno(d == NULL ? -ENODEV : dma_mlx5_mem_unmap(d, addr, len));
}

static struct rte_vdev_driver dma_mlx5_driver = {
	.probe = probe,
	.remove = remove_dev,
	.dma_map = dma_map,
	.dma_unmap = dma_unmap,
	.drv_flags = RTE_VDEV_DRV_NEED_IOVA_AS_VA,
};

RTE_PMD_REGISTER_VDEV(dma_mlx5, dma_mlx5_driver);
RTE_PMD_REGISTER_PARAM_STRING(dma_mlx5, DMA_MLX5_ARGS_HELP);
RTE_PMD_REGISTER_KMOD_DEP(dma_mlx5, "* ib_uverbs & mlx5_core & mlx5_ib");
