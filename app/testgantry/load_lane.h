/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A lane of a load: one queue, its memory, and the descriptors that it submits repeatedly.
 *
 *     lane_open -> lane_connect -> lane_fill -> lane_begin -> lane_turn ... until lane_has_ended
 *         -> lane_disconnect -> lane_destroy_queue -> lane_close
 *
 * The memory of a lane is an array of "places". A place is the memory for one descriptor in flight:
 * a source, and slots that its operations change. No operation may change the byte after a slot. A
 * region is a number of consecutive places.
 *
 *     place 0                                          place 1
 *     source | destination | peer's | counter | blocks | source | ...
 *
 * The descriptors are in an array, which is submitted again and again in the order of the array.
 * The mix decides how many descriptors have each operation. Each descriptor names one place; the
 * places are in random order. There are at least as many places as the depth, so descriptors in
 * flight have different places. This must also hold in an unordered queue. So the distance from the
 * oldest to the newest descriptor in flight is always less than the number of places.
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

/** Data that all lanes of a measurement share. */
struct load_shared {
	const struct options *opt;
	struct gantry *engine;
	struct load_point point;
	uint16_t layout;  /**< number of the layout for gather and scatter; 0: none */
	uint16_t profile; /**< number of the profile for transactions; 0: none */
	atomic_bool stop; /**< the lanes submit nothing more, and wait for descriptors in flight */
};

/**
 * Connections of a lane to its target. far: the numbers that the target has given to the same
 * connections.
 */
struct load_conns {
	uint32_t n;
	/** [n]: number of each connection in this lane's queue and in the target's queue */
	uint16_t *near, *far;
};

/** A part of a place. */
enum load_slot {
	SLOT_SOURCE,
	SLOT_DESTINATION,
	SLOT_OF_PEER, /**< memory that the previous lane writes */
	SLOT_COUNTER, /**< 8 bytes for each operation, which the previous lane's atomics change */
	SLOT_BLOCKS,
	LOAD_SLOTS,
};

/**
 * Receives of a lane for messages of the previous lane. A completed receive is posted again at
 * once.
 */
struct load_inbox {
	uint32_t n;
	struct gantry_recv *recv; /**< [n]; the cookie of recv[i] is i */
	uint16_t *peer;           /**< [n]: connection that each receive is posted to */
	uint8_t *base;            /**< n * slot_len bytes */
	size_t slot_len;
	struct gantry_mem *mem;
	uint64_t received; /**< number of messages received */
};

struct load_lane {
	struct load_shared *shared;
	unsigned int lcore_id;
	struct gantry_worker *worker; /**< the worker with --via ring; otherwise NULL */
	struct gantry_queue *queue;   /**< the worker's queue, or the queue of the lane itself */
	/* Memory. */
	uint8_t *base;
	size_t len;
	struct {
		size_t at, len;
		/**
	 * offset and length of each slot in a place; len 0: no operation of the mix uses the slot
	 */
	} slot[LOAD_SLOTS];
	size_t place_len;
	uint32_t n_places;
	uint32_t n_regions;
	uint32_t *
		/** [n_regions + 1]: first place of each region; the last element is n_places */
		region_begin;
	struct gantry_mem **mem; /**< [n_regions]: each registered region */
	uint64_t *pattern;       /**< [--patterns]: 8-byte patterns of fills */
	/* Peers. */
	struct load_lane *target; /**< the lane that the connections lead to; may be this lane */
	struct load_conns conns;
	struct load_conns txn_conns; /**< connections for transactions */
	struct load_inbox inbox;
	/* Descriptors. */
	struct gantry_desc *desc; /**< [n_desc]; the cookie of desc[i] is i */
	uint8_t *op;              /**< [n_desc]: index in load_ops[] */
	uint32_t *place;          /**< [n_desc]: place of each descriptor */
	/**
	 * [n_desc]: number of the place that contains the descriptor's layout; without a layout
	 * equal to `place`
	 */
	uint32_t *base_place;
	/**
	 * [n_desc][2][--sge]: pieces of each descriptor's two lists; NULL: no operation has lists
	 */
	struct gantry_sge *list;
	struct load_txn *txn; /**< [n_places]: the transaction of each place, or NULL */
	uint64_t *begin;      /**< [n_desc]: time stamp counter at submission */
	uint32_t n_desc;
	/*
	 * For an unordered queue, in which completions keep the order within each stream. A stream
	 * is one connection, or all operations without a connection.
	 */
	struct {
		uint32_t *stream;   /**< [n_desc] */
		uint32_t *next;     /**< [n_desc]: the next descriptor of its stream */
		uint32_t *expected; /**< for each stream: the descriptor that completes next */
		bool *out;          /**< [n_desc]: the descriptor is in flight */
		/** number of descriptors from the oldest in flight to the newest */
		uint32_t span;
	} order;
	/* The loop. Only the thread that runs it uses these fields. */
	uint32_t depth, burst;
	/** indexes of the descriptor to submit next, and of the descriptor to complete next */
	uint32_t put_at, got_at;
	/** number of descriptors from put_at on that have their begin time already */
	uint32_t staged;
	uint64_t put, got;
	/** number of operations to submit; set to `put` plus `staged` when the lane must stop */
	uint64_t total;
	uint64_t start_tsc, stop_tsc, last_tsc;
	/* With --rate: the next operation is due at exactly due_tsc + due_part / rate. */
	uint64_t rate; /**< operations a second; 0: no --rate */
	uint64_t due_tsc, due_part;
	/** time between two operations: step_tsc + step_part / rate */
	uint64_t step_tsc, step_part;
	/** operations that were due but not submitted when the measurement ended */
	uint64_t unsent;
	uint32_t idle;          /**< consecutive calls of lane_turn() without work */
	struct load_hist *hist; /**< [LOAD_OPS]: latencies of each operation */
	struct {
		const char *
			/**
			 * the first failed operation; if the status is GANTRY_OK, a sentence about
			 * the failure; NULL: no failure
			 */
			what;
		uint8_t status, syndrome, vendor_syndrome;
	} failure;
	_Atomic uint64_t shown_put, shown_got; /**< copies of put and got for the main lcore */
};

