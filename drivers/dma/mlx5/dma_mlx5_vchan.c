/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates, starts, stops and frees virtual channels. */
#include "dma_mlx5_vchan.h"

#include <errno.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_malloc.h>

#include "dma_mlx5_data.h"
#include "dma_mlx5_log.h"

/*
 * How often an operation is carried out again at most, after an earlier operation has failed and
 * stopped the queue's connection to itself: see gantry_queue_conf::replays.
 */
#define REPLAYS 100

/* Microseconds of each sleep while a stop waits for the device. */
#define STOP_POLL_US 20

static void
free_memory(struct dma_mlx5_vchan *v)
{
	rte_free(v->held);
	rte_free(v->lists);
	rte_free(v->staged);
	rte_free(v);
}

static void *
alloc(size_t len, int socket)
{
	return rte_zmalloc_socket("dma_mlx5_vchan", len, RTE_CACHE_LINE_SIZE, socket);
}

int
dma_mlx5_vchan_create(struct dma_mlx5 *d, uint16_t nb_desc, struct dma_mlx5_vchan **out)
{
	int socket = d->info.numa_node, ret = -ENOMEM;
	struct dma_mlx5_vchan *v = alloc(sizeof(*v), socket);
	struct gantry_queue_conf conf = {
		.depth = rte_align32pow2(nb_desc),
		.max_peers = 1,
		.replays = REPLAYS,
		.prepare = GANTRY_PREPARE_FILL,
	};

	if (v == NULL)
		goto no_memory;
	v->depth = conf.depth;
	v->socket = socket;
	v->staged = alloc(conf.depth * sizeof(*v->staged), socket);
	v->held = alloc(conf.depth * sizeof(*v->held), socket);
	if (v->staged == NULL || v->held == NULL)
		goto no_memory;
	ret = gantry_queue_create(d->g, &conf, &v->q);
	if (ret != 0) {
		DMA_MLX5_LOG(ERR, "%s: a queue for a virtual channel: %s", d->info.device,
			strerror(-ret));
		goto fail;
	}
	v->next = v->staged;
	v->end = v->next;
	*out = v;
	return 0;

no_memory:
	DMA_MLX5_LOG(ERR, "%s: a virtual channel of %u operations: EAL has no memory for it",
		d->info.device, conf.depth);
fail:
	if (v != NULL)
		free_memory(v);
	return ret;
}

int
dma_mlx5_vchan_destroy(struct dma_mlx5_vchan **v)
{
	int ret;

	if (*v == NULL)
		return 0;
	ret = gantry_queue_destroy((*v)->q);
	if (ret != 0) {
		DMA_MLX5_LOG(ERR, "the queue of a virtual channel does not end: %s",
			strerror(-ret));
		return ret;
	}
	free_memory(*v);
	*v = NULL;
	return 0;
}

void
dma_mlx5_vchan_start(struct dma_mlx5_vchan *v)
{
	v->next_id = 0;
	v->next_done = 0;
	v->no_lists = false;
	v->end = v->next + v->depth;
}

void
dma_mlx5_vchan_stop(struct dma_mlx5_vchan *v)
{
	/*
	 * This loop ends, because the engine gives up stuck descriptors after
	 * gantry_queue_conf::deadline_ms.
	 */
	while (!dma_mlx5_data_drop(v))
		rte_delay_us_sleep(STOP_POLL_US);
	v->next_id = 0;
	v->next_done = 0;
}
