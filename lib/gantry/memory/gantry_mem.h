/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations of the caller's memory. */
#ifndef GANTRY_MEM_H
#define GANTRY_MEM_H

#include <stdint.h>
#include <sys/queue.h>

#include <hwq_alias.h>
#include <hwq_dm.h>

#include "gantry.h"
#include "gantry_given.h"
#include "gantry_region.h"

/* The name under which this library asks EAL for events about EAL's memory (rte_memory.h). */
#define GANTRY_MEM_EVENTS "gantry"

/* A part of a registration. Each piece has a key of its own. */
struct gantry_piece {
	struct gantry_region region; /* the region that queues find */
	struct hwq_mr mr;            /* the registration; not for imported memory */
	struct hwq_alias alias;      /* for imported memory: the key */
	/* The first version of the table without this piece; 0: the table has the piece. */
	uint64_t removed;
	TAILQ_ENTRY(gantry_piece) next;
};

/*
 * A registration. The control thread uses it; its pieces are used under the lock of the table of
 * regions.
 */
struct gantry_mem {
	struct gantry *g;
	TAILQ_HEAD(, gantry_piece) pieces;
	bool ending; /* gantry_mem_unregister() has been called */
	unsigned int flags;
	const struct rte_mempool *pool; /* the mempool that was registered, or NULL */
	struct hwq_dm dm;               /* the device memory that was registered, if any */
	/* Keys that other functions of the card may use: gantry_mem_export.c. */
	struct gantry_given_list given;
	/* For imported memory: the reserved addresses, and the address of the first byte. */
	void *reserved;
	size_t reserved_len;
	uint64_t addr;
	struct gantry_mem_list *list; /* the list that has this registration, or NULL */
	STAILQ_ENTRY(gantry_mem) next;
};

/*
 * The pieces that one edit removes from the table, and the pieces that it adds. A pointer may be
 * NULL.
 */
struct gantry_piece_change {
	struct gantry_piece *gone[2];
	struct gantry_piece *come[2];
};

/*
 * Returns true if peers have the right GANTRY_MEM_REMOTE_WRITE or GANTRY_MEM_REMOTE_READ to the
 * region. Any thread.
 */
bool gantry_mem_is_open(const struct gantry_region *r, unsigned int right);
/* Creates a registration without pieces. Returns 0 or a negative errno. Control thread. */
int gantry_mem_open(struct gantry *g, unsigned int flags, struct gantry_mem **mem);
/*
 * Registers the parts of [addr, addr + len) that no registration has, each as one piece. Returns 0
 * or a negative errno. After an error, some pieces may have been added. Control thread.
 */
int gantry_mem_add(struct gantry_mem *mem, uint64_t addr, uint64_t len);
/*
 * Calls add() for each part of [addr, addr + len) that no registration has, until a call fails.
 * Control thread, or EAL's callback.
 */
int gantry_mem_add_by(struct gantry_mem *mem, uint64_t addr, uint64_t len,
	int (*add)(struct gantry_mem *mem, uint64_t addr, uint64_t len));
/*
 * Moves the registration to this list of the engine. If the list is NULL, the registration is then
 * in no list. Control thread.
 */
void gantry_mem_list(struct gantry_mem *mem, struct gantry_mem_list *list);
/*
 * Ends a registration that was not returned to the caller of the library. If a piece cannot be
 * ended now, gantry_destroy() ends it. Control thread.
 */
void gantry_mem_give_up(struct gantry_mem *mem);

/*
 * Ends the pieces that are no longer in the table. Each piece is ended as soon as no queue can use
 * it. Returns 0, -ETIMEDOUT if queues may still use some pieces, or the device's error. Any thread;
 * the caller does not have the lock of the table.
 */
int gantry_mem_settle(struct gantry_mem *mem, uint32_t timeout_ms);

/* The callers of the functions below have the lock of the table of regions. */

/*
 * Registers [addr, addr + len) with the device, but does not add it to the table. Returns 0 or a
 * negative errno.
 */
int gantry_piece_make(struct gantry_mem *mem, uint64_t addr, uint64_t len,
	struct gantry_piece **out);
/*
 * Ends a piece that was never in the table. Does nothing if p is NULL. If the device refuses, the
 * piece is ended together with the pieces that are no longer in the table.
 */
void gantry_piece_drop(struct gantry_piece *p);
/* Changes the table by one edit. Returns 0. If it returns -ENOMEM, nothing has changed. */
int gantry_piece_replace(struct gantry_mem *mem, const struct gantry_piece_change *c);
/* Adds a new piece to the table. If it returns -ENOMEM, the piece has been dropped. */
int gantry_piece_add(struct gantry_mem *mem, struct gantry_piece *p);

static inline struct gantry_piece *
gantry_piece_of(const struct gantry_region *r)
{
	return (struct gantry_piece *)((uintptr_t)r - offsetof(struct gantry_piece, region));
}

/* Returns the only piece of a registration that has one piece. */
static inline struct gantry_piece *
gantry_mem_piece(const struct gantry_mem *mem)
{
	return TAILQ_FIRST(&mem->pieces);
}

#endif
