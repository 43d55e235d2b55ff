/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A feed: one worker, its buffers, and its chunks in flight.
 *
 * Chunks are numbered from 0. Five counters never wrap: freed <= taken <= done <= sent <= filled <=
 * freed + depth:
 *
 *     ... freed ........ taken ........ done ......... sent ........... filled ...
 *           | being written | moved       | with worker   | being read    | free, next to reserve
 *
 * Chunk i lies in slot i % depth of the buffers, and i is its descriptor's cookie. Completions come
 * in the order of submission, so the cookie of the next completion must be `done`. Reading and
 * writing may end in any order; a chunk that is finished before an earlier chunk is marked as
 * `ready`.
 *
 * Only one thread at a time may call these functions, unless a function says "any thread".
 * Functions that return int print the error when they return -1.
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
	const struct feed *target; /**< write, read: the feed whose buffers are the remote memory */
	uint16_t peer;             /**< write, read: the connection */
	enum mode mode;
	uint32_t depth;
	uint32_t burst;           /**< descriptors per call that enqueues to the worker */
	size_t slot_len;          /**< bytes from one slot to the next */
	struct chunk *chunk;      /**< [depth] */
	struct gantry_desc *desc; /**< [depth] */
	/** [depth]: read but not sent yet; or written but not freed yet */
	bool *ready;
	uint64_t filled;
	uint64_t sent;
	uint64_t done;
	uint64_t taken;
	uint64_t freed;
};

/** Gives an lcore a worker and buffers. After a failure, call feed_destroy(). */
int feed_create(struct feed *feed, struct gantry *g, unsigned int lcore_id,
	const struct options *o);

/**
 * Connects the feed's queue to the target's queue; the target may be the feed itself. Workers must
 * be stopped.
 */
int feed_connect(struct feed *feed, const struct feed *target);

/** Frees the feed. The worker must be stopped. -1: a descriptor did not come back. */
int feed_destroy(struct feed *feed);

/** Number of chunks that can be reserved now. */
uint32_t feed_room(const struct feed *feed);

/** Gives a chunk the next number. There must be room. */
void feed_reserve(struct feed *feed, const struct chunk *c);

/** Returns a chunk, valid from feed_reserve() to feed_written(). Any thread. */
const struct chunk *feed_chunk(const struct feed *feed, uint64_t number);

/** Returns where a reserved chunk's bytes are to be read into. Any thread. */
void *feed_source(const struct feed *feed, uint64_t number);

/**
 * Makes a reserved chunk's descriptor; its bytes are at feed_source(). Any thread that has taken
 * the chunk.
 */
void feed_prepare(struct feed *feed, uint64_t number);

/** Marks n chunks as read and prepared. */
void feed_read(struct feed *feed, uint64_t first, uint32_t n);

/** Enqueues chunks that are read to the worker, in order, until its ring is full. */
void feed_send(struct feed *feed);

/**
 * Takes completions from the worker and checks them.
 * @param bytes the number of moved bytes is added to it.
 * @return how many completions; -1 if one is an error or out of order, or if bytes after a
 * destination changed.
 */
int feed_collect(struct feed *feed, uint64_t *bytes);

/** Takes up to max moved chunks to write them. Returns how many. */
uint32_t feed_take_moved(struct feed *feed, uint32_t max, uint64_t *first);

/** Returns where a moved chunk's bytes arrived, valid until feed_written(). Any thread. */
const void *feed_destination(const struct feed *feed, uint64_t number);

/** Marks n taken chunks as written. */
void feed_written(struct feed *feed, uint64_t first, uint32_t n);

#endif
