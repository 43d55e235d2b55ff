/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of a device that the control thread calls. */
#ifndef DMA_MLX5_OPS_H
#define DMA_MLX5_OPS_H

#include "dma_mlx5.h"

extern const struct rte_dma_dev_ops dma_mlx5_ops;

#endif
