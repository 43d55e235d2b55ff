/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists the layouts of structures by one set of declarations. DMA_LAYOUT is the name of the array:
 * dma_layout_own or dma_layout_dpdk.
 */
#include <bus_vdev_driver.h>
#include <rte_dmadev_pmd.h>
#include <rte_version.h>

#include "dma_layout.h"

#define FIELD(type, field)                                                                         \
	{                                                                                          \
#type "." #field, offsetof(struct type, field),                                    \
			sizeof(((struct type *)NULL)->field)                                       \
	}
#define WHOLE(type)                                                                                \
	{                                                                                          \
#type, _Alignof(struct type), sizeof(struct type)                                  \
	}
#define VALUE(value)                                                                               \
	{                                                                                          \
#value, value, 0                                                                   \
	}

/*
 * The links of a list are not compared. They come before all other fields; drivers do not use them,
 * and DPDK 26.11 does not have them.
 */
const struct dma_layout DMA_LAYOUT[] = {
	WHOLE(rte_driver),
	FIELD(rte_driver, name),
	FIELD(rte_driver, alias),
	WHOLE(rte_device),
	FIELD(rte_device, name),
	FIELD(rte_device, bus_info),
	FIELD(rte_device, driver),
	FIELD(rte_device, bus),
	FIELD(rte_device, numa_node),
	FIELD(rte_device, devargs),
	WHOLE(rte_vdev_device),
	FIELD(rte_vdev_device, device),
	WHOLE(rte_vdev_driver),
	FIELD(rte_vdev_driver, driver),
	FIELD(rte_vdev_driver, probe),
	FIELD(rte_vdev_driver, remove),
	FIELD(rte_vdev_driver, dma_map),
	FIELD(rte_vdev_driver, dma_unmap),
	FIELD(rte_vdev_driver, drv_flags),
	VALUE(RTE_VDEV_DRV_NEED_IOVA_AS_VA),
	WHOLE(rte_dma_dev_ops),
	FIELD(rte_dma_dev_ops, dev_info_get),
	FIELD(rte_dma_dev_ops, dev_configure),
	FIELD(rte_dma_dev_ops, dev_start),
	FIELD(rte_dma_dev_ops, dev_stop),
	FIELD(rte_dma_dev_ops, dev_close),
	FIELD(rte_dma_dev_ops, vchan_setup),
	FIELD(rte_dma_dev_ops, stats_get),
	FIELD(rte_dma_dev_ops, stats_reset),
	FIELD(rte_dma_dev_ops, vchan_status),
	FIELD(rte_dma_dev_ops, dev_dump),
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
	FIELD(rte_dma_dev_ops, access_pair_group_create),
	FIELD(rte_dma_dev_ops, access_pair_group_destroy),
	FIELD(rte_dma_dev_ops, access_pair_group_join),
	FIELD(rte_dma_dev_ops, access_pair_group_leave),
	FIELD(rte_dma_dev_ops, access_pair_group_handler_get),
#endif
	WHOLE(rte_dma_dev_data),
	FIELD(rte_dma_dev_data, dev_name),
	FIELD(rte_dma_dev_data, dev_id),
	FIELD(rte_dma_dev_data, numa_node),
	FIELD(rte_dma_dev_data, dev_private),
	FIELD(rte_dma_dev_data, dev_conf),
	FIELD(rte_dma_dev_data, reserved),
	WHOLE(rte_dma_dev),
	FIELD(rte_dma_dev, device),
	FIELD(rte_dma_dev, data),
	FIELD(rte_dma_dev, fp_obj),
	FIELD(rte_dma_dev, dev_ops),
	FIELD(rte_dma_dev, state),
	FIELD(rte_dma_dev, reserved),
	VALUE(RTE_DMA_DEV_UNUSED),
	VALUE(RTE_DMA_DEV_REGISTERED),
	VALUE(RTE_DMA_DEV_READY),
	{NULL, 0, 0},
};
