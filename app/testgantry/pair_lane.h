/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A lane: one lcore's queue, its memory, and its connection to a lane of another process.
 *
 *     pair_lane_create -> pair_lane_connect -> (pair_submit, pair_poll, pair_recv, pair_expect)*
 *         -> pair_lane_settle -> pair_lane_close -> pair_lane_free
 *
 * The memory has `depth` slots. A slot has a struct pair_chunk and the bytes of a chunk. The
 * process with the files moves the chunk in a slot of its own to a slot of the other process:
 *
 *     mode    the process with the files               the other process
 *     write   WRITE_IMM of the slot; imm: its number   a receive without memory
 *     send    SEND of the slot                         a receive whose memory is a slot
 *     read    SEND of the struct pair_chunk            a receive as for send; READ of the chunk
 *     all     a receive without memory                 SEND_IMM: slot number imm may be used again
 *
 * With RC a lane has one connection. With DC it has a DC target with the receives, and a DC peer
 * that is connected to the target of the other process.
 *
 * With --via ring the queue is that of a worker, and the main lcore calls these functions. With
 * --via inline the lane's lcore calls them. Functions that return int print the error when they
 * return -1.
 */
#ifndef TESTGANTRY_PAIR_LANE_H
#define TESTGANTRY_PAIR_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gantry.h"
#include "options.h"

/** A chunk, as it is described to the other process. */
struct pair_chunk {
	uint64_t addr;   /**< address of the bytes in the process that has the file */
	uint64_t offset; /**< offset of the bytes in the file */
	uint32_t file;   /**< number of the file */
	uint32_t len;
	uint32_t slot; /**< slot of the process that has the file */
	uint32_t zero;
};

#define PAIR_CHUNK_LEN 64 /**< bytes of a slot before the bytes of the chunk */

/** A lane, as it is described to the other process. */
struct lane_address {
	struct gantry_addr addr;
	uint64_t base; /**< address of the first slot */
	uint32_t remote_key;
	uint32_t zero;
};

struct pair_lane {
	const struct options *opt;
	unsigned int lcore_id;
	struct gantry_worker *worker; /**< NULL: --via inline */
	struct gantry_queue *q;
	uint16_t peer;  /**< connection for descriptors */
	uint16_t inbox; /**< connection with the receives: the same, or a DC target */
	bool has_peer, has_inbox;
	uint8_t *base;
	size_t len, slot_len;
	struct gantry_mem *mem;
	uint32_t depth;       /**< number of slots */
	uint32_t recv_len;    /**< bytes of the memory of a receive; 0: no memory */
	uint32_t queue_depth; /**< most descriptors in flight */
	uint32_t out;         /**< descriptors in flight */
	uint32_t posted;      /**< receives that are posted */
	struct lane_address far;
};

/**
 * Creates the queue of an lcore, and its memory. recv_len: bytes of the memory of each receive.
 * After a failure, call pair_lane_close() and pair_lane_free().
 */
int pair_lane_create(struct pair_lane *l, struct gantry *g, const struct options *o,
	unsigned int lcore_id, unsigned int mem_flags, uint32_t recv_len,
	struct lane_address *address);

/** Connects the lane to the other process's lane, and posts all receives. */
int pair_lane_connect(struct pair_lane *l, const struct lane_address *far);

/**
 * Waits until the lane's descriptors have completed, at most for the time after which a silent
 * process counts as dead. The lane's worker must be stopped.
 */
void pair_lane_settle(struct pair_lane *l);

/**
 * Destroys the queue, after pair_lane_settle(). Its worker must be stopped. Returns 0, or -1 if
 * descriptors are in flight.
 */
int pair_lane_close(struct pair_lane *l);

/** Frees the memory. All queues of the engine must be destroyed. */
void pair_lane_free(struct pair_lane *l);

/** Returns the address of a slot's struct pair_chunk. */
static inline struct pair_chunk *
pair_slot_chunk(const struct pair_lane *l, uint32_t slot)
{
	return (struct pair_chunk *)(l->base + slot * l->slot_len);
}

/** Returns the address of the bytes of a slot's chunk. */
static inline uint8_t *
pair_slot_bytes(const struct pair_lane *l, uint32_t slot)
{
	return l->base + slot * l->slot_len + PAIR_CHUNK_LEN;
}

/** Returns how many descriptors may be submitted now. */
static inline uint32_t
pair_room(const struct pair_lane *l)
{
	return l->queue_depth - l->out;
}

/** Submits n descriptors. The caller has checked pair_room(). */
int pair_submit(struct pair_lane *l, const struct gantry_desc *desc, uint32_t n);

/** Takes a completion. Returns 1, 0 if there is none, or -1 if it has an error. */
int pair_poll(struct pair_lane *l, struct gantry_comp *comp);

/** Takes the completion of a receive. Returns as pair_poll(). */
int pair_recv(struct pair_lane *l, struct gantry_recv_comp *comp);

/** Posts a receive again, with the memory of a slot if receives have memory. */
int pair_expect(struct pair_lane *l, uint32_t slot);

#endif