/**
 * Creates a lane with its queue and its memory. After a failure, call lane_close(). Returns 0, or
 * -1 with the error printed.
 */
int lane_open(struct load_lane *l, struct load_shared *shared, unsigned int lcore_id);

/**
 * Connects a lane to its target, which may be the lane itself, and posts the target's receives.
 * Returns 0, or -1 with the error printed.
 */
int lane_connect(struct load_lane *l, struct load_lane *target);

/*
 * A lane ends in three steps: lane_disconnect(), lane_destroy_queue(), lane_close(). All lanes must
 * finish one step before any lane begins the next step, because queues share memory and
 * connections. Workers must be stopped.
 */

/** Waits for descriptors in flight, and closes the connections. */
void lane_disconnect(struct load_lane *l);

/**
 * Destroys the queue. Returns 0. Returns -1, with the error printed, if descriptors were lost or
 * the queue still exists.
 */
int lane_destroy_queue(struct load_lane *l);

/** Frees all other memory of the lane. */
void lane_close(struct load_lane *l);

/* Memory of a lane: implemented in load_memory.c. */

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
 * Returns the position of byte `offset` of --size bytes, relative to the first byte of the pieces.
 * *len: bytes from this position to the end of the piece.
 */
uint64_t lane_piece(const struct load_lane *l, uint64_t offset, uint64_t *len);

/**
 * Returns the address of byte `offset` of the memory that descriptor i reads or changes. *len: as
 * in lane_piece(). Not for counters and receives.
 */
uint8_t *lane_from(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len);
uint8_t *lane_to(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len);

/** Returns the address of the peer's counter that descriptor i changes. */
uint64_t *lane_counter(const struct load_lane *l, uint32_t i);

/** Returns a random number below n. */
uint32_t lane_draw(uint64_t *random, uint32_t n);

/* Descriptors of a lane: implemented in load_fill.c. */

/** Returns the number of the region that contains a place. */
uint32_t lane_region(const struct load_lane *l, uint32_t place);

/** Makes the descriptors. Returns 0, or -1 with the error printed. */
int lane_fill(struct load_lane *l, uint64_t *random);
void lane_free(struct load_lane *l);

/* The loop of a lane: implemented in load_loop.c. */

/**
 * Starts the measurement at start_tsc (time stamp counter). It ends at stop_tsc, or after `total`
 * operations.
 * @param number The lane's index among n_lanes lanes. With a rate, the operations of the lanes are
 *   due one after the other.
 */
void lane_begin(struct load_lane *l, uint64_t start_tsc, uint64_t stop_tsc, uint64_t total,
	uint32_t number, uint32_t among);

/** One iteration of the loop: takes completions, also of receives, and submits descriptors. */
void lane_turn(struct load_lane *l);

/** Returns true if all descriptors were submitted and have completed. */
bool lane_has_ended(const struct load_lane *l);

/**
 * Submits n descriptors, starting with descriptor `at`, and takes completions. Returns the number
 * of submitted descriptors.
 */
uint32_t lane_submit(struct load_lane *l, uint32_t at, uint32_t n);
uint32_t lane_poll(struct load_lane *l, struct gantry_comp *comp, uint32_t n);

/** Posts receive k. Returns false if the queue did not accept it. */
bool lane_post(struct load_lane *l, uint32_t k);

/** Takes completions of receives. Returns their number. */
uint32_t lane_poll_receives(struct load_lane *l, struct gantry_recv_comp *comp, uint32_t n);

/** Takes completions of receives, and posts these receives again. Returns their number. */
uint32_t lane_receive(struct load_lane *l);

#endif
