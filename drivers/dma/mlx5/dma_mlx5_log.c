/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers the log type of the driver. */
#include "dma_mlx5_log.h"

RTE_LOG_REGISTER(dma_mlx5_logtype, pmd.dma.mlx5, NOTICE);
