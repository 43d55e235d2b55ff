/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations of the caller's memory. */
#ifndef GANTRY_MEM_H
#define GANTRY_MEM_H

#include <stdint.h>
#include <sys/queue.h>

#include <hwq_dm.h>

#include "gantry.h"
#include "gantry_region.h"

/* The name under which EAL tells a registration of its memory's changes: rte_memory.h. */
#define GANTRY_MEM_EVENTS "gantry"

/* A part of a registration that has a key of its own. */
struct gantry_piece {
	struct gantry_region region; /* what queues find */
	struct hwq_mr mr;
	uint64_t removed; /* the version of the table without it; 0: the table has it */
	TAILQ_ENTRY(gantry_piece) next;
};

/* The control thread's; the pieces are the lock's of the table of regions. */
struct gantry_mem {
	struct gantry *g;
	TAILQ_HEAD(, gantry_piece) pieces;
	bool ending; /* gantry_mem_unregister() has been called */
	unsigned int flags;
	const struct rte_mempool *pool; /* whose memory it is, or NULL */
	struct hwq_dm dm;               /* the device memory that it is, or none */
	struct gantry_mem_list *list;   /* the list that it is on, or NULL */
	STAILQ_ENTRY(gantry_mem) next;
};

/* Pieces that leave the table, and pieces that come into it. NULL: none. */
struct gantry_piece_change {
	struct gantry_piece *gone[2];
	struct gantry_piece *come[2];
};

/* True: peers have this right, GANTRY_MEM_REMOTE_WRITE or GANTRY_MEM_REMOTE_READ, to the region. Any thread. */
bool gantry_mem_is_open(const struct gantry_region *r, unsigned int right);
/* A registration without pieces. 0 or a negative errno. Control thread. */
int gantry_mem_open(struct gantry *g, unsigned int flags, struct gantry_mem **mem);
/*
 * Registers what no registration has yet of [addr, addr + len), in one piece or, between pieces that
 * are there, in several. 0, or a negative errno: some may have been added. Control thread.
 */
int gantry_mem_add(struct gantry_mem *mem, uint64_t addr, uint64_t len);
/* Calls add() for each part of [addr, addr + len) that no registration has, until one fails. Control thread, or EAL's callback. */
int gantry_mem_add_by(struct gantry_mem *mem, uint64_t addr, uint64_t len,
	int (*add)(struct gantry_mem *mem, uint64_t addr, uint64_t len));
/* Puts it on that list of the engine, instead of the one that it is on. NULL: on none. Control thread. */
void gantry_mem_list(struct gantry_mem *mem, struct gantry_mem_list *list);
/* Ends a registration that no caller has got. What cannot end now, gantry_destroy() ends. Control thread. */
void gantry_mem_give_up(struct gantry_mem *mem);

/*
 * Ends the pieces that the table has no more, each when no queue can use it. Any thread, without the
 * lock of the table. 0; -ETIMEDOUT queues may still use some; or the device's refusal.
 */
int gantry_mem_settle(struct gantry_mem *mem, uint32_t timeout_ms);

/* The calls below are made with the lock of the table of regions. */

/* Registers [addr, addr + len) with the device; the table does not have it yet. 0 or a negative errno. */
int gantry_piece_make(struct gantry_mem *mem, uint64_t addr, uint64_t len,
	struct gantry_piece **out);
/*
 * Ends a piece that the table has not had. NULL: nothing happens. If the device refuses, the piece is ended with
 * those that the table has no more.
 */
void gantry_piece_drop(struct gantry_piece *p);
/* Changes the table by one edit. 0, or -ENOMEM: nothing has changed. */
int gantry_piece_replace(struct gantry_mem *mem, const struct gantry_piece_change *c);

static inline struct gantry_piece *
gantry_piece_of(const struct gantry_region *r)
{
	return (struct gantry_piece *)((uintptr_t)r - offsetof(struct gantry_piece, region));
}

/* The only piece, of memory that was registered as one. */
static inline struct gantry_piece *
gantry_mem_piece(const struct gantry_mem *mem)
{
	return TAILQ_FIRST(&mem->pieces);
}

#endif
