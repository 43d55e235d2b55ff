/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Threads that read, write and verify files, while the feeds' workers move what was read.
 *
 *     mover_create -> mover_look ... until it says DONE or FAILED -> mover_stop -> mover_destroy
 *
 * The threads have no CPUs of their own: they run where the process may run.
 */
#ifndef TESTGANTRY_MOVER_H
#define TESTGANTRY_MOVER_H

#include "feed.h"
#include "files.h"
#include "options.h"

struct mover;

enum mover_state {
	MOVER_BUSY,
	MOVER_DONE,   /**< every file is verified and has its name */
	MOVER_FAILED, /**< mover_error() says why */
};

/** How far it has come. */
struct mover_progress {
	uint64_t bytes_moved;
	uint64_t bytes_in_holes; /**< which are not moved, but verified */
	size_t files_verified;
	/** when a worker gave something back; at first: when it began */
	uint64_t last_completion_ns;
	uint64_t in_flight; /**< chunks that are read and not back yet */
};

/**
 * Starts the threads. The workers have been started. The set and the feeds stay the caller's; until
 * mover_stop(), they are the threads' alone. @return 0, or -1 with the error printed.
 */
int mover_create(const struct options *o, struct file_set *set, struct feed *feeds, size_t n_feeds,
	struct mover **mover);

enum mover_state mover_look(struct mover *m, struct mover_progress *p);

/** The error that ended it. After MOVER_FAILED. */
const char *mover_error(const struct mover *m);

/** Ends the threads: each completes what it has begun. */
void mover_stop(struct mover *m);

/** After mover_stop(). */
void mover_destroy(struct mover *m);

#endif
