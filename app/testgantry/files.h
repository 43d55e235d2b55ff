/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The set of files to move, with the input's and the output's path of each.
 */
#ifndef TESTGANTRY_FILES_H
#define TESTGANTRY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** One file to move. output.h has the calls that move it. */
struct file {
	char *input;  /**< path to read */
	char *output; /**< path that the moved file gets */
	char *temp;   /**< path while it is being written, else NULL */
	dev_t dev;    /**< of the input, with ino */
	ino_t ino;
	uint64_t size;      /**< bytes, as found while planning, and again when it was opened */
	uint64_t read;      /**< bytes that chunks have been made of, or that are in holes */
	uint64_t data_end;  /**< where the data that are being read end, and a hole begins */
	uint64_t written;   /**< bytes of the output, also those that are in holes */
	uint64_t verifying; /**< bytes that are, or have been, compared */
	uint64_t verified;  /**< bytes found equal */
	int in_fd;          /**< -1: not open */
	int out_fd;
	bool skipped; /**< it could not be opened, and is left out */
};

struct file_set {
	struct file *file;
	size_t n;
	size_t capacity;
	uint64_t bytes;           /**< of all files, as found while planning */
	size_t n_skipped_links;   /**< symbolic links in folders */
	size_t n_skipped_special; /**< devices, sockets, pipes in folders */
	size_t n_unreadable;      /**< files and folders that cannot be read, and are skipped */
	size_t n_missing;         /**< of them: inputs that are not there */
	bool skip_unreadable;     /**< what cannot be read is left out */
	char **made;              /**< folders made for the outputs, outermost first */
	size_t n_made;
	size_t made_capacity;
};

/**
 * Finds the files and plans their names; makes nothing. Refuses what cannot work: unreadable
 * inputs, each of which is printed, two of one name, an output that is an input, an output folder
 * inside an input folder.
 * @param out NULL: finds the files only, and plans no names.
 * @param skip_unreadable what cannot be read is printed and counted, but no reason to refuse.
 * @return 0, or -1 with the error printed and the set empty.
 */
int files_plan(struct file_set *set, char *const *inputs, int n_inputs, const char *out,
	bool parents, bool skip_unreadable);

void files_free(struct file_set *set);

/**
 * Prints what ends a sentence about the set: how many files and folders were left out, if any. And
 * a newline.
 */
void files_end_line(const struct file_set *set);

/** Prints one line a file. */
void files_show(const struct file_set *set);

#endif
