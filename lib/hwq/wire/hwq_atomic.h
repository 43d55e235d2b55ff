/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Words that another thread or the device reads or writes, too. Each access names the order that it needs. These are
 * builtins of the compiler, because C and C++ have them alike: C++ has no _Atomic.
 */
#ifndef HWQ_ATOMIC_H
#define HWQ_ATOMIC_H

#define hwq_load_relaxed(at)         __atomic_load_n(at, __ATOMIC_RELAXED)
#define hwq_load_acquire(at)         __atomic_load_n(at, __ATOMIC_ACQUIRE)
#define hwq_store_relaxed(at, value) __atomic_store_n(at, value, __ATOMIC_RELAXED)
#define hwq_store_release(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)

/** How many of something there are. Whoever reads the number sees what others did before they changed it. */
struct hwq_count {
	unsigned int n;
};

static inline void
hwq_count_add(struct hwq_count *count, unsigned int n)
{
	__atomic_fetch_add(&count->n, n, __ATOMIC_RELEASE);
}

static inline void
hwq_count_sub(struct hwq_count *count, unsigned int n)
{
	__atomic_fetch_sub(&count->n, n, __ATOMIC_RELEASE);
}

/** @return the number. */
static inline unsigned int
hwq_count_get(const struct hwq_count *count)
{
	return hwq_load_acquire(&count->n);
}

#endif
