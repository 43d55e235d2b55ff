/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A lane of a load: one queue, its memory, and the descriptors that it hands over again and again.
 *
 *     lane_open -> lane_connect -> lane_fill -> lane_begin -> lane_turn ... until lane_has_ended
 *         -> lane_disconnect -> lane_destroy_queue -> lane_close
 *
 * Memory is divided into places. A place has a source, and what its operations change; at least a
 * byte behind each stays as it is. A region is some places in a row.
 *
 *     place 0                                          place 1
 *     source | destination | peer's | counter | blocks | source | ...
 *
 * The descriptors stand in the order in which they are handed over, over and over, as many of each
 * operation as the mix says. Each names one place, in random order. So descriptors in flight have
 * different places: there are at least as many as the depth. Of an unordered queue, the one that is
 * handed over last is less than that number behind the first one that has not come back.
 */
#ifndef TESTGANTRY_LOAD_LANE_H
#define TESTGANTRY_LOAD_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gantry.h"
#include "load_conf.h"
#include "load_hist.h"
#include "options.h"

/**
 * No source has this byte: what an operation is to change is filled with it before it is verified.
 */
#define LOAD_POISON 0xff

/** What the lanes of a measurement share. */
struct load_shared {
	const struct options *opt;
	struct gantry *engine;
	struct load_point point;
	uint16_t layout;  /**< of gather and scatter; 0: none */
	uint16_t profile; /**< of transactions; 0: none */
	atomic_bool stop; /**< hand nothing over any more, and wait for what is in flight */
};

/** Connections of a lane to its target. The numbers of their ends there are the target's. */
struct load_conns {
	uint32_t n;
	uint16_t *near, *far; /**< [n]: their numbers at either end */
};

/** A part of a place. */
enum load_slot {
	SLOT_SOURCE,
	SLOT_DESTINATION,
	SLOT_OF_PEER, /**< the lane before this one writes there */
	SLOT_COUNTER, /**< the same of its atomics: 8 bytes for each operation */
	SLOT_BLOCKS,
	LOAD_SLOTS,
};

/**
 * Receives of a lane, for messages of the lane before it. They are posted again as soon as they
 * have completed.
 */
struct load_inbox {
	uint32_t n;
	struct gantry_recv *recv; /**< [n]; the cookie of number i is i */
	uint16_t *peer;           /**< [n] */
	uint8_t *base;            /**< n times slot_len bytes */
	size_t slot_len;
	struct gantry_mem *mem;
	uint64_t received; /**< messages */
};

struct load_lane {
	struct load_shared *shared;
	unsigned int lcore_id;
	struct gantry_worker *worker; /**< of a ring; else NULL */
	struct gantry_queue *queue;   /**< of the worker, or its own */
	/* Memory. */
	uint8_t *base;
	size_t len;
	struct {
		size_t at, len;
	} slot[LOAD_SLOTS]; /**< of each place; len 0: no operation of the mix uses it */
	size_t place_len;
	uint32_t n_places;
	uint32_t n_regions;
	uint32_t *
		/** [n_regions + 1]: the first place of each; behind the last one, n_places */
		region_begin;
	struct gantry_mem **mem; /**< [n_regions] */
	uint64_t *pattern;       /**< [--patterns]: of fills */
	/* Peers. */
	struct load_lane *target; /**< which the connections lead to: it may be the lane itself */
	struct load_conns conns;
	struct load_conns txn_conns; /**< those of transactions */
	struct load_inbox inbox;
	/* Descriptors. */
	struct gantry_desc *desc; /**< [n_desc]; the cookie of number i is i */
	uint8_t *op;              /**< [n_desc]: of load_ops[] */
	uint32_t *place;          /**< [n_desc] */
	uint32_t *base_place;     /**< [n_desc]: where its layout lies; else `place` */
	struct gantry_sge *list;  /**< [n_desc][2][--sge], or NULL */
	struct load_txn *txn;     /**< [n_places], or NULL */
	uint64_t *begin;          /**< [n_desc]: the time stamp counter when it was handed over */
	uint32_t n_desc;
	/*
	 * Of an unordered queue: completions keep the order of each stream, which is a connection,
	 * or the queue's to itself.
	 */
	struct {
		uint32_t *stream;   /**< [n_desc] */
		uint32_t *next;     /**< [n_desc]: the next descriptor of its stream */
		uint32_t *expected; /**< of each stream: the descriptor that comes back next */
		bool *out;          /**< [n_desc]: it is in flight */
		uint32_t span;      /**< descriptors from the first one in flight on */
	} order;
	/* The loop. Of the thread that runs it. */
	uint32_t depth, burst;
	uint32_t put_at, got_at; /**< the descriptor that is handed over, or comes back, next */
	uint32_t staged;         /**< descriptors from put_at on that have their time */
	uint64_t put, got;
	uint64_t total; /**< to hand over; falls to `put` when the lane is told to stop */
	uint64_t start_tsc, stop_tsc, last_tsc;
	/* With --rate: when the next operation is due, exactly: due_tsc + due_part / rate. */
	uint64_t rate; /**< 0: none */
	uint64_t due_tsc, due_part;
	uint64_t step_tsc, step_part; /**< from one to the next */
	uint64_t unsent;        /**< that were due, and not handed over when the time was over */
	uint32_t idle;          /**< turns without work */
	struct load_hist *hist; /**< [LOAD_OPS] */
	struct {
		const char *
			/**
			 * what failed first, or a sentence where the status is OK; NULL: nothing
			 */
			what;
		uint8_t status, syndrome, vendor_syndrome;
	} failure;
	_Atomic uint64_t shown_put, shown_got; /**< for the main lcore */
};

