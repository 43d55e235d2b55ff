/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Output for the user: errors, the progress line, and the table of counters.
 */
#ifndef TESTGANTRY_REPORT_H
#define TESTGANTRY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gantry.h"

/** Prints "testgantry: ..." and a newline to stderr; ends a progress line first. */
void error_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** As error_print(), without the newline: the caller prints the rest of the line to stderr. */
void error_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * From now on, this thread's first error is not printed: its text is allocated in *text, which must
 * be NULL at first. What happens after it is of no interest.
 */
void error_keep(char **text);

#define NSEC_PER_S UINT64_C(1000000000)

/** Nanoseconds of a clock that only goes forward. */
uint64_t now_ns(void);

/** How far a job has come. */
struct progress {
	const char *verb; /**< what was done with the bytes: "moved" */
	uint64_t bytes_moved;
	uint64_t bytes_total;
	uint64_t bytes_in_holes; /**< which are in neither of these */
	size_t files_verified;
	size_t files_total;
};

/** A job begins: nothing has been shown of it. */
void progress_reset(void);

/** Prints it: on a terminal by rewriting one line, elsewhere as a new line every second. */
void progress_show(const struct progress *p);

/** The same of a load: operations that are done. */
void progress_count(uint64_t ops);

/** Ends the progress line, if one is on the terminal. */
void progress_end(void);

/** The counters of one worker and its lcore: shown is `now` less `base`. */
struct report_row {
	unsigned int lcore_id;
	struct gantry_stats now;
	struct gantry_stats base;
	uint64_t sleeps; /**< gantry_lcore_load::sleeps, now */
	uint64_t base_sleeps;
};

struct report {
	struct report_row *rows;
	size_t n_rows;
	uint64_t base_ns; /**< the rates count from here */
	uint64_t end_ns;  /**< to here */
};

/** Makes a report of n rows of zeros. 0, or -1 with the error printed. */
int report_reset(struct report *r, size_t n_rows);

/** Makes the present counters and time the new base. */
void report_clear(struct report *r);

void report_print(FILE *f, const struct report *r);

void report_free(struct report *r);

#endif
