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

/** As error_print(), but without the newline. The caller prints the end of the line to stderr. */
void error_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * After this call, errors of the calling thread are not printed. The text of the first error is
 * allocated in *text, which must be NULL before. Later errors are dropped. With NULL, errors are
 * printed again. Returns the `text` of the previous call, or NULL.
 */
char **error_keep(char **text);

#define NSEC_PER_S UINT64_C(1000000000)

/** Nanoseconds of a monotonic clock. */
uint64_t now_ns(void);

/** Progress of a job. */
struct progress {
	const char *verb; /**< the action: "moved" */
	uint64_t bytes_moved;
	uint64_t bytes_total;
	uint64_t bytes_in_holes; /**< not included in the two other counts of bytes */
	size_t files_verified;
	size_t files_total;
};

/** A job begins: resets the progress line. */
void progress_reset(void);

/**
 * Prints the progress: on a terminal by rewriting one line, otherwise as a new line every second.
 */
void progress_show(const struct progress *p);

/** As progress_show(), for a load. ops: number of completed operations. */
void progress_count(uint64_t ops);

/** Prints the begin of a job's last line: the files and the bytes that were moved. */
void progress_print_moved(const struct progress *p);

/** Ends the progress line on a terminal. */
void progress_end(void);

/** The counters of one worker and its lcore. The table shows the differences `now` minus `base`. */
struct report_row {
	unsigned int lcore_id;
	struct gantry_stats now;
	struct gantry_stats base;
	uint64_t sleeps; /**< current value of gantry_lcore_load::sleeps */
	uint64_t base_sleeps;
};

struct report {
	struct report_row *rows;
	size_t n_rows;
	uint64_t base_ns; /**< start of the period to which the rates apply */
	uint64_t end_ns;  /**< end of the period to which the rates apply */
};

/** Makes a report of n zeroed rows. Returns 0, or -1 with the error printed. */
int report_reset(struct report *r, size_t n_rows);

/** Makes the current counters and the current time the new base. */
void report_clear(struct report *r);

void report_print(FILE *f, const struct report *r);

void report_free(struct report *r);

#endif
