/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The life of one output: opened under a temporary name, written, verified, renamed.
 *
 *     output_open -> output_pass_hole, output_read, output_write ...
 *                 -> output_verify ... -> output_publish
 *
 * Reading, writing and verifying change nothing in the struct file, and any number of threads may
 * do so at a time. The other calls are for one thread at a time. outputs_discard() may come at any
 * point when no other call runs: it removes unfinished outputs. Functions that return int print the
 * error when they return -1.
 */
#ifndef TESTGANTRY_OUTPUT_H
#define TESTGANTRY_OUTPUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "files.h"

/**
 * Opens the input, makes the output's folders, and creates it under a temporary name, with the
 * input's length and without data. If the input cannot be opened, and the set says so, it is
 * skipped: the other calls do nothing then.
 */
int output_open(struct file_set *set, struct file *f);

/**
 * If the next byte to read is in a hole, the hole counts as read and written. Returns its length,
 * or 0.
 */
uint64_t output_pass_hole(struct file *f);

/** Reads len bytes of the input at offset. */
int output_read(const struct file *f, void *buffer, size_t len, uint64_t offset);

/** Writes bytes of the output at offset. */
int output_write(const struct file *f, const void *buffer, size_t len, uint64_t offset);

/**
 * Reads len bytes at offset of the input and of the output back, and compares them. If they are the
 * last ones, both files must end there.
 */
int output_verify(const struct file *f, uint64_t offset, uint64_t len);

/** Gives a verified output the permission bits of its input, and its name. */
int output_publish(struct file *f);

/**
 * Closes what is open, removes temporary files, and folders that were made and are empty. Then
 * outputs_unfinished is false.
 */
void outputs_discard(struct file_set *set);

/**
 * Temporary files or new folders may be there, which outputs_discard() removes. For signal
 * handlers.
 */
extern atomic_bool outputs_unfinished;

#endif
