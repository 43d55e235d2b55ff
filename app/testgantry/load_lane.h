/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A lane of a load: one queue, its memory, and the descriptors that it submits repeatedly.
 *
 *     lane_open -> lane_connect -> lane_fill -> lane_begin -> lane_turn ... until lane_has_ended
 *         -> lane_disconnect -> lane_destroy_queue -> lane_close
 *
 * Memory is divided into places. A place has a source, and slots that its operations change. At
 * least one byte after each slot must not change. A region is a number of consecutive places.
 *
 *     place 0                                          place 1
 *     source | destination | peer's | counter | blocks | source | ...
 *
 * The descriptors are in an array, which is submitted again and again in this order. The mix
 * decides how many have which operation. Each descriptor names one place, in random order. There
 * are at least as many places as the depth, so descriptors in flight have different places. An
 * unordered queue must keep this too: so the distance from the oldest descriptor in flight to the
 * newest is less than the number of places.
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
 * No source contains this byte. Before an operation is verified, the memory that it changes is
 * filled with this byte.
 */
#define LOAD_POISON 0xff

/** What the lanes of a measurement share. */
struct load_shared {
	const struct options *opt;
	struct gantry *engine;
	struct load_point point;
	uint16_t layout;  /**< for gather and scatter; 0: none */
	uint16_t profile; /**< for transactions; 0: none */
	atomic_bool stop; /**< submit no more, and wait for descriptors in flight */
};

/** Connections of a lane to its target. far: the target's numbers for the other ends. */
struct load_conns {
	uint32_t n;
	uint16_t *near, *far; /**< [n]: their numbers at this end and at the other end */
};

/** A part of a place. */
enum load_slot {
	SLOT_SOURCE,
	SLOT_DESTINATION,
	SLOT_OF_PEER, /**< the previous lane writes here */
	SLOT_COUNTER, /**< the previous lane's atomics change it: 8 bytes for each operation */
	SLOT_BLOCKS,
	LOAD_SLOTS,
};

/**
 * Receives of a lane for messages of the previous lane. A completed receive is posted again at
 * once.
 */
struct load_inbox {
	uint32_t n;
	struct gantry_recv *recv; /**< [n]; the cookie of number i is i */
	uint16_t *peer;           /**< [n]: connection of each receive */
	uint8_t *base;            /**< n * slot_len bytes */
	size_t slot_len;
	struct gantry_mem *mem;
	uint64_t received; /**< number of messages received */
};

struct load_lane {
	struct load_shared *shared;
	unsigned int lcore_id;
	struct gantry_worker *worker; /**< with --via ring; else NULL */
	struct gantry_queue *queue;   /**< the worker's queue, or the lane's own */
	/* Memory. */
	uint8_t *base;
	size_t len;
	struct {
		size_t at, len;
	} slot[LOAD_SLOTS]; /**< of each place; len 0: no operation of the mix uses the slot */
	size_t place_len;
	uint32_t n_places;
	uint32_t n_regions;
	uint32_t *
		/** [n_regions + 1]: first place of each region; the last element is n_places */
		region_begin;
	struct gantry_mem **mem; /**< [n_regions] */
	uint64_t *pattern;       /**< [--patterns]: patterns of fills */
	/* Peers. */
	struct load_lane *target; /**< the lane that the connections lead to; may be this lane */
	struct load_conns conns;
	struct load_conns txn_conns; /**< connections for transactions */
	struct load_inbox inbox;
	/* Descriptors. */
	struct gantry_desc *desc; /**< [n_desc]; the cookie of number i is i */
	uint8_t *op;              /**< [n_desc]: index in load_ops[] */
	uint32_t *place;          /**< [n_desc] */
	/** [n_desc]: the place where its layout lies; else equal to `place` */
	uint32_t *base_place;
	struct gantry_sge *list; /**< [n_desc][2][--sge], or NULL */
	struct load_txn *txn;    /**< [n_places], or NULL */
	uint64_t *begin;         /**< [n_desc]: time stamp counter at submission */
	uint32_t n_desc;
	/*
	 * For an unordered queue: completions keep the order within each stream. A stream is one
	 * connection, or all operations without connection.
	 */
	struct {
		uint32_t *stream;   /**< [n_desc] */
		uint32_t *next;     /**< [n_desc]: the next descriptor of its stream */
		uint32_t *expected; /**< of each stream: the descriptor that completes next */
		bool *out;          /**< [n_desc]: in flight */
		uint32_t span;      /**< descriptors from the oldest in flight to the newest */
	} order;
	/* The loop. Only the thread that runs it uses these fields. */
	uint32_t depth, burst;
	uint32_t put_at, got_at; /**< the descriptor to submit next, and the one to complete next */
	uint32_t staged;         /**< descriptors after put_at that have their begin time already */
	uint64_t put, got;
	uint64_t total; /**< operations to submit; becomes `put` when the lane is told to stop */
	uint64_t start_tsc, stop_tsc, last_tsc;
	/*
	 * With --rate: the exact time when the next operation is due is due_tsc + due_part / rate.
	 */
	uint64_t rate; /**< 0: none */
	uint64_t due_tsc, due_part;
	uint64_t step_tsc, step_part; /**< time between two operations, in the same form */
	/** operations that were due but not submitted when the time was over */
	uint64_t unsent;
	uint32_t idle;          /**< consecutive turns without work */
	struct load_hist *hist; /**< [LOAD_OPS] */
	struct {
		const char *
			/**
			 * the first failed operation; or, if the status is OK, a sentence about the
			 * failure; NULL: none
			 */
			what;
		uint8_t status, syndrome, vendor_syndrome;
	} failure;
	_Atomic uint64_t shown_put, shown_got; /**< copies of put and got for the main lcore */
};

