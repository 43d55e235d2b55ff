/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A limit for lines of the log that could otherwise be written thousands of times.
 *
 *     LOG_RATED(&q->lines.repaired, NOTICE, "%s is set up again", name);
 *
 * When the limit of a second is reached, further lines are left out and counted. The next line
 * after that second tells how many were left out.
 */
#ifndef GANTRY_LOG_RATE_H
#define GANTRY_LOG_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_log.h"

/* The limit of one kind of lines. One thread uses it. */
struct gantry_log_rate {
	const char *about; /* constant: the subject of the lines */
	uint32_t max;      /* constant: the most lines in a second */
	uint32_t n;        /* lines that were written in this second */
	uint64_t end_tsc;  /* time stamp at which this second ends */
	uint64_t n_left_out;
};

/*
 * Returns true if a line may be written now. Otherwise counts the line as left out, and returns
 * false.
 */
bool gantry_log_rate_take(struct gantry_log_rate *r);

/*
 * Returns text for the end of a line, which says whether further lines of this second are left out.
 */
const char *gantry_log_rate_note(const struct gantry_log_rate *r);

/* Called when no further line will follow. Logs how many lines were left out, if any. */
void gantry_log_rate_end(struct gantry_log_rate *r);

/*
 * Returns the limit of the calling thread for lines about missing memory, and about calls that EAL
 * or the device refuses. These lines have no limit of their own.
 */
struct gantry_log_rate *gantry_log_rate_others(void);

/* As LOG(), unless the limit `rate` is reached. */
#define LOG_RATED(rate, level, fmt, ...)                                                           \
	do {                                                                                       \
		struct gantry_log_rate *r_ = (rate);                                               \
                                                                                                   \
		if (gantry_log_rate_take(r_))                                                      \
			LOG(level, fmt "%s", ##__VA_ARGS__, gantry_log_rate_note(r_));             \
	} while (0)

#endif
