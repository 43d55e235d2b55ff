/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A virtual CLOCK_MONOTONIC. Only the test moves it, so the test can expect events at exact
 * nanoseconds, even on a busy machine. Include it once in a program: all libraries of the process
 * use the program's clock_gettime() instead of libc's. The adapter must be pumped
 * (SOFTHCA_THREADS=0). While clock_ns is 0, the program has the machine's clock. A program that
 * defines CLOCK_START as 0 starts this way, and may have threads until it stops the clock.
 */
#ifndef VIRTUAL_CLOCK_H
#define VIRTUAL_CLOCK_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef CLOCK_START
#define CLOCK_START UINT64_C(1000000000000)
#endif

static uint64_t clock_ns = CLOCK_START;

__attribute__((visibility("default"))) int
clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (clock != CLOCK_MONOTONIC || clock_ns == 0)
		return (int)syscall(SYS_clock_gettime, clock, ts);
	ts->tv_sec = (time_t)(clock_ns / 1000000000);
	ts->tv_nsec = (long)(clock_ns % 1000000000);
	return 0;
}

/* Replaces the machine's clock by the virtual one, which starts at the present time. */
static inline void
clock_stop(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
