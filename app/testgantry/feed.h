/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A feed: one worker, its buffers, and the chunks it has in flight.
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
#ifndef TESTGANTRY_FEED_H
#define TESTGANTRY_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "files.h"
#include "gantry.h"
#include "options.h"

/** A piece of a file: the bytes that one descriptor moves. */
struct chunk {
	struct file *file;
	uint64_t offset;
	uint64_t len;
};

/** Registered memory, of `depth` slots. One slot holds one chunk. */
struct buffers {
	uint8_t *base;
	size_t len;
	struct gantry_mem *mem;
};

struct feed {
	unsigned int lcore_id;
	struct gantry_worker *worker;
	struct buffers src;
	struct buffers dst;
	const struct feed *target; /**< write, read: its buffers are the remote memory */
	uint16_t peer;             /**< write, read: the connection */
	enum mode mode;
	uint32_t depth;
	size_t slot_len;          /**< bytes from one slot to the next */
	struct chunk *chunk;      /**< [depth] */
	struct gantry_desc *desc; /**< [depth] */
	uint64_t filled;
	uint64_t sent;
	uint64_t done;
};

/** Gives an lcore a worker and buffers. On failure, feed_destroy() frees what there is. */
int feed_create(struct feed *feed, struct gantry *g, unsigned int lcore_id,
	const struct options *o);

/** Connects the feed's queue to the target's, which may be its own. Workers stopped. */
int feed_connect(struct feed *feed, const struct feed *target);

/** Frees the feed. Worker stopped. -1: a descriptor never came back. */
int feed_destroy(struct feed *feed);

/** Chunks that can be filled now. */
uint32_t feed_room(const struct feed *feed);

/** Chunks that are filled and whose completions have not come. */
uint32_t feed_in_flight(const struct feed *feed);

/** Where to put the bytes of the next chunk. */
void *feed_next_source(const struct feed *feed);

/** Makes the next chunk's descriptor. Its bytes are already at feed_next_source(). */
void feed_fill(struct feed *feed, const struct chunk *c);

/** Hands filled chunks to the worker, as many as its ring takes. */
void feed_send(struct feed *feed);

/**
 * Checks one completion, and returns its chunk.
 * @param data where the bytes arrived; valid until the next feed_fill().
 * @return 0; -1 the completion is an error or out of order, or bytes behind the destination
 *   changed.
 */
int feed_accept(struct feed *feed, const struct gantry_comp *comp, struct chunk *c,
	const void **data);

#endif
