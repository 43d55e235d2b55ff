/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Words that another thread or the device reads or writes, too. Each access names the order that it
 * needs. These are builtins of the compiler, because C and C++ have them alike: C++ has no _Atomic.
 */
#ifndef HWQ_ATOMIC_H
#define HWQ_ATOMIC_H

/** Reads a word, in no order with other accesses. */
#define hwq_load_relaxed(at) __atomic_load_n(at, __ATOMIC_RELAXED)
/** Reads a word before all later accesses of this thread. */
#define hwq_load_acquire(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)
/** Writes a word, in no order with other accesses. */
#define hwq_store_relaxed(at, value) __atomic_store_n(at, value, __ATOMIC_RELAXED)
/** Writes a word after all earlier accesses of this thread. */
#define hwq_store_release(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)

/** A counter that several threads change. hwq_count_get() says what its reader sees then. */
struct hwq_count {
	unsigned int n; /**< the number: use the functions below */
};

/**
 * Adds to the counter. Any thread.
 * @param count The counter.
 * @param n How many.
 */
static inline void
hwq_count_add(struct hwq_count *count, unsigned int n)
{
	__atomic_fetch_add(&count->n, n, __ATOMIC_RELEASE);
}

/**
 * Subtracts from the counter. Any thread.
 * @param count The counter.
 * @param n How many.
 */
static inline void
hwq_count_sub(struct hwq_count *count, unsigned int n)
{
	__atomic_fetch_sub(&count->n, n, __ATOMIC_RELEASE);
}

/**
 * Reads the counter. Any thread. The caller sees all that another thread wrote before its
 * hwq_count_add() or hwq_count_sub().
 * @param count The counter.
 * @return The number.
 */
static inline unsigned int
hwq_count_get(const struct hwq_count *count)
{
	return hwq_load_acquire(&count->n);
}

#endif
