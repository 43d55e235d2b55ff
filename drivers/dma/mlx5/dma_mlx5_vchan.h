/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual channels: their queues and memory. Only the control thread calls these functions. */
#ifndef DMA_MLX5_VCHAN_H
#define DMA_MLX5_VCHAN_H

#include "dma_mlx5.h"

/* Makes a virtual channel for at least nb_desc operations. Returns 0 or a negative errno. */
int dma_mlx5_vchan_create(struct dma_mlx5 *d, uint16_t nb_desc, struct dma_mlx5_vchan **out);

/*
 * Frees *v, which may be NULL, and sets it to NULL. Returns 0, or a negative errno: then the
 * channel still exists.
 */
int dma_mlx5_vchan_destroy(struct dma_mlx5_vchan **v);

/* Allows the application to enqueue operations. Ids begin with 0. */
void dma_mlx5_vchan_start(struct dma_mlx5_vchan *v);

/*
 * Waits until the queue is empty, and drops the completions. No thread may enqueue during the call.
 */
void dma_mlx5_vchan_stop(struct dma_mlx5_vchan *v);

#endif
