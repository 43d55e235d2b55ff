/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A lane: one worker, its buffers, and the chunks it has in flight.
 *
 * Chunks are numbered from 0 on. Three numbers run free, done <= sent <= filled <= done + depth:
 *
 *     ... done ......... sent ........ filled ...
 *          | with worker  | not taken   | free: the next to fill
 *
 * Chunk i lies in slot i % depth of the buffers, and i is its descriptor's cookie. Completions come
 * in the order of submission, so the next one must carry the number `done`.
 *
 * Main lcore only. Functions that return int print the error when they return -1.
 */
#ifndef TESTGANTRY_LANE_H
#define TESTGANTRY_LANE_H

#include <stddef.h>
#include <stdint.h>

#include "files.h"
#include "gantry.h"
#include "options.h"

struct chunk {
	struct file *file;
	uint64_t offset;
	uint64_t len;
};

/** Memory of depth slots, registered. */
struct buffers {
	uint8_t *base;
	size_t len;
	struct gantry_mem *mem;
};

struct lane {
	unsigned int lcore_id;
	struct gantry_worker *worker;
	struct buffers src;
	struct buffers dst;
	const struct lane *target; /**< write, read: whose buffers are remote to this one */
	uint16_t peer;             /**< write, read: the connection */
	enum mode mode;
	uint32_t depth;
	size_t slot_len; /**< from slot to slot */
	struct chunk *chunk;
	struct gantry_desc *desc;
	uint64_t filled;
	uint64_t sent;
	uint64_t done;
};

/** Gives an lcore a worker and buffers. On failure, lane_destroy() frees what there is. */
int lane_create(struct lane *l, struct gantry *g, unsigned int lcore_id, const struct options *o);

/** Connects the lane's queue to the target's, which may be its own. Workers stopped. */
int lane_connect(struct lane *l, const struct lane *target);

/** Frees it. Worker stopped. -1: a descriptor never came back. */
int lane_destroy(struct lane *l);

/** Chunks that can be filled now. */
uint32_t lane_room(const struct lane *l);

/** Chunks that wait for the worker or are with it. */
uint32_t lane_in_flight(const struct lane *l);

/** Where to put the bytes of the next chunk. */
void *lane_next_source(const struct lane *l);

/** Makes the next chunk's descriptor; its bytes are in place. */
void lane_fill(struct lane *l, const struct chunk *c);

/** Hands filled chunks to the worker, as many as its ring takes. */
void lane_send(struct lane *l);

/**
 * Takes the chunk of one completion. The data stays until the lane is filled again.
 * @param data the bytes that arrived.
 */
int lane_accept(struct lane *l, const struct gantry_comp *comp, struct chunk *c, const void **data);

#endif
