/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The files that this process sends to another process: returns their chunks, and sends the digest
 * of each file.
 *
 *     source_init -> source_say_names -> source_next ... while the main lcore calls source_step
 *         -> source_verified ... until source_is_done -> source_fini
 *
 * Any lcore may call source_next() and source_count(). Only the main lcore calls the other
 * functions. Functions that return int print the error when they return -1.
 */
#ifndef TESTGANTRY_PAIR_SOURCE_H
#define TESTGANTRY_PAIR_SOURCE_H

#include <pthread.h>
#include <stdbool.h>

#include "files.h"
#include "pair_digest.h"
#include "pair_lane.h"
#include "pair_talk.h"
#include "report.h"

/** The content of a TALK_FILE, before the file's name. */
struct pair_file {
	uint64_t size;
	uint32_t permissions;
	uint32_t zero;
};

/** The content of a TALK_DIGEST and a TALK_VERIFIED. */
struct pair_digest {
	uint32_t file; /**< number of the file */
	uint32_t zero;
	uint64_t data_len; /**< bytes of the file that are not in holes */
	uint8_t digest[DIGEST_LEN];
};

struct source {
	struct file_set *set;
	struct talk *talk;
	uint64_t chunk_len;
	struct pair_digest *sent; /**< [files]: the digest that was sent of each file */
	struct digest digest;     /**< digest of the file number n_digested */
	size_t n_digested;
	pthread_mutex_t lock; /**< protects the fields below, and the files' field `read` */
	size_t n_opened, n_verified;
	uint64_t bytes_moved, bytes_in_holes;
};

int source_init(struct source *s, struct file_set *set, struct talk *t, uint64_t chunk_len);

/** Sends the names and sizes of all files. */
int source_say_names(struct source *s);

/**
 * Chooses the next chunk. Returns 1, 0 if there is no chunk now, or -1. Writes the fields `file`,
 * `offset` and `len` of *c. *file: the file to read from.
 */
int source_next(struct source *s, struct pair_chunk *c, const struct file **file);

/** Counts the bytes of a chunk that has arrived. */
void source_count(struct source *s, uint64_t len);

/** Computes a piece of the next digest. Returns 1, 0 if there is nothing to do now, or -1. */
int source_step(struct source *s);

/** Takes a TALK_VERIFIED, and compares its digest. */
int source_verified(struct source *s, const struct talk_frame *f);

/** Returns true if every file is verified. */
bool source_is_done(struct source *s);

void source_progress(struct source *s, struct progress *p);

void source_fini(struct source *s);

#endif
