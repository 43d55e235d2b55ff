/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between a driver and the dmadev library of DPDK 22.11 to 25.11 (ABI 23 to 26), for
 * distributions that ship DPDK without its driver headers (enable_driver_sdk=false). The names and
 * the order of the fields are those of lib/dmadev/rte_dmadev_pmd.h of these versions.
 * test/dma/test_dma_abi.c compares this interface with the installed library, and with the
 * installed header if there is one.
 */
#ifndef RTE_DMADEV_PMD_H
#define RTE_DMADEV_PMD_H

#include <stdint.h>
#include <stdio.h>

#include <rte_common.h>
#include <rte_dev.h>
#include <rte_dmadev.h>
#include <rte_version.h>

struct rte_dma_dev;

/*
 * Each function returns 0 or a negative errno. A last argument whose name ends with _sz is the size
 * of the struct before it.
 */
struct rte_dma_dev_ops {
	int (*dev_info_get)(const struct rte_dma_dev *dev, struct rte_dma_info *info,
		uint32_t info_sz);
	int (*dev_configure)(struct rte_dma_dev *dev, const struct rte_dma_conf *conf,
		uint32_t conf_sz);
	int (*dev_start)(struct rte_dma_dev *dev);
	int (*dev_stop)(struct rte_dma_dev *dev);
	int (*dev_close)(struct rte_dma_dev *dev);
	int (*vchan_setup)(struct rte_dma_dev *dev, uint16_t vchan,
		const struct rte_dma_vchan_conf *conf, uint32_t conf_sz);
	int (*stats_get)(const struct rte_dma_dev *dev, uint16_t vchan, struct rte_dma_stats *stats,
		uint32_t stats_sz);
	int (*stats_reset)(struct rte_dma_dev *dev, uint16_t vchan);
	int (*vchan_status)(const struct rte_dma_dev *dev, uint16_t vchan,
		enum rte_dma_vchan_status *status);
	int (*dev_dump)(const struct rte_dma_dev *dev, FILE *f);
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0)
	int (*access_pair_group_create)(const struct rte_dma_dev *dev, rte_uuid_t domain_id,
		rte_uuid_t token, int16_t *group_id, rte_dma_access_pair_group_event_cb_t cb);
	int (*access_pair_group_destroy)(const struct rte_dma_dev *dev, int16_t group_id);
	int (*access_pair_group_join)(const struct rte_dma_dev *dev, rte_uuid_t domain_id,
		rte_uuid_t token, int16_t group_id, rte_dma_access_pair_group_event_cb_t cb);
	int (*access_pair_group_leave)(const struct rte_dma_dev *dev, int16_t group_id);
	int (*access_pair_group_handler_get)(const struct rte_dma_dev *dev, int16_t group_id,
		rte_uuid_t domain_id, uint16_t *handler);
#endif
};

/* A device's data that all processes share. */
struct rte_dma_dev_data {
	char dev_name[RTE_DEV_NAME_MAX_LEN];
	int16_t dev_id;
	int16_t numa_node; /* -1: unknown */
	void *dev_private; /* allocated by rte_dma_pmd_allocate() */
	struct rte_dma_conf dev_conf;
	__extension__ uint8_t dev_started:1;
	uint64_t reserved[2];
} __rte_cache_aligned;

enum rte_dma_dev_state {
	RTE_DMA_DEV_UNUSED = 0,
	RTE_DMA_DEV_REGISTERED, /* the driver is not ready yet */
	RTE_DMA_DEV_READY,      /* set by the driver */
};

/* A device in this process. The driver sets device, dev_ops, state, and the functions of fp_obj. */
struct rte_dma_dev {
	struct rte_device *device;
	struct rte_dma_dev_data *data;
	struct rte_dma_fp_object *fp_obj;
	const struct rte_dma_dev_ops *dev_ops;
	enum rte_dma_dev_state state;
	uint64_t reserved[2];
} __rte_cache_aligned;

/*
 * Makes a device with private_data_size zeroed bytes at data->dev_private. Returns NULL on failure;
 * the log has the reason.
 */
struct rte_dma_dev *rte_dma_pmd_allocate(const char *name, int numa_node, size_t private_data_size);

/* Closes a device that is ready, and frees it. Returns 0 or a negative errno. */
int rte_dma_pmd_release(const char *name);

#endif
