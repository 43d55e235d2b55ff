/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters that one thread writes and any thread may read. */
#ifndef GANTRY_COUNTER_H
#define GANTRY_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * All accesses are relaxed: a reader gets a value that the counter had, and learns nothing about
 * other memory.
 */
typedef _Atomic uint64_t gantry_counter;

static inline uint64_t
gantry_counter_get(const gantry_counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

/*
 * Adds n to the counter. Owner thread. No other thread writes the counter, so a load, an add and a
 * store are enough, and no locked instruction is needed. With C's atomics, compilers emit three
 * instructions for this; on x86 one `add` to memory is enough. ThreadSanitizer does not see inline
 * assembler, so C's atomics are used under ThreadSanitizer.
 */
static inline void
gantry_counter_add(gantry_counter *c, uint64_t n)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__("addq %1, %0" : "+m"(*c) : "er"(n) : "cc");
#else
	atomic_store_explicit(c, gantry_counter_get(c) + n, memory_order_relaxed);
#endif
}

/*
 * Writes a byte that its owner reads as a plain byte, and other threads read by gantry_shown_get().
 * So the owner's reads cost nothing extra, and the compiler may keep the value in a register.
 */
#define gantry_shown_set(p, value) __atomic_store_n((p), (value), __ATOMIC_RELAXED)
#define gantry_shown_get(p)        __atomic_load_n((p), __ATOMIC_RELAXED)

#endif
