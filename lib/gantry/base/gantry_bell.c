/* SPDX-License-Identifier: BSD-3-Clause */
/* Wakes an lcore that rests. */
#define ALLOW_EXPERIMENTAL_API /* rte_power_monitor_wakeup() */
#include "gantry_bell.h"

#include <sys/eventfd.h>

#include <rte_power_intrinsics.h>

void
gantry_bell_wake(const struct gantry_bell *bell, unsigned int state)
{
	if (state == GANTRY_BELL_SLEEPS)
		eventfd_write(bell->fd, 1);
	else
		rte_power_monitor_wakeup(bell->lcore_id);
}
