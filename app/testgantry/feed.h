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
 * Chunk i uses slot i % depth of the buffers, and its descriptor has the cookie i. Completions come
 * in the order of submission, so the cookie of the next completion must be `done`. Reading and
 * writing of chunks may end in any order. If a chunk ends before an earlier chunk, it is marked as
 * `ready`.
 *
 * Only one thread at a time may call these functions, unless the function's comment allows more.
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

/** A part of a file: the bytes that one descriptor moves. */
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
	/** in modes write and read: the feed whose buffers are the remote memory */
	const struct feed *target;
	uint16_t peer; /**< in modes write and read: the connection to the target */
	enum mode mode;
	uint32_t depth;
	uint32_t burst;           /**< descriptors per call that enqueues to the worker */
	size_t slot_len;          /**< bytes from one slot to the next */
	struct chunk *chunk;      /**< [depth]: the chunk in each slot */
	struct gantry_desc *desc; /**< [depth]: the descriptor of each slot */
	/** [depth]: the slot's chunk is read but not sent yet, or is written but not freed yet */
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

/** Frees the feed. The worker must be stopped. Returns 0, or -1 if a descriptor never completed. */
int feed_destroy(struct feed *feed);

/** Number of chunks that can be reserved now. */
uint32_t feed_room(const struct feed *feed);

/** Gives a chunk the next number. The caller has checked that feed_room() is not 0. */
void feed_reserve(struct feed *feed, const struct chunk *c);

/**
 * Returns a chunk, valid from feed_reserve() to feed_written(). Any thread may call this function.
 */
const struct chunk *feed_chunk(const struct feed *feed, uint64_t number);

/**
 * Returns the address to which a reserved chunk's bytes are to be read. Any thread may call this
 * function.
 */
void *feed_source(const struct feed *feed, uint64_t number);

/**
 * Makes the descriptor of a reserved chunk, whose bytes are at feed_source(). Any thread that works
 * on the chunk may call this function.
 */
void feed_prepare(struct feed *feed, uint64_t number);

/** Marks n chunks as read and prepared. */
void feed_read(struct feed *feed, uint64_t first, uint32_t n);

/** Enqueues prepared chunks to the worker, in order, until the worker's ring is full. */
void feed_send(struct feed *feed);

/**
 * Takes completions from the worker and checks them.
 * @param bytes The number of moved bytes is added to *bytes.
 * @return the number of completions; -1 if a completion has an error or comes out of order, or if
 * bytes after a destination changed.
 */
int feed_collect(struct feed *feed, uint64_t *bytes);

/** Takes up to max moved chunks, which the caller then writes. Returns the number of chunks. */
uint32_t feed_take_moved(struct feed *feed, uint32_t max, uint64_t *first);

/**
 * Returns the address of a moved chunk's bytes, valid until feed_written(). Any thread may call
 * this function.
 */
const void *feed_destination(const struct feed *feed, uint64_t number);

/** Marks n taken chunks as written to their outputs. */
void feed_written(struct feed *feed, uint64_t first, uint32_t n);

#endif
