/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the arguments of a device. */
#include "dma_mlx5_args.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_kvargs.h>
#include <rte_string_fns.h>

#include "dma_mlx5.h"
#include "dma_mlx5_log.h"

static int
refuse(const char *key, const char *value, const char *want)
{
	DMA_MLX5_LOG(ERR, "%s=%s: %s", key, value, want);
	return -EINVAL;
}

static int
parse_device(const char *key, const char *value, struct dma_mlx5_args *args)
{
	if (value[0] == '\0')
		return refuse(key, value,
			"it must name a device as ibv_devices(1) lists it, or by its PCI address");
	if (rte_strscpy(args->device, value, sizeof(args->device)) < 0)
		return refuse(key, value, "no device has so long a name");
	return 0;
}

static int
parse_max_desc(const char *key, const char *value, struct dma_mlx5_args *args)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 ||
		n < DMA_MLX5_MIN_DESC || n > DMA_MLX5_MAX_DESC)
		return refuse(key, value,
			"it must be a number from " RTE_STR(DMA_MLX5_MIN_DESC) " to " RTE_STR(
				DMA_MLX5_MAX_DESC));
	args->max_desc = n;
	return 0;
}

static int
parse_mode(const char *key, const char *value, struct dma_mlx5_args *args)
{
	static const char *const name[] = {
		[GANTRY_COPY_AUTO] = "auto",
		[GANTRY_COPY_MMO] = "mmo",
		[GANTRY_COPY_RDMA] = "rdma",
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(name); i++) {
		if (strcmp(value, name[i]) == 0) {
			args->mode = i;
			return 0;
		}
	}
	return refuse(key, value, "it must be auto, mmo or rdma");
}

static const struct {
	const char *key;
	int (*parse)(const char *key, const char *value, struct dma_mlx5_args *args);
} known[] = {
	{DMA_MLX5_ARG_DEVICE, parse_device},
	{DMA_MLX5_ARG_MAX_DESC, parse_max_desc},
	{DMA_MLX5_ARG_MODE, parse_mode},
};

/* Parses one pair. value is NULL if the text has no '='. */
static int
parse_pair(const char *key, const char *value, struct dma_mlx5_args *args)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(known); i++)
		if (strcmp(key, known[i].key) == 0)
			return known[i].parse(key, value == NULL ? "" : value, args);
	return refuse(key, value == NULL ? "" : value,
		"there is no such argument: " DMA_MLX5_ARGS_HELP);
}

int
dma_mlx5_args_parse(const char *text, struct dma_mlx5_args *args)
{
	struct rte_kvargs *pairs;
	unsigned int i;
	int ret = 0;

	*args = (struct dma_mlx5_args){.max_desc = DMA_MLX5_MAX_DESC};
	if (text == NULL || text[0] == '\0')
		return 0;
	pairs = rte_kvargs_parse(text, NULL);
	if (pairs == NULL) {
		DMA_MLX5_LOG(ERR, "'%s': these are no pairs of KEY=VALUE: " DMA_MLX5_ARGS_HELP,
			text);
		return -EINVAL;
	}
	/*
	 * rte_kvargs_process() is not used: newer versions of DPDK refuse a key without a value,
	 * but do not report the key.
	 */
	for (i = 0; i < pairs->count && ret == 0; i++)
		ret = parse_pair(pairs->pairs[i].key, pairs->pairs[i].value, args);
	rte_kvargs_free(pairs);
	return ret;
}
