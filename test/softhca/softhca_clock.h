/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits with the virtual clock, for the two ends of a pair. */
#ifndef SOFTHCA_CLOCK_WAITS_H
#define SOFTHCA_CLOCK_WAITS_H

#include "softhca_pair.h"
#include "virtual_clock.h"

/*
 * Runs the adapter, without advancing the time, until three calls of softhca_pump() in a row find
 * no work. One call is not enough: it may leave an event that only the next call sends.
 */
static inline void
clock_settle(void)
{
	for (unsigned int idle = 0; idle < 3;)
		idle = softhca_pump() == 0 ? idle + 1 : 0;
}

/* Advances the time in one step, and then runs the adapter. */
static inline void
clock_pass(uint64_t ns)
{
	clock_settle();
	clock_ns += ns;
	clock_settle();
}

/* Checks that there is no completion now. */
static inline void
clock_expect_none(struct pair_end *e)
{
	struct ibv_wc wc;

	clock_settle();
	CHECK_EQ(ibv_poll_cq(e->cq, 1, &wc), 0);
}

/* Polls the completion that must exist now. There must be only one. */
static inline struct ibv_wc
clock_expect_one(struct pair_end *e)
{
	struct ibv_wc wc;

	clock_settle();
	CHECK_EQ(ibv_poll_cq(e->cq, 1, &wc), 1);
	pair_observe(e);
	return wc;
}

/* Checks that the next completion comes exactly at this time, and not a nanosecond before. */
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