/**
 * Creates a lane with its queue and its memory. After a failure, call lane_close(). 0, or -1 with
 * the error printed.
 */
int lane_open(struct load_lane *l, struct load_shared *shared, unsigned int lcore_id);

/**
 * Connects a lane to its target, which may be the lane itself, and posts the target's receives. 0,
 * or -1 with the error printed.
 */
int lane_connect(struct load_lane *l, struct load_lane *target);

/*
 * A lane ends in three steps. All lanes must take one step before any lane takes the next, because
 * queues share memory and connections. Workers must be stopped.
 */

/** Waits for descriptors in flight, and closes the connections. */
void lane_disconnect(struct load_lane *l);

/**
 * Destroys the queue. 0, or -1 with the error printed: descriptors were lost, or the queue still
 * exists.
 */
int lane_destroy_queue(struct load_lane *l);

/** Frees everything else. */
void lane_close(struct load_lane *l);

/* Memory: load_memory.c. */

/**
 * Maps and registers a lane's memory, and fills its sources. After a failure, call
 * memory_destroy().
 */
int memory_create(struct load_lane *l, uint64_t *random);
void memory_destroy(struct load_lane *l);

/** Registers memory for n receives of len bytes each. After a failure, call memory_destroy(). */
int memory_create_inbox(struct load_lane *l, uint32_t n, size_t len);

/** Address of a slot in a place. */
uint8_t *lane_slot(const struct load_lane *l, uint32_t place, enum load_slot slot);

/**
 * Where byte `offset` of --size bytes lies, relative to the first byte of the pieces. *len: bytes
 * from there to the end of its piece.
 */
uint64_t lane_piece(const struct load_lane *l, uint64_t offset, uint64_t *len);

/**
 * Address of byte `offset` of the memory that descriptor i reads or changes. *len: as in
 * lane_piece(). Not for counters and receives.
 */
uint8_t *lane_from(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len);
uint8_t *lane_to(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len);

/** The peer's counter that descriptor i changes. */
uint64_t *lane_counter(const struct load_lane *l, uint32_t i);

/** A random number below n. */
uint32_t lane_draw(uint64_t *random, uint32_t n);

/* Descriptors: load_fill.c. */

/** The number of the region in which a place lies. */
uint32_t lane_region(const struct load_lane *l, uint32_t place);

/** Makes the descriptors. 0, or -1 with the error printed. */
int lane_fill(struct load_lane *l, uint64_t *random);
void lane_free(struct load_lane *l);

/* The loop: load_loop.c. */

/**
 * Starts the measurement at start_tsc (time stamp counter). It ends at stop_tsc, or after `total`
 * operations.
 * @param number the lane's number of n_lanes: with a rate, the lanes' operations are due in turn.
 */
void lane_begin(struct load_lane *l, uint64_t start_tsc, uint64_t stop_tsc, uint64_t total,
	uint32_t number, uint32_t among);

/** One turn: takes completions, also of receives, and submits descriptors. */
void lane_turn(struct load_lane *l);

/** True if all descriptors were submitted and have completed. */
bool lane_has_ended(const struct load_lane *l);

/**
 * Submits n descriptors, starting with number `at`; and takes completions. Returns how many were
 * submitted.
 */
uint32_t lane_submit(struct load_lane *l, uint32_t at, uint32_t n);
uint32_t lane_poll(struct load_lane *l, struct gantry_comp *comp, uint32_t n);

/** Posts receive k. False: it was not accepted. */
bool lane_post(struct load_lane *l, uint32_t k);

/** Takes completions of receives. Returns how many. */
uint32_t lane_poll_receives(struct load_lane *l, struct gantry_recv_comp *comp, uint32_t n);

/** Takes completions of receives, and posts these receives again. Returns how many. */
uint32_t lane_receive(struct load_lane *l);

#endif
