/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that operations may use. Only the control thread calls these functions. */
#ifndef DMA_MLX5_MEM_H
#define DMA_MLX5_MEM_H

#include "dma_mlx5.h"

/* Registers all memory on demand. Does nothing if the device does not support that. */
void dma_mlx5_mem_begin(struct dma_mlx5 *d);

/*
 * Registers EAL's memory, and follows its changes. A later call tries failed registrations again.
 * Returns 0 or a negative errno.
 */
int dma_mlx5_mem_start(struct dma_mlx5 *d);

/* Ends all registrations. Returns 0, or a negative errno: then call again. */
int dma_mlx5_mem_end(struct dma_mlx5 *d);

/* For rte_dev_dma_map() and rte_dev_dma_unmap(). Both return 0 or a negative errno. */
int dma_mlx5_mem_map(struct dma_mlx5 *d, void *addr, size_t len);
int dma_mlx5_mem_unmap(struct dma_mlx5 *d, void *addr, size_t len);

#endif
