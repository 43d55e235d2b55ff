/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the user sees: errors, the progress line, and the table at the end.
 */
#ifndef TESTGANTRY_REPORT_H
#define TESTGANTRY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gantry.h"

/** Prints "testgantry: ..." on stderr, after whatever progress line is on the terminal. */
void error_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** The same without the newline: the caller goes on with stderr and ends it. */
void error_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Nanoseconds of a clock that only goes forward. */
uint64_t now_ns(void);

/** How far a run has come. */
struct progress {
	uint64_t bytes_moved;
	uint64_t bytes_total;
	size_t files_verified;
	size_t files_total;
};

/** Shows how far it is: on a terminal rewriting one line, elsewhere a line a second. */
void progress_show(const struct progress *p);

/** Ends the progress line, if one is on the terminal. */
void progress_end(void);

/** The counters of one worker, and those to count from. */
struct report_row {
	unsigned int lcore_id;
	struct gantry_stats now;
	struct gantry_stats base;
};

struct report {
	struct report_row *rows;
	size_t n_rows;
	uint64_t base_ns; /**< the rates count from here */
	uint64_t end_ns;  /**< to here */
};

/** Starts over with n rows. 0, or -1 with the error printed. */
int report_reset(struct report *r, size_t n_rows);

/** Counts from now on. */
void report_clear(struct report *r);

void report_print(FILE *f, const struct report *r);

void report_free(struct report *r);

#endif
