/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of a device: --vdev dma_mlx5_0,device=mlx5_0,max_desc=1024,mode=auto */
#ifndef DMA_MLX5_ARGS_H
#define DMA_MLX5_ARGS_H

#include <stdint.h>

#include <gantry.h>

/* dpdk-pmdinfo.py shows these arguments too. */
#define DMA_MLX5_ARG_DEVICE   "device"
#define DMA_MLX5_ARG_MAX_DESC "max_desc"
#define DMA_MLX5_ARG_MODE     "mode"
#define DMA_MLX5_ARGS_HELP                                                                         \
	DMA_MLX5_ARG_DEVICE                                                                        \
	"=<name as ibv_devices(1) lists it, or PCI address> " DMA_MLX5_ARG_MAX_DESC                \
	"=<2..16384> " DMA_MLX5_ARG_MODE "=<auto|mmo|rdma>"

struct dma_mlx5_args {
	char device[64];   /* name of the device; "": the first device */
	uint16_t max_desc; /* largest nb_desc of a virtual channel */
	enum gantry_copy_path mode;
};

/*
 * Parses the text that follows the device's name. Returns 0, or -EINVAL; then the log says what is
 * wrong.
 */
int dma_mlx5_args_parse(const char *text, struct dma_mlx5_args *args);

#endif
