/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual channels: their queues and memory. Control thread. */
#ifndef DMA_MLX5_VCHAN_H
#define DMA_MLX5_VCHAN_H

#include "dma_mlx5.h"

/* Makes a virtual channel for at least nb_desc operations. 0 or a negative errno. */
int dma_mlx5_vchan_create(struct dma_mlx5 *d, uint16_t nb_desc, struct dma_mlx5_vchan **out);

/*
 * Frees *v, which may be NULL, and sets it to NULL. 0, or a negative errno: the channel still
 * exists.
 */
int dma_mlx5_vchan_destroy(struct dma_mlx5_vchan **v);

/* Allows operations to be enqueued. Ids begin with 0. */
void dma_mlx5_vchan_start(struct dma_mlx5_vchan *v);

/* Waits until the queue is empty, and drops the completions. No thread may enqueue meanwhile. */
void dma_mlx5_vchan_stop(struct dma_mlx5_vchan *v);

#endif
