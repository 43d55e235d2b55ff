/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations of the caller's memory. */
#ifndef GANTRY_MEM_H
#define GANTRY_MEM_H

#include <stdint.h>
#include <sys/queue.h>

#include <hwq_mr.h>

#include "gantry.h"
#include "gantry_region.h"

/* A part of a registration that has a key of its own. */
struct gantry_piece {
	struct gantry_region region; /* what queues find */
	struct hwq_mr mr;
	bool known; /* the region is in the table of regions */
	STAILQ_ENTRY(gantry_piece) next;
};

/* The control thread's, and the lock's of the table of regions. */
struct gantry_mem {
	struct gantry *g;
	STAILQ_HEAD(, gantry_piece) pieces;
	uint64_t removed; /* the version of the table without it; 0: it is registered */
	unsigned int flags;
	const struct rte_mempool *pool; /* whose memory it is, or NULL */
	STAILQ_ENTRY(gantry_mem) next_pool;
};

/* A registration without pieces. 0 or a negative errno. Control thread. */
int gantry_mem_open(struct gantry *g, unsigned int flags, struct gantry_mem **mem);
/*
 * Registers what no registration has yet of [addr, addr + len), in one piece or, between pieces that
 * are there, in several. 0, or a negative errno: some may have been added. Control thread.
 */
int gantry_mem_add(struct gantry_mem *mem, uint64_t addr, uint64_t len);

/* The only piece, of memory that was registered as one. */
static inline struct gantry_piece *
gantry_mem_piece(const struct gantry_mem *mem)
{
	return STAILQ_FIRST(&mem->pieces);
}

#endif
