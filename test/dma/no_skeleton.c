/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plug-in that takes the place of DPDK's driver dma_skeleton and makes no device. dpdk-test tries that driver before
 * all others, by copies that its thread must have done in a fixed time: on a busy machine they sometimes are not. Without it, only
 * the devices of the command line are tried.
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

/* A plug-in of the command line is loaded first, and its drivers are asked first. */
static struct rte_vdev_driver no_skeleton = {
	.probe = probe,
	.remove = remove_dev,
};

RTE_PMD_REGISTER_VDEV(dma_skeleton, no_skeleton);
