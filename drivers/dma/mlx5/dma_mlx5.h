/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dmadev device on an mlx5 adapter: a thin user of the engine's inline mode.
 *
 *   rte_dma_copy()        a descriptor is staged           dma_mlx5_data.c
 *   rte_dma_submit()      gantry_submit() of all staged    dma_mlx5_data.c
 *   rte_dma_completed()   gantry_poll_good(): a count      dma_mlx5_data.c
 *   rte_dma_start(), ...  engine, queues, memory           dma_mlx5_ops.c, _vchan.c, _mem.c
 *   --vdev dma_mlx5_0     probe, arguments                 dma_mlx5_vdev.c, dma_mlx5_args.c
 *
 * Each virtual channel is a queue of the engine. Its operations have numbers, which are the low 16
 * bits of how many were enqueued since the start:
 *
 *        next_done            next_id - staged           next_id
 *           | in the queue, or held |  staged[]            |
 *      -----+-----------------------+----------------------+----->
 *         next to hand out      next to submit          next to enqueue
 *
 * An operation is held if it has completed, but only rte_dma_vchan_status() knows.
 *
 * Threads: the functions of the data path, and rte_dma_vchan_status(), are the application's data
 * thread. The others are the control thread of gantry.h; while the data thread works, it may call
 * rte_dma_stats_get(), rte_dma_stats_reset(), rte_dma_info_get(), rte_dma_dump(), rte_dev_dma_map()
 * and rte_dev_dma_unmap(). Counters are read by any thread.
 */
#ifndef DMA_MLX5_H
#define DMA_MLX5_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <gantry.h>
#include <rte_dmadev_pmd.h>

#define DMA_MLX5_MAX_VCHANS 16
#define DMA_MLX5_MAX_SGES   32    /* of each list of a copy */
#define DMA_MLX5_MIN_DESC   2     /* gantry_queue_conf::depth */
#define DMA_MLX5_MAX_DESC   16384 /* gantry_queue_conf::depth */

/*
 * A counter that the data thread writes and any thread reads. Who sees a completion counted sees
 * that it was submitted: release and acquire are a pair.
 */
typedef _Atomic uint64_t dma_mlx5_counter;

static inline void
dma_mlx5_count(dma_mlx5_counter *c, uint64_t n)
{
	uint64_t before = atomic_load_explicit(c, memory_order_relaxed);

	atomic_store_explicit(c, before + n, memory_order_release);
}

static inline uint64_t
dma_mlx5_count_get(const dma_mlx5_counter *c)
{
	return atomic_load_explicit(c, memory_order_acquire);
}

/* What rte_dma_stats_get() tells: operations. */
struct dma_mlx5_counts {
	dma_mlx5_counter submitted, completed, errors;
};

/* The lists of a scatter-gather copy, as the engine reads them until it has completed. */
struct dma_mlx5_lists {
	struct gantry_sge src[DMA_MLX5_MAX_SGES], dst[DMA_MLX5_MAX_SGES];
};

struct dma_mlx5_vchan {
	/* The data thread's. */
	struct gantry_desc *next; /* in staged[]: where the next operation goes */
	struct gantry_desc
		*end;     /* where there is no room any more; `next` while the device is stopped */
	uint16_t next_id; /* of the next operation */
	uint16_t next_done; /* the id of the next one to hand out */
	bool has_args;      /* of some in staged[], arg is not 0 */
	bool no_lists;      /* since the last start there was no memory for `lists` */
	uint32_t n_held;
	struct gantry_queue *q;
	/* `depth` of them. What copies do not set is 0 from `next` on. */
	struct gantry_desc *staged;
	/* `depth` of them; an operation has the one of its id. NULL: none has been needed yet. */
	struct dma_mlx5_lists *lists;
	struct dma_mlx5_counts counts; /* since it was set up */

	/* Constant from its creation on. */
	uint32_t depth; /* a power of two */
	uint16_t *held; /* `depth` of them: enum rte_dma_status_code of the held ones, by id */
	int socket;     /* of its memory */

	/* The control thread's: counts at the last rte_dma_stats_reset(). */
	struct dma_mlx5_counts base;
};

/* Memory that rte_dev_dma_map() named. */
struct dma_mlx5_map {
	LIST_ENTRY(dma_mlx5_map) next;
	void *addr;
	size_t len;
	struct gantry_mem *mem;
};

struct dma_mlx5 {
	/* First: the data path's functions get the address of the device. NULL: not set up. */
	struct dma_mlx5_vchan *vchan[DMA_MLX5_MAX_VCHANS];
	struct gantry *g;
	struct gantry_info info;
	struct rte_dma_dev *dev;
	uint16_t max_desc;
	struct gantry_mem *any; /* all other memory, on demand; NULL: the device cannot */
	struct gantry_mem *eal; /* from the first start on */
	LIST_HEAD(, dma_mlx5_map) maps;
};

#endif
