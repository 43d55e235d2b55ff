/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spin locks that are held only for a short time. A thread that waits for a lock yields its CPU
 * after a while, because the thread that holds the lock may need this CPU.
 */
#ifndef SOFTHCA_SPIN_H
#define SOFTHCA_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>

#define CACHE_LINE 64

#if defined(__x86_64__) || defined(__i386__)
#define cpu_relax() __builtin_ia32_pause()
#else
#define cpu_relax() atomic_signal_fence(memory_order_seq_cst)
#endif

/* The lock is free when `held` is zero. */
struct spin {
	atomic_uint held;
};

void spin_lock_slow(struct spin *lock);

static inline bool
spin_trylock(struct spin *lock)
{
	return atomic_exchange_explicit(&lock->held, 1, memory_order_acquire) == 0;
}

static inline void
spin_lock(struct spin *lock)
{
	if (!spin_trylock(lock))
		spin_lock_slow(lock);
}

static inline void
spin_unlock(struct spin *lock)
{
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif
