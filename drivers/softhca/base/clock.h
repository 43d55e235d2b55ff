/* SPDX-License-Identifier: BSD-3-Clause */
/* Device time. */
#ifndef SOFTHCA_CLOCK_H
#define SOFTHCA_CLOCK_H

#include <stdint.h>
#include <time.h>

/*
 * Returns the device time in nanoseconds of CLOCK_MONOTONIC. It is the timestamp of CQEs: the
 * adapter reports a core clock of 1 GHz. Confirmed: timestamp-clock.
 */
static inline uint64_t
device_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
