/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A dmadev device on an mlx5 adapter. It uses the engine's inline mode.
 *
 *   rte_dma_copy()        a descriptor is staged           dma_mlx5_data.c
 *   rte_dma_submit()      gantry_submit() of all staged    dma_mlx5_data.c
 *   rte_dma_completed()   gantry_poll_good(): a count      dma_mlx5_data.c
 *   rte_dma_start(), ...  engine, queues, memory           dma_mlx5_ops.c, _vchan.c, _mem.c
 *   --vdev dma_mlx5_0     probe, arguments                 dma_mlx5_vdev.c, dma_mlx5_args.c
 *
 * Each virtual channel is a queue of the engine. An operation's id is the low 16 bits of the number
 * of operations enqueued before it since the start:
 *
 *        next_done            next_id - staged           next_id
 *           | in the queue, or held |  staged[]            |
 *      -----+-----------------------+----------------------+----->
 *         next to return        next to submit          next to enqueue
 *
 * An operation is "held" if rte_dma_vchan_status() has taken its completion, and
 * rte_dma_completed() has not returned it yet.
 *
 * Threads: the application's data thread calls the functions of the data path, and
 * rte_dma_vchan_status(). The control thread of gantry.h calls all other functions. While the data
 * thread works, the control thread may call rte_dma_stats_get(), rte_dma_stats_reset(),
 * rte_dma_info_get(), rte_dma_dump(), rte_dev_dma_map() and rte_dev_dma_unmap(). Any thread reads
 * counters.
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
#define DMA_MLX5_MAX_SGES   32    /* most elements in each list of a copy */
#define DMA_MLX5_MIN_DESC   2     /* lowest value of gantry_queue_conf::depth */
#define DMA_MLX5_MAX_DESC   16384 /* gantry_queue_conf::depth */

/*
 * A counter that the data thread writes and any thread reads. Release and acquire make sure that a
 * reader who sees an operation completed also sees it submitted.
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

/* Counts of operations for rte_dma_stats_get(). */
struct dma_mlx5_counts {
	dma_mlx5_counter submitted, completed, errors;
};

/* The lists of a scatter-gather copy. The engine reads them until the copy has completed. */
struct dma_mlx5_lists {
	struct gantry_sge src[DMA_MLX5_MAX_SGES], dst[DMA_MLX5_MAX_SGES];
};

struct dma_mlx5_vchan {
	/* Fields that the data thread writes. */
	struct gantry_desc *next; /* address in staged[] for the next operation */
	/* end of the free elements of staged[]; equal to `next` while the device is stopped */
	struct gantry_desc *end;
	uint16_t next_id;   /* id of the next operation */
	uint16_t next_done; /* id of the next operation to return to the application */
	bool has_args;      /* `arg` is not 0 in at least one element of staged[] */
	bool no_lists;      /* the allocation of `lists` has failed since the last start */
	uint32_t n_held;
	struct gantry_queue *q;
	/*
	 * `depth` descriptors. In all elements from `next` on, the fields that copies do not set
	 * are 0.
	 */
	struct gantry_desc *staged;
	/*
	 * `depth` elements; an operation uses the element with its id. NULL: no list was copied
	 * yet.
	 */
	struct dma_mlx5_lists *lists;
	struct dma_mlx5_counts counts; /* counts since the channel was set up */

	/* These fields do not change after the channel's creation. */
	uint32_t depth; /* a power of two */
	/* `depth` elements: enum rte_dma_status_code of each held operation, by its id */
	uint16_t *held;
	int socket; /* NUMA socket of the channel's memory */

	/* Written by the control thread: the counts at the last rte_dma_stats_reset(). */
	struct dma_mlx5_counts base;
};

/* Memory that rte_dev_dma_map() has registered; len is 0 for memory that was imported. */
struct dma_mlx5_map {
	LIST_ENTRY(dma_mlx5_map) next;
	void *addr;
	size_t len;
	struct gantry_mem *mem;
};

struct dma_mlx5 {
	/*
	 * The first field, because the functions of the data path get the address of this struct.
	 * NULL: the channel is not set up.
	 */
	struct dma_mlx5_vchan *vchan[DMA_MLX5_MAX_VCHANS];
	struct gantry *g;
	struct gantry_info info;
	struct rte_dma_dev *dev;
	uint16_t max_desc;
	/* all other memory, on demand; NULL: the device does not support that */
	struct gantry_mem *any;
	struct gantry_mem *eal; /* EAL's memory, which is registered at the first start */
	LIST_HEAD(, dma_mlx5_map) maps;
};

#endif
