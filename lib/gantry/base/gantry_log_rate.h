/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A limit for lines of the log that can come by the thousand.
 *
 *     LOG_RATED(&q->lines.repaired, NOTICE, "%s is set up again", name);
 *
 * When a second is over in which lines were left out, a line tells their number.
 */
#ifndef GANTRY_LOG_RATE_H
#define GANTRY_LOG_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_log.h"

/* The limit of one kind of lines. One thread uses it. */
struct gantry_log_rate {
	const char *about; /* constant: what the lines tell of */
	uint32_t max;      /* constant: lines that are written in a second */
	uint32_t n;        /* lines that were written in this second */
	uint64_t end_tsc;  /* of this second */
	uint64_t n_left_out;
};

/* True: a line may be written. False: it is left out. */
bool gantry_log_rate_take(struct gantry_log_rate *r);

/* The end of a line: it tells if the next lines are left out. */
const char *gantry_log_rate_note(const struct gantry_log_rate *r);

/* No further line follows. Tells how many lines were left out and not told of. */
void gantry_log_rate_end(struct gantry_log_rate *r);

/*
 * The limit of the calling thread for lines about all other failures: memory and calls that EAL or
 * the device refuses. What was left out is told with the next such line.
 */
struct gantry_log_rate *gantry_log_rate_others(void);

/* LOG() within a limit. */
#define LOG_RATED(rate, level, fmt, ...)                                                           \
	do {                                                                                       \
		struct gantry_log_rate *r_ = (rate);                                               \
                                                                                                   \
		if (gantry_log_rate_take(r_))                                                      \
			LOG(level, fmt "%s", ##__VA_ARGS__, gantry_log_rate_note(r_));             \
	} while (0)

#endif
