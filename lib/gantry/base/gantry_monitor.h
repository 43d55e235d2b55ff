/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An lcore whose CPU waits until something is written to an address (rte_power_monitor()): that of the
 * next CQE, or the bell's.
 *
 * A CPU can watch one address. Where that is a CQE's, the bell wakes the lcore by
 * rte_power_monitor_wakeup(). This has no effect before the CPU watches; so the condition, which
 * rte_power_monitor() asks after that, looks at the bell, too.
 */
#ifndef GANTRY_MONITOR_H
#define GANTRY_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_bell.h"

struct hwq_cq;
struct rte_power_monitor_cond;

/* True: this CPU can do it. */
bool gantry_monitor_is_possible(void);

/*
 * What rte_power_monitor() needs: the address, and a function that says "do not wait" exactly when the
 * next completion of the CQ is there or the bell was rung. cq: NULL: for the bell alone. Both have to
 * stay until the wait is over. Owner.
 */
void gantry_monitor_cond(const struct hwq_cq *cq, const struct gantry_bell *bell,
	struct rte_power_monitor_cond *cond);

/* Waits, until this time of the time stamp counter at most. The lcore. */
void gantry_monitor_wait(const struct hwq_cq *cq, const struct gantry_bell *bell, uint64_t tsc);

#endif
