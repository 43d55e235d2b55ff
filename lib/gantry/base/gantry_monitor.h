/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets the CPU of an lcore wait for a write to an address (rte_power_monitor()): that of the next
 * CQE, or of the bell.
 *
 * A CPU can watch one address. If it watches a CQE, the bell wakes it by
 * rte_power_monitor_wakeup(). This wakeup has no effect before the CPU watches. So the condition,
 * which rte_power_monitor() asks after the CPU has begun to watch, also looks at the bell.
 */
#ifndef GANTRY_MONITOR_H
#define GANTRY_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_bell.h"

struct hwq_cq;
struct rte_power_monitor_cond;

/* Returns true if this CPU can wait for a write. */
bool gantry_monitor_is_possible(void);

/*
 * Makes the condition for rte_power_monitor(): the address to watch, and a function that says "do
 * not wait" exactly if the CQ's next CQE has come or the bell was rung. cq: NULL for the bell
 * alone. *cq and *bell have to stay until the wait is over. Owner.
 */
void gantry_monitor_cond(const struct hwq_cq *cq, const struct gantry_bell *bell,
	struct rte_power_monitor_cond *cond);

/* Waits until a write or until tsc, a value of the time stamp counter. The lcore. */
void gantry_monitor_wait(const struct hwq_cq *cq, const struct gantry_bell *bell, uint64_t tsc);

#endif
