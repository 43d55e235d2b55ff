/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns, and waiting for them to end.
 *
 *   turn_claim() or turn_begin()  ->  look objects up, use them  ->  turn_end()
 *
 * Whoever looks into tables and sets does it inside a turn. What was found stays until the turn
 * ends: whoever destroys an object removes it from its table, calls softhca_quiesce(), then frees
 * it. A turn never waits for a control call.
 */
#ifndef SOFTHCA_TURNS_H
#define SOFTHCA_TURNS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "spin.h"

#define LANE_SLOTS (SOFTHCA_MAX_THREADS + 64) /* the device's threads; then other threads */

struct softhca_lanes;

/* The other members belong to the thread whose turn it is. */
struct lane_slot {
	atomic_uint epoch;               /* odd while a turn runs */
	unsigned int busy_turns, cursor; /* lane.c */
	uint64_t looked_at;              /* lane.c; device time */
	bool short_slices;               /* idle.c; of the thread's time */
	uint64_t left_cpu;     /* device_clock() when it left a CPU to another thread: idle.c */
	struct graves *graves; /* key/retire.c */
} __attribute__((aligned(CACHE_LINE)));

/* A device thread's turn, in the slot of its own. */
void turn_begin(struct lane_slot *slot);
/* A turn of any other thread, in a slot that is free. */
struct lane_slot *turn_claim(struct softhca_lanes *lanes);
void turn_end(struct lane_slot *slot);
/* The slot of the turn that this thread is in. */
struct lane_slot *turn_slot(void);
/*
 * For signal handlers: this thread is in a turn. Also true outside of turns, for a thread without a
 * slot of its own, while another thread has its last slot.
 */
bool turn_is_running(void);

/*
 * Returns when every turn that ran at the call has ended: then no lane can see what was unpublished
 * before. Turns of all adapters count, because a connection may lead from one adapter to another.
 * Not inside a turn.
 */
void softhca_quiesce(void);

/* The turns that ran at one moment, on all adapters. */
struct turns_seen {
	unsigned int n;
	unsigned int epoch[SOFTHCA_MAX_DEVICES * LANE_SLOTS]; /* 0: no turn ran there */
};

/* `own` is the caller's slot, and is left out. */
void turns_note(struct turns_seen *seen, const struct lane_slot *own);
bool turns_are_over(const struct turns_seen *seen);

#endif
