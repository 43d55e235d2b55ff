/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver's log type, and the macro that writes one line to it. */
#ifndef DMA_MLX5_LOG_H
#define DMA_MLX5_LOG_H

#include <rte_log.h>

/* The log type "pmd.dma.mlx5" of EAL's --log-level. */
extern int dma_mlx5_logtype;

/*
 * Logs a line. level: ERR, WARNING, ... without RTE_LOG_. It is not called once for each operation,
 * because that would be slow.
 */
#define DMA_MLX5_LOG(level, fmt, ...)                                                              \
	rte_log(RTE_LOG_##level, dma_mlx5_logtype, "dma_mlx5: " fmt "\n", ##__VA_ARGS__)

#endif
