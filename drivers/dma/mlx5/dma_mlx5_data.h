/* SPDX-License-Identifier: BSD-3-Clause */
/* The data path: enqueue, submit, completions. */
#ifndef DMA_MLX5_DATA_H
#define DMA_MLX5_DATA_H

#include "dma_mlx5.h"

/* Sets the functions of the data path. */
void dma_mlx5_data_init(struct rte_dma_fp_object *fp, struct dma_mlx5 *d);

/* Takes completions, and holds them for rte_dma_completed(). Returns true if the queue is empty. */
bool dma_mlx5_data_settle(struct dma_mlx5_vchan *v);

/*
 * Drops staged operations, and takes completions without storing them. Returns true if the queue is
 * empty.
 */
bool dma_mlx5_data_drop(struct dma_mlx5_vchan *v);

#endif
