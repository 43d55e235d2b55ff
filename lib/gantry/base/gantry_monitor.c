/* SPDX-License-Identifier: BSD-3-Clause */
/* Lets the CPU of an lcore wait for a write to memory. */
#define ALLOW_EXPERIMENTAL_API /* rte_power_monitor() and its helpers */
#include "gantry_monitor.h"

#include <rte_cpuflags.h>
#include <rte_power_intrinsics.h>

#include <hwq_cq.h>

/* Elements of rte_power_monitor_cond::opaque. */
enum {
	THE_BELL,
	THE_LAP,
};

bool
gantry_monitor_is_possible(void)
{
	struct rte_cpu_intrinsics cpu = {0};

	rte_cpu_get_intrinsics_support(&cpu);
	return cpu.power_monitor;
}

/*
 * The condition of a wait by rte_power_monitor() for the bell. Returns 0 to wait, -1 not to wait.
 */
static int
ask_bell(const uint64_t *opaque)
{
	const struct gantry_bell *bell = (void *)(uintptr_t)opaque[THE_BELL];

	/* Pairs with the exchange in gantry_bell_ring(). */
	return atomic_load_explicit(&bell->state, memory_order_acquire) == GANTRY_BELL_AWAKE ? -1
											     : 0;
}

static int
ask_bell_alone(const uint64_t value, const uint64_t opaque[RTE_POWER_MONITOR_OPAQUE_SZ])
{
	(void)value;
	return ask_bell(opaque);
}

static int
ask_cqe_and_bell(const uint64_t value, const uint64_t opaque[RTE_POWER_MONITOR_OPAQUE_SZ])
{
	return hwq_op_own_is_ours(value, opaque[THE_LAP]) ? -1 : ask_bell(opaque);
}

void
gantry_monitor_cond(const struct hwq_cq *cq, const struct gantry_bell *bell,
	struct rte_power_monitor_cond *cond)
{
	*cond = (struct rte_power_monitor_cond){
		.addr = (void *)(uintptr_t)&bell->state,
		.size = sizeof(bell->state),
		.fn = ask_bell_alone,
	};
	cond->opaque[THE_BELL] = (uintptr_t)bell;
	if (cq == NULL)
		return;
	cond->addr = (void *)(uintptr_t)hwq_cq_watched(cq);
	cond->size = sizeof(uint8_t);
	cond->fn = ask_cqe_and_bell;
	cond->opaque[THE_LAP] = cq->lap;
}

void
gantry_monitor_wait(const struct hwq_cq *cq, const struct gantry_bell *bell, uint64_t tsc)
{
	struct rte_power_monitor_cond cond;

	gantry_monitor_cond(cq, bell, &cond);
	rte_power_monitor(&cond, tsc);
}
