/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A feed: one worker, its buffers, and the chunks it has in flight.
 *
 * Chunks are numbered from 0 on. Five numbers run free,
 * freed <= taken <= done <= sent <= filled <= freed + depth:
 *
 *     ... freed ........ taken ........ done ......... sent ........... filled ...
 *           | being written | moved       | with worker   | being read    | free, next to reserve
 *
 * Chunk i lies in slot i % depth of the buffers, and i is its descriptor's cookie. Completions come
 * in the order of submission, so the next one must carry the number `done`. Reading and writing may
 * end in any order; a chunk that waits for one before it is marked as `ready`.
 *
 * One thread at a time, except where a call says otherwise. Functions that return int print the
 * error when they return -1.
 */
#ifndef TESTGANTRY_FEED_H
#define TESTGANTRY_FEED_H

#include <stdbool.h>
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
	uint32_t burst;           /**< descriptors that are handed to the worker at a time */
	size_t slot_len;          /**< bytes from one slot to the next */
	struct chunk *chunk;      /**< [depth] */
	struct gantry_desc *desc; /**< [depth] */
	bool *ready;              /**< [depth]: read, and not sent; or written, and not freed */
	uint64_t filled;
	uint64_t sent;
	uint64_t done;
	uint64_t taken;
	uint64_t freed;
};

/** Gives an lcore a worker and buffers. On failure, feed_destroy() frees what there is. */
int feed_create(struct feed *feed, struct gantry *g, unsigned int lcore_id,
	const struct options *o);

/** Connects the feed's queue to the target's, which may be its own. Workers stopped. */
int feed_connect(struct feed *feed, const struct feed *target);

/** Frees the feed. Worker stopped. -1: a descriptor never came back. */
int feed_destroy(struct feed *feed);

/** Chunks that can be reserved now. */
uint32_t feed_room(const struct feed *feed);

/** Gives a chunk the next number. There must be room. */
void feed_reserve(struct feed *feed, const struct chunk *c);

/** From feed_reserve() to feed_written(). Any thread. */
const struct chunk *feed_chunk(const struct feed *feed, uint64_t number);

/** Where to put the bytes of a reserved chunk. Any thread. */
void *feed_source(const struct feed *feed, uint64_t number);

/**
 * Makes a reserved chunk's descriptor. Its bytes are at feed_source(). Any thread that has the
 * chunk.
 */
void feed_prepare(struct feed *feed, uint64_t number);

/** n chunks are read and prepared. */
void feed_read(struct feed *feed, uint64_t first, uint32_t n);

/** Hands to the worker what is read, in order, as much as its ring takes. */
void feed_send(struct feed *feed);

/**
 * Takes completions from the worker and checks them.
 * @param bytes what they have moved is added.
 * @return how many; -1 one is an error or out of order, or bytes behind a destination changed.
 */
int feed_collect(struct feed *feed, uint64_t *bytes);

/** Takes up to max moved chunks to write them. Returns how many. */
uint32_t feed_take_moved(struct feed *feed, uint32_t max, uint64_t *first);

/** Where a moved chunk's bytes arrived; until feed_written(). Any thread. */
const void *feed_destination(const struct feed *feed, uint64_t number);

/** n chunks that were taken are written. */
void feed_written(struct feed *feed, uint64_t first, uint32_t n);

#endif
