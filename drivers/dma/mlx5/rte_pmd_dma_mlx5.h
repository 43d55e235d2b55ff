/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Calls of the driver dma_mlx5 itself: memory of another function of the card, for rte_dma_copy().
 *
 * DPDK up to 25.07 has no calls for this. A program includes this header, and links or loads the
 * driver. doc/dmadev.md says how DPDK 25.11's domains would map to these calls.
 */
#ifndef RTE_PMD_DMA_MLX5_H
#define RTE_PMD_DMA_MLX5_H

#include <stdint.h>

#include <gantry_exports.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Imports memory that another function of the card has exported by gantry_mem_export(). From then
 * on, operations of the device may name addresses from *addr on, as many as the region is long, as
 * source and as destination. The addresses are not mapped in this process. Control thread.
 *
 * @param dev_id
 *   A device of this driver.
 * @param record
 *   Read during the call. It is a secret.
 * @param addr
 *   The address of the first byte; written on success only.
 * @return
 *   0 on success. Otherwise the log says more:
 * @retval -ENODEV
 *   There is no such device, or it is of another driver.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   An error of gantry_mem_import().
 */
GANTRY_API int rte_pmd_dma_mlx5_import(int16_t dev_id, const struct gantry_mem_record *record,
	void **addr);

/**
 * Ends an import. Operations that use the memory must have been collected. All imports that remain
 * end when the device is removed. Control thread.
 *
 * @param dev_id
 *   The device.
 * @param addr
 *   The address that rte_pmd_dma_mlx5_import() has written.
 * @return
 *   0 on success. Otherwise the log says more:
 * @retval -ENODEV
 *   There is no such device, or it is of another driver.
 * @retval -ENOENT
 *   The device has no import with this address.
 * @retval -ETIMEDOUT
 *   Operations may still use the memory: collect their completions, and call again.
 * @retval -errno
 *   An error of gantry_mem_unregister().
 */
GANTRY_API int rte_pmd_dma_mlx5_unimport(int16_t dev_id, void *addr);

#ifdef __cplusplus
}
#endif
#endif
