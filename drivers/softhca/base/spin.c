/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path of spin locks. */
#include "spin.h"

#include <sched.h>

void
spin_lock_slow(struct spin *lock)
{
	for (unsigned int n = 1;; n++) {
		while (atomic_load_explicit(&lock->held, memory_order_relaxed) != 0) {
			if (n++ % 64 == 0)
				sched_yield();
			cpu_relax();
		}
		if (spin_trylock(lock))
			return;
	}
}
