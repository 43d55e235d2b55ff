/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The life of one output: opened under a temporary name, written, verified, renamed.
 *
 *     output_open -> output_read, output_write ... -> output_verify ... -> output_publish
 *
 * outputs_discard() may come at any point: it removes unfinished outputs. Functions that return int
 * or ssize_t print the error when they return -1.
 */
#ifndef TESTGANTRY_OUTPUT_H
#define TESTGANTRY_OUTPUT_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "files.h"

/** Opens the input, makes the output's folders, and creates it under a temporary name. */
int output_open(struct file_set *set, struct file *f);

/** Reads the input's next len bytes. */
int output_read(struct file *f, void *buffer, size_t len);

/** Writes bytes of the output at offset. */
int output_write(struct file *f, const void *buffer, size_t len, uint64_t offset);

/**
 * Reads the next bytes of the input and of the output back into the two scratch buffers, len bytes
 * each, and compares them. @return 1 both ended, all equal; 0 equal so far; -1.
 */
int output_verify(struct file *f, void *scratch_in, void *scratch_out, size_t len);

/** Gives a verified output the permission bits of its input, and its name. */
int output_publish(struct file *f);

/**
 * Closes what is open, removes temporary files, and folders that were made and are empty. Then
 * outputs_unfinished is false.
 */
void outputs_discard(struct file_set *set);

/** Temporary files or new folders may be there, which outputs_discard() removes. For signal handlers. */
extern volatile sig_atomic_t outputs_unfinished;

#endif
