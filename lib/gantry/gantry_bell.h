/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bell: wakes an lcore that sleeps. No call is lost:
 *
 *   lcore                                   any other thread
 *     asleep = true (exchange)                writes what the lcore shall see
 *     looks at everything once more           asleep = false (exchange); it was true: writes to fd
 *     waits until fd can be read
 *
 * The exchange that comes later reads what the other one wrote. So either the lcore sees the
 * writes of the other thread, or that thread sees that the lcore is asleep.
 */
#ifndef GANTRY_BELL_H
#define GANTRY_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>

struct gantry_bell {
	atomic_bool asleep;
	int fd; /* an eventfd */
};

/* After the writes that the lcore shall see. NULL: the lcore never sleeps. Any thread. */
static inline void
gantry_bell_ring(struct gantry_bell *bell)
{
	if (bell != NULL && atomic_exchange_explicit(&bell->asleep, false, memory_order_acq_rel))
		eventfd_write(bell->fd, 1);
}

#endif