/**
 * Makes a lane with its queue and its memory. On failure, lane_close() frees what there is. 0, or
 * -1 with the error printed.
 */
int lane_open(struct load_lane *l, struct load_shared *shared, unsigned int lcore_id);

/**
 * Connects a lane to its target, which may be itself, and posts the target's receives. 0, or -1
 * with the error printed.
 */
int lane_connect(struct load_lane *l, struct load_lane *target);

/*
 * A lane ends in three steps. All lanes take one before any takes the next, because queues share
 * memory and connections. Workers are stopped.
 */

/** Waits for what is in flight, and ends the connections. */
void lane_disconnect(struct load_lane *l);

/** Frees the queue. 0, or -1 with the error printed: descriptors were lost, or it stays. */
int lane_destroy_queue(struct load_lane *l);

/** Frees the rest. */
void lane_close(struct load_lane *l);

/* Memory: load_memory.c. */

/**
 * Maps and registers a lane's memory, and fills its sources. On failure, memory_destroy() frees
 * what there is.
 */
int memory_create(struct load_lane *l, uint64_t *random);
void memory_destroy(struct load_lane *l);

/** Registers memory for n receives of len bytes each. The same. */
int memory_create_inbox(struct load_lane *l, uint32_t n, size_t len);

/** A part of a place. */
uint8_t *lane_slot(const struct load_lane *l, uint32_t place, enum load_slot slot);

/**
 * Where byte `offset` of --size bytes lies behind the first byte of its pieces. *len: so many bytes
 * lie there in one piece.
 */
uint64_t lane_piece(const struct load_lane *l, uint64_t offset, uint64_t *len);

/**
 * Where byte `offset` of what descriptor i reads or changes lies. *len: as in lane_piece(). Not of
 * counters and receives.
 */
uint8_t *lane_from(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len);
uint8_t *lane_to(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len);

/** The counter of the peer that descriptor i changes. */
uint64_t *lane_counter(const struct load_lane *l, uint32_t i);

/** A random number below n. */
uint32_t lane_draw(uint64_t *random, uint32_t n);

/* Descriptors: load_fill.c. */

/** The part of the region table that a place lies in: the number of its region. */
uint32_t lane_region(const struct load_lane *l, uint32_t place);

/** Makes the descriptors. 0, or -1 with the error printed. */
int lane_fill(struct load_lane *l, uint64_t *random);
void lane_free(struct load_lane *l);

/* The loop: load_loop.c. */

/**
 * Begins to measure at a time of the time stamp counter: until stop_tsc, and at most `total`
 * operations.
 * @param number of the lane, among so many: with a rate, operations are due on one after the other.
 */
void lane_begin(struct load_lane *l, uint64_t start_tsc, uint64_t stop_tsc, uint64_t total,
	uint32_t number, uint32_t among);

/** One turn: takes completions, those of receives too, and hands descriptors over. */
void lane_turn(struct load_lane *l);

/** All has been handed over, and has come back. */
bool lane_has_ended(const struct load_lane *l);

/** Hands over descriptors from number `at` on; and takes completions. Returns how many. */
uint32_t lane_submit(struct load_lane *l, uint32_t at, uint32_t n);
uint32_t lane_poll(struct load_lane *l, struct gantry_comp *comp, uint32_t n);

/** Posts receive k. False: it was not accepted. */
bool lane_post(struct load_lane *l, uint32_t k);

/** Takes completions of receives. Returns how many. */
uint32_t lane_poll_receives(struct load_lane *l, struct gantry_recv_comp *comp, uint32_t n);

/** Takes completions of receives and posts those again. Returns how many. */
uint32_t lane_receive(struct load_lane *l);

#endif
