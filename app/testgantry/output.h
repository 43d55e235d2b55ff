/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The output of one file: it is opened under a temporary name, written, verified, and renamed.
 *
 *     output_open -> output_pass_hole, output_read, output_write ...
 *                 -> output_verify ... -> output_publish
 *
 * output_read(), output_write() and output_verify() do not change the struct file; any number of
 * threads may call them at the same time. Only one thread at a time may call the other functions.
 * outputs_discard() removes unfinished outputs. It may be called if no other function of this file
 * runs. Functions that return int print the error when they return -1.
 */
#ifndef TESTGANTRY_OUTPUT_H
#define TESTGANTRY_OUTPUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "files.h"

/**
 * Opens the input, creates the output's folders, and creates the output under a temporary name,
 * with the input's length and no data. If the input cannot be opened and the set allows it, the
 * file is skipped: the other functions then do nothing for this file.
 */
int output_open(struct file_set *set, struct file *f);

/** The first half of output_open(): opens the input. */
int output_open_input(struct file_set *set, struct file *f);

/** The second half of output_open(): creates the folders and the output. */
int output_create(struct file_set *set, struct file *f);

/**
 * If the next byte to read is in a hole, counts the hole as read and written. Returns the length of
 * the hole, or 0.
 */
uint64_t output_pass_hole(struct file *f);

/** Reads len bytes of the input at offset. */
int output_read(const struct file *f, void *buffer, size_t len, uint64_t offset);

/** Writes len bytes of the output at offset. */
int output_write(const struct file *f, const void *buffer, size_t len, uint64_t offset);

/**
 * Reads len bytes at offset of both files, and compares the bytes. If these are the last bytes,
 * both files must end after them.
 */
int output_verify(const struct file *f, uint64_t offset, uint64_t len);

/** Gives a verified output its permission bits and its final name. Closes both files. */
int output_publish(struct file *f);

/**
 * Closes all open files. Removes temporary files, and the empty folders that were created.
 * Afterwards outputs_unfinished is false.
 */
void outputs_discard(struct file_set *set);

/**
 * True while there may be temporary files or new folders that outputs_discard() must remove. Signal
 * handlers read this.
 */
extern atomic_bool outputs_unfinished;

#endif
