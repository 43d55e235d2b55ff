/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The files that come from another process: writes their chunks, compares the digest of each file,
 * and renames a verified file to its final name.
 *
 *     sink_init -> sink_hear_names -> sink_write ... while the main lcore calls sink_digest and
 *         sink_step, until sink_is_done -> sink_fini
 *
 * Any lcore may call sink_write(). Only the main lcore calls the other functions. Functions that
 * return int print the error when they return -1.
 */
#ifndef TESTGANTRY_PAIR_SINK_H
#define TESTGANTRY_PAIR_SINK_H

#include "pair_source.h"

struct sink {
	struct file_set *set;
	struct talk *talk;
	struct pair_digest *heard; /**< [files]: the digest that each file must have */
	size_t n_heard;
	struct digest digest; /**< digest of the file number n_verified */
	pthread_mutex_t lock; /**< protects the fields below, and the files */
	size_t n_verified;    /**< written by the main lcore */
	uint64_t bytes_moved;
};

void sink_init(struct sink *s, struct file_set *set, struct talk *t);

/** Receives the names and sizes of all files, and checks them. out: the output folder. */
int sink_hear_names(struct sink *s, const char *out);

/** Writes a chunk, whose fields come from the other process. */
int sink_write(struct sink *s, const struct pair_chunk *c, const void *bytes);

/** Takes a TALK_DIGEST. */
int sink_digest(struct sink *s, const struct talk_frame *f);

/**
 * Reads a piece of the next file that is written, and compares the digest at the file's end.
 * Returns 1, 0 if there is nothing to do now, or -1.
 */
int sink_step(struct sink *s);

/** Returns true if every file is verified. */
bool sink_is_done(const struct sink *s);

void sink_progress(struct sink *s, struct progress *p);

void sink_fini(struct sink *s);

#endif
