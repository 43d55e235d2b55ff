/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Access to words that another thread or the device also reads or writes. The name of each access
 * says which order it has. These are builtins of the compiler, because they are the same in C and
 * C++; C++ has no _Atomic.
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

/** A counter that several threads change. For the order of these changes see hwq_count_get(). */
struct hwq_count {
	unsigned int n; /**< the count; only the functions below use it */
};

/**
 * Adds to the counter. Any thread may call this function.
 * @param count The counter.
 * @param n The number to add.
 */
static inline void
hwq_count_add(struct hwq_count *count, unsigned int n)
{
	__atomic_fetch_add(&count->n, n, __ATOMIC_RELEASE);
}

/**
 * Subtracts from the counter. Any thread may call this function.
 * @param count The counter.
 * @param n The number to subtract.
 */
static inline void
hwq_count_sub(struct hwq_count *count, unsigned int n)
{
	__atomic_fetch_sub(&count->n, n, __ATOMIC_RELEASE);
}

/**
 * Reads the counter. Any thread may call this function. The caller then sees everything that other
 * threads wrote before the calls of hwq_count_add() and hwq_count_sub() that are included in the
 * result.
 * @param count The counter.
 * @return The count.
 */
static inline unsigned int
hwq_count_get(const struct hwq_count *count)
{
	return hwq_load_acquire(&count->n);
}

#endif
