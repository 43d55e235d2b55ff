/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A virtual CLOCK_MONOTONIC. It stands still until the test moves it, so that a test can say to the
 * nanosecond when something happens, on a machine however busy. Include it once in a program: the
 * program's clock_gettime() comes before libc's for every library of the process. The adapter must be
 * pumped (SOFTHCA_THREADS=0).
 */
#ifndef SOFTHCA_CLOCK_H
#define SOFTHCA_CLOCK_H

#include <sys/syscall.h>

#include "softhca_pair.h"

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

/* The adapter does all that it can do at this time. Once more after idle: a turn may leave an event. */
static inline void
clock_settle(void)
{
	for (unsigned int idle = 0; idle < 3;)
		idle = softhca_pump() == 0 ? idle + 1 : 0;
}

/* Time passes in one step, and the adapter acts on it. */
static inline void
clock_pass(uint64_t ns)
{
	clock_settle();
	clock_ns += ns;
	clock_settle();
}

/* No completion is there now. */
static inline void
clock_expect_none(struct pair_end *e)
{
	struct ibv_wc wc;

	clock_settle();
	CHECK_EQ(ibv_poll_cq(e->cq, 1, &wc), 0);
}

/* One completion, which is there now. */
static inline struct ibv_wc
clock_expect_one(struct pair_end *e)
{
	struct ibv_wc wc;

	clock_settle();
	CHECK_EQ(ibv_poll_cq(e->cq, 1, &wc), 1);
	pair_observe(e);
	return wc;
}

/* The next completion comes at that time, and not a nanosecond earlier. */
static inline struct ibv_wc
clock_expect_at(struct pair_end *e, uint64_t at)
{
	CHECK(at > clock_ns);
	clock_pass(at - 1 - clock_ns);
	clock_expect_none(e);
	clock_pass(1);
	return clock_expect_one(e);
}

#endif
