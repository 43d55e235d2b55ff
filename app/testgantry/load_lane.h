/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A lane of a load: one queue, its memory, and the descriptors that it hands over again and again.
 *
 *     lane_open -> lane_connect -> lane_fill -> lane_begin -> lane_turn ... until lane_has_ended -> lane_close
 *
 * Memory is divided into places. A place has a source, and what its operations change; a byte behind each stays as it is.
 * A region is some places in a row.
 *
 *     place 0                          place 1
 *     source | destination | peer's    source | ...
 *
 * The descriptors stand in the order in which they are handed over, over and over, as many of each operation as
 * the mix says. Each names one place, in random order. So descriptors in flight have different places: there are at
 * least as many as the depth.
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

/** No source has this byte: what an operation is to change is filled with it before it is verified. */
#define LOAD_POISON 0xff

/** What the lanes of a measurement share. */
struct load_shared {
	const struct options *opt;
	struct gantry *engine;
	struct load_point point;
	atomic_bool stop; /**< hand nothing over any more, and wait for what is in flight */
};

/** A connection of a lane to its target. */
struct load_conn {
	uint16_t near, far; /**< its number at either end */
};

struct load_lane {
	struct load_shared *shared;
	unsigned int lcore_id;
	struct gantry_worker *worker; /**< of a ring; else NULL */
	struct gantry_queue *queue;   /**< of the worker, or its own */
	/* Memory. */
	uint8_t *base;
	size_t len;
	size_t slot_len;  /**< of a source, and of each thing that operations change */
	size_t place_len; /**< of all of a place */
	uint32_t n_places;
	uint32_t n_regions;
	uint32_t region_places;  /**< places of a region */
	struct gantry_mem **mem; /**< [n_regions] */
	/* Peers. */
	struct load_lane *target; /**< which the connections lead to: it may be the lane itself */
	struct load_conn *conn;
	uint32_t n_conns;
	/* Descriptors. */
	struct gantry_desc *desc; /**< [n_desc]; the cookie of number i is i */
	uint8_t *op;              /**< [n_desc]: of load_ops[] */
	uint32_t *place;          /**< [n_desc] */
	uint64_t *begin;          /**< [n_desc]: the time stamp counter when it was handed over */
	uint32_t n_desc;
	/* The loop. Of the thread that runs it. */
	uint32_t depth, burst;
	uint32_t put_at, got_at; /**< the descriptor that is handed over, or comes back, next */
	uint32_t staged;         /**< descriptors from put_at on that have their time */
	uint64_t put, got;
	uint64_t total; /**< to hand over; falls to `put` when the lane is told to stop */
	uint64_t start_tsc, stop_tsc, last_tsc;
	uint32_t idle;          /**< turns without work */
	struct load_hist *hist; /**< [LOAD_OPS] */
	bool failed;            /**< comp is the first completion that is an error */
	struct gantry_comp comp;
	_Atomic uint64_t shown_put, shown_got; /**< for the main lcore */
};

/** Makes a lane with its queue and its memory. On failure, lane_close() frees what there is. 0, or -1 with the error printed. */
int lane_open(struct load_lane *l, struct load_shared *shared, unsigned int lcore_id);

/** Connects a lane to its target, which may be itself. 0, or -1 with the error printed. */
int lane_connect(struct load_lane *l, struct load_lane *target);

/** Makes the descriptors, and fills the sources. seed: another order for each. 0, or -1 with the error printed. */
int lane_fill(struct load_lane *l, uint64_t seed);

/** Frees a lane. Its worker, if it has one, is stopped. 0; -1 with the error printed: descriptors were lost, or it stays. */
int lane_close(struct load_lane *l);

/** Bytes that descriptor i moves. */
uint64_t lane_len(const struct load_lane *l, uint32_t i);

/** Where byte `offset` of what descriptor i reads or changes lies. *len: so many bytes are there in one piece. */
uint8_t *lane_from(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len);
uint8_t *lane_to(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len);

/* The loop: load_loop.c. */

/** Begins to measure at a time of the time stamp counter: until stop_tsc, and at most `total` operations. */
void lane_begin(struct load_lane *l, uint64_t start_tsc, uint64_t stop_tsc, uint64_t total);

/** One turn: takes completions, hands descriptors over. */
void lane_turn(struct load_lane *l);

/** All has been handed over, and has come back. */
bool lane_has_ended(const struct load_lane *l);

/** Hands over descriptors from number `at` on; and takes completions. Returns how many. */
uint32_t lane_submit(struct load_lane *l, uint32_t at, uint32_t n);
uint32_t lane_poll(struct load_lane *l, struct gantry_comp *comp, uint32_t n);

#endif
