/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns, and waiting for turns to end.
 *
 *   turn_claim() or turn_begin()  ->  look objects up, use them  ->  turn_end()
 *
 * A thread reads tables and page sets only inside a turn. An object that it finds stays valid until
 * the turn ends: to destroy an object, a thread removes it from its table, calls softhca_quiesce(),
 * and then frees it. A turn never waits for a control call.
 */
#ifndef SOFTHCA_TURNS_H
#define SOFTHCA_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "spin.h"

#define LANE_SLOTS (SOFTHCA_MAX_THREADS + 64) /* slots of device threads, then of other threads */

struct softhca_lanes;

/* Members other than epoch belong to the thread whose turn runs. */
struct lane_slot {
	atomic_uint epoch;               /* odd while a turn runs */
	unsigned int busy_turns, cursor; /* lane.c */
	uint64_t looked_at;              /* lane.c; device time */
	bool short_slices;               /* idle.c: the thread's time slices are short */
	uint64_t left_cpu;     /* idle.c: device time at which the thread yielded its CPU */
	struct graves *graves; /* key/retire.c */
} __attribute__((aligned(CACHE_LINE)));

/* Begins a turn of a device thread, in the thread's own slot. */
void turn_begin(struct lane_slot *slot);
/* Begins a turn of any other thread, in a free slot. */
struct lane_slot *turn_claim(struct softhca_lanes *lanes);
void turn_end(struct lane_slot *slot);
/* The slot of the calling thread's turn. */
struct lane_slot *turn_slot(void);
/*
 * True if this thread is in a turn; for signal handlers. Outside a turn it may also be true, for a
 * thread without a slot of its own: while another thread uses the slot that this thread used last.
 */
bool turn_is_running(void);

/*
 * Returns when every turn that ran at the time of the call has ended. After that no lane sees what
 * was unpublished before the call. Waits for turns of all adapters, because a connection may lead
 * from one adapter to another. Not inside a turn.
 */
void softhca_quiesce(void);

/* The turns that were running at one moment, on all adapters. */
struct turns_seen {
	unsigned int n;
	unsigned int epoch[SOFTHCA_MAX_DEVICES * LANE_SLOTS]; /* 0: no turn ran there */
};

/* `own` is the caller's slot; it is left out. */
void turns_note(struct turns_seen *seen, const struct lane_slot *own);
bool turns_are_over(const struct turns_seen *seen);

#endif
