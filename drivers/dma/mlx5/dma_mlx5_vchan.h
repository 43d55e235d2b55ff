/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual channels: their queues and memory. Control thread. */
#ifndef DMA_MLX5_VCHAN_H
#define DMA_MLX5_VCHAN_H

#include "dma_mlx5.h"

/*
 * Makes a virtual channel with room for nb_desc operations, or a few more. 0 or a negative errno.
 */
int dma_mlx5_vchan_create(struct dma_mlx5 *d, uint16_t nb_desc, struct dma_mlx5_vchan **out);

/*
 * Frees *v and sets it to NULL; it may be NULL. 0, or a negative errno: the channel is still there.
 */
int dma_mlx5_vchan_destroy(struct dma_mlx5_vchan **v);

/* Operations may be enqueued. Their ids begin with 0. */
void dma_mlx5_vchan_start(struct dma_mlx5_vchan *v);

/* Waits for what is in the queue, and forgets it. No operations may be enqueued. */
void dma_mlx5_vchan_stop(struct dma_mlx5_vchan *v);

#endif
