/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between a driver and the bus of virtual devices in DPDK 22.11 to 25.11 (ABI 23 to
 * 26). For the reason of this copy see rte_dmadev_pmd.h in this folder. The names and the order of
 * the fields are those of drivers/bus/vdev/bus_vdev_driver.h and lib/eal/include/dev_driver.h of
 * these versions.
 */
#ifndef BUS_VDEV_DRIVER_H
#define BUS_VDEV_DRIVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_bus_vdev.h>
#include <rte_common.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_os.h>

struct rte_bus;

struct rte_driver {
	RTE_TAILQ_ENTRY(rte_driver) next;
	const char *name;
	const char *alias; /* second name of the driver, or NULL */
};

struct rte_device {
	RTE_TAILQ_ENTRY(rte_device) next;
	const char *name;
	const char *bus_info;
	const struct rte_driver *driver; /* driver that has probed the device; NULL: none */
	const struct rte_bus *bus;
	int numa_node; /* NUMA node; -1: unknown */
	struct rte_devargs *devargs;
};

struct rte_vdev_device {
	RTE_TAILQ_ENTRY(rte_vdev_device) next;
	struct rte_device device;
};

/* Functions return 0 or a negative errno. */
struct rte_vdev_driver {
	RTE_TAILQ_ENTRY(rte_vdev_driver) next;
	struct rte_driver driver;
	int (*probe)(struct rte_vdev_device *dev);
	int (*remove)(struct rte_vdev_device *dev);
	/* Return 0, or -1 with rte_errno. */
	int (*dma_map)(struct rte_vdev_device *dev, void *addr, uint64_t iova, size_t len);
	int (*dma_unmap)(struct rte_vdev_device *dev, void *addr, uint64_t iova, size_t len);
	uint32_t drv_flags;
};

/*
 * EAL must choose virtual addresses as IOVA; otherwise the bus does not probe the driver's devices.
 */
#define RTE_VDEV_DRV_NEED_IOVA_AS_VA 0x0001

void rte_vdev_register(struct rte_vdev_driver *driver);
void rte_vdev_unregister(struct rte_vdev_driver *driver);

static inline const char *
rte_vdev_device_name(const struct rte_vdev_device *dev)
{
	return dev->device.name;
}

static inline const char *
rte_vdev_device_args(const struct rte_vdev_device *dev)
{
	return dev->device.devargs != NULL ? dev->device.devargs->args : "";
}

/* dpdk-pmdinfo.py reads these symbols. Up to 25.03, rte_dev.h has these macros. */
#ifndef RTE_PMD_EXPORT_NAME
#define VDEV_EXPORT(symbol, text) __attribute__((used)) const char symbol[] = text

#define RTE_PMD_EXPORT_NAME(nm, ...)            VDEV_EXPORT(this_pmd_name##nm, RTE_STR(nm))
#define RTE_PMD_REGISTER_PARAM_STRING(nm, text) VDEV_EXPORT(__##nm##_param_string_export, text)
#define RTE_PMD_REGISTER_KMOD_DEP(nm, text)     VDEV_EXPORT(__##nm##_kmod_dep_export, text)
#endif

/* When the library is loaded, registers drv for devices whose names begin with nm. */
#define RTE_PMD_REGISTER_VDEV(nm, drv)                                                             \
	RTE_INIT(vdrvinitfn_##drv)                                                                 \
	{                                                                                          \
		(drv).driver.name = RTE_STR(nm);                                                   \
		rte_vdev_register(&(drv));                                                         \
	}                                                                                          \
	RTE_PMD_EXPORT_NAME(nm, __COUNTER__)

#endif
