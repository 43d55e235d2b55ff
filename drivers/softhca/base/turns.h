/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns, and waiting for turns to end.
 *
 *   turn_claim() or turn_begin()  ->  look objects up, use them  ->  turn_end()
 *
 * During a turn, a thread may read tables and sets of pages without a lock. An object that the
 * thread finds stays valid until the turn ends. To destroy an object, a thread removes the object
 * from its table, calls softhca_quiesce(), and then frees the object. A turn never waits for a
 * control call.
 */
#ifndef SOFTHCA_TURNS_H
#define SOFTHCA_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "spin.h"

/* slots of device threads, followed by those of other threads */
#define LANE_SLOTS (SOFTHCA_MAX_THREADS + 64)

struct softhca_lanes;

/* All members except epoch belong to the thread whose turn runs in the slot. */
struct lane_slot {
	atomic_uint epoch;               /* odd while a turn runs */
	unsigned int busy_turns, cursor; /* lane.c */
	/* lane.c: number of turns until the lane looks for records of other processes */
	unsigned int wire_turns;
	uint64_t looked_at;    /* lane.c: device time */
	bool short_slices;     /* idle.c: the thread's time slices are short */
	uint64_t left_cpu;     /* idle.c: device time at which the thread yielded its CPU */
	struct graves *graves; /* keys that wait until no turn can see them: key/retire.c */
} __attribute__((aligned(CACHE_LINE)));

/* Begins a turn of a device thread, in the slot of this thread. */
void turn_begin(struct lane_slot *slot);
/* Begins a turn of a thread that is no device thread, in a free slot. */
struct lane_slot *turn_claim(struct softhca_lanes *lanes);
void turn_end(struct lane_slot *slot);
/* Returns the slot of the calling thread's turn. */
struct lane_slot *turn_slot(void);
/*
 * For signal handlers: true if this thread is in a turn. A thread that is no device thread may also
 * get true outside a turn: while another thread uses the slot that this thread used last.
 */
bool turn_is_running(void);

/*
 * Returns when all turns that ran at the time of the call have ended. After the return, no lane
 * sees an object that was unpublished before the call. The function waits for turns of all
 * adapters, because a connection may lead from one adapter to another. Do not call it inside a
 * turn.
 */
void softhca_quiesce(void);

/* The turns of all adapters that ran at the time of turns_note(). */
struct turns_seen {
	unsigned int n;
	unsigned int epoch[SOFTHCA_MAX_DEVICES * LANE_SLOTS]; /* 0: no turn ran in this slot */
};

/*
 * turns_note() notes the turns that run now, except the turn in the caller's slot `own`.
 * turns_are_over() returns true when all noted turns have ended.
 */
void turns_note(struct turns_seen *seen, const struct lane_slot *own);
bool turns_are_over(const struct turns_seen *seen);

#endif
