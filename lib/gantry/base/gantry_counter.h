/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters that one thread writes and any thread may read. */
#ifndef GANTRY_COUNTER_H
#define GANTRY_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/* Relaxed: a reader sees a value that the counter had, and learns nothing about other memory. */
typedef _Atomic uint64_t gantry_counter;

static inline uint64_t
gantry_counter_get(const gantry_counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

/* Owner thread. A load and a store, because nobody else writes: no locked instruction. */
static inline void
gantry_counter_add(gantry_counter *c, uint64_t n)
{
	atomic_store_explicit(c, gantry_counter_get(c) + n, memory_order_relaxed);
}

#endif
