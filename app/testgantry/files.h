/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The set of files to move. Each file has the path of an input and the path of an output.
 */
#ifndef TESTGANTRY_FILES_H
#define TESTGANTRY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** One file to move, with the functions of output.h. */
struct file {
	char *input;  /**< path of the input */
	char *output; /**< final path of the output */
	char *temp;   /**< path of the output while it is being written, otherwise NULL */
	dev_t dev;    /**< device number (st_dev) of the input; dev and ino identify the file */
	ino_t ino;
	/** bytes of the input; set when planning, and again when the input is opened */
	uint64_t size;
	uint64_t read;      /**< bytes of the input that are in chunks or in holes */
	uint64_t data_end;  /**< end of the data that is being read; a hole begins at this offset */
	uint64_t written;   /**< written bytes of the output, holes included */
	uint64_t verifying; /**< bytes whose comparison has begun */
	uint64_t verified;  /**< bytes compared and equal */
	int in_fd;          /**< file descriptor of the input; -1: not open */
	int out_fd;
	mode_t permissions; /**< permission bits of the input; set when `size` is set */
	bool skipped;       /**< the input could not be opened, so the file is skipped */
};

struct file_set {
	struct file *file;
	size_t n;
	size_t capacity;
	uint64_t bytes;           /**< bytes of all files, as counted when planning */
	size_t n_skipped_links;   /**< symbolic links that were found in folders */
	size_t n_skipped_special; /**< devices, sockets and pipes that were found in folders */
	size_t n_unreadable;      /**< files and folders that cannot be read and are skipped */
	size_t n_missing;         /**< inputs in n_unreadable that do not exist */
	bool skip_unreadable;     /**< skip files and folders that cannot be read */
	char **made;              /**< folders created for the outputs, outermost first */
	size_t n_made;
	size_t made_capacity;
};

/**
 * Finds the files and chooses the paths of their outputs; creates no file. These are errors:
 * unreadable inputs (each is printed), two outputs with one path, an output that is an input, and
 * an output folder inside an input folder.
 * @param out the output folder; NULL: finds the files, but chooses no output paths.
 * @param skip_unreadable true: unreadable files are printed and counted, but are no error.
 * @return 0, or -1 with the error printed and the set empty.
 */
int files_plan(struct file_set *set, char *const *inputs, int n_inputs, const char *out,
	bool parents, bool skip_unreadable);

/**
 * Adds a file of another process. Its output has the path `name` below the output folder; a name
 * that leads out of this folder is refused. Returns 0, or -1 with the error printed.
 */
int files_add(struct file_set *set, const char *out, const char *name, uint64_t size,
	mode_t permissions);

/**
 * Checks the outputs of files that files_add() has added: two outputs with one path, and an output
 * that exists and is no regular file, are errors. Returns 0, or -1 with the error printed.
 */
int files_check(const struct file_set *set);

/**
 * For a plan without an output folder: returns the name that the file will have below the output
 * folder of another process.
 */
const char *files_name(const struct file *f);

/**
 * For a plan without an output folder: refuses two files with one name. Returns 0, or -1 with the
 * error printed.
 */
int files_check_same(const struct file_set *set);

void files_free(struct file_set *set);

/**
 * Ends a line that the caller has begun to print: adds how many files and folders were skipped as
 * unreadable, if any, and a newline.
 */
void files_end_line(const struct file_set *set);

/** Prints the files of the set, one line for each file. */
void files_show(const struct file_set *set);

#endif
