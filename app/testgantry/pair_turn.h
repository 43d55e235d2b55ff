/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The turns of a lane that moves chunks of files. A turn does all work that needs no waiting.
 *
 * With --via ring the main lcore makes all turns. With --via inline the lane's lcore makes them.
 * Functions that return int print the error when they return -1.
 */
#ifndef TESTGANTRY_PAIR_TURN_H
#define TESTGANTRY_PAIR_TURN_H

#include <stdatomic.h>

#include "pair_lane.h"
#include "pair_sink.h"
#include "pair_source.h"

/** A lane with its files. */
struct file_lane {
	struct pair_lane lane;
	struct source *source; /**< NULL: the lane receives */
	struct sink *sink;     /**< NULL: the lane sends */
	/* Slots of a lane that sends. */
	uint8_t *waits;      /**< [depth]: the events that must come before the slot is free */
	uint32_t *free_slot; /**< stack of the numbers of free slots */
	uint32_t n_free;
	/* For --via inline. */
	atomic_bool stop;   /**< written by the main lcore: make no more turns */
	atomic_bool failed; /**< written by the lane's lcore: a turn has failed */
	/**
	 * written by the lane's lcore after its last turn, with release. EAL orders the accesses
	 * before it too, but ThreadSanitizer does not see EAL's order
	 */
	atomic_bool ended;
	char *error; /**< the reason; NULL if there was no memory for it */
};

/** Prepares the slots of a lane that sends. The lane is created. */
int turn_init(struct file_lane *f);

void turn_fini(struct file_lane *f);

/** Makes a turn. Returns 1, 0 if there was nothing to do, or -1. */
int turn_make(struct file_lane *f);

#endif
