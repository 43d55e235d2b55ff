/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Threads that read, write and verify files. Meanwhile the worker of each feed (feed.h) copies the
 * chunks of the files between buffers.
 *
 *     mover_create -> mover_look ... until it says DONE or FAILED -> mover_stop -> mover_destroy
 *
 * The threads are not bound to CPUs: they run on all CPUs of the process.
 */
#ifndef TESTGANTRY_MOVER_H
#define TESTGANTRY_MOVER_H

#include "feed.h"
#include "files.h"
#include "options.h"

struct mover;

enum mover_state {
	MOVER_BUSY,
	MOVER_DONE,   /**< every file is verified and has its final name */
	MOVER_FAILED, /**< mover_error() returns the reason */
};

/** Progress of the mover. */
struct mover_progress {
	uint64_t bytes_moved;
	uint64_t bytes_in_holes; /**< bytes in holes; these are not moved, but verified */
	size_t files_verified;
	/** time of the last completion; before the first completion: time of the start */
	uint64_t last_completion_ns;
	uint64_t in_flight; /**< chunks that were read and have not completed yet */
};

/**
 * Starts the threads. The workers must run already. The caller owns the set and the feeds; until
 * mover_stop() only the threads use them. @return 0, or -1 with the error printed.
 */
int mover_create(const struct options *o, struct file_set *set, struct feed *feeds, size_t n_feeds,
	struct mover **mover);

enum mover_state mover_look(struct mover *m, struct mover_progress *p);

/** Returns the error that stopped the mover. Call this after MOVER_FAILED. */
const char *mover_error(const struct mover *m);

/** Ends the threads. Each thread first finishes its task. */
void mover_stop(struct mover *m);

/** Frees the mover. Call this after mover_stop(). */
void mover_destroy(struct mover *m);

#endif
