/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets the CPU of an lcore wait for a write to an address (rte_power_monitor()): the address of the
 * next CQE, or of the bell.
 *
 * A CPU can watch only one address. If the CPU watches a CQE, the bell wakes the CPU by
 * rte_power_monitor_wakeup(). This wakeup has no effect before the CPU watches. For this reason
 * rte_power_monitor() calls a function (the condition) after the CPU has begun to watch. This
 * function also reads the state of the bell.
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
 * Fills *cond for rte_power_monitor(): the address to watch, and a function that says "do not wait"
 * exactly if the CQ has a new CQE or the bell was rung. If cq is NULL, only the bell is watched.
 * *cq and *bell have to stay until the wait is over. Owner thread.
 */
void gantry_monitor_cond(const struct hwq_cq *cq, const struct gantry_bell *bell,
	struct rte_power_monitor_cond *cond);

/*
 * Waits until the watched address is written, or until the time stamp counter reaches tsc. The
 * lcore calls this function.
 */
void gantry_monitor_wait(const struct hwq_cq *cq, const struct gantry_bell *bell, uint64_t tsc);

#endif
