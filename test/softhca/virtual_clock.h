/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A virtual CLOCK_MONOTONIC. It stands still until the test moves it, so the test can say to the
 * nanosecond when something must happen, even on a busy machine. Include it once in a program: all
 * libraries of the process use the program's clock_gettime() instead of libc's. The adapter must be
 * pumped (SOFTHCA_THREADS=0).
 */
#ifndef VIRTUAL_CLOCK_H
#define VIRTUAL_CLOCK_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns = UINT64_C(1000000000000);

__attribute__((visibility("default"))) int
clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, ts);
	ts->tv_sec = (time_t)(clock_ns / 1000000000);
	ts->tv_nsec = (long)(clock_ns % 1000000000);
	return 0;
}

#endif
