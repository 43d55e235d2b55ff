/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A limit for lines of the log that can come by the thousand.
 *
 *     LOG_RATED(&q->lines.repaired, NOTICE, "%s is set up again", name);
 *
 * Further lines of a second are left out and counted. The next line after that second tells their
 * number.
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
	uint64_t end_tsc;  /* of this second */
	uint64_t n_left_out;
};

/* Returns true if a line may be written. Returns false if it is left out. */
bool gantry_log_rate_take(struct gantry_log_rate *r);

/* The end of a line, which says whether further lines of this second are left out. */
const char *gantry_log_rate_note(const struct gantry_log_rate *r);

/* Called when no further line will follow. Logs how many lines were left out, if any. */
void gantry_log_rate_end(struct gantry_log_rate *r);

/*
 * The limit of the calling thread for lines about all other failures: memory and calls that EAL or
 * the device refuses.
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
