/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Stores which CPUs the process may use, and spreads lcores over them.
 */
#include "lcores.h"

#include <stdio.h>

#include <rte_config.h>
#include <rte_lcore.h>

#include "report.h"

#define MOST_SHOWN RTE_MAX_LCORE

static cpu_set_t cpus;

static void __attribute__((constructor)) remember_cpus(void)
{
	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		CPU_ZERO(&cpus);
}

const cpu_set_t *
lcores_cpus(void)
{
	return &cpus;
}

/* Returns the next CPU of the process after `cpu`; after the last CPU, the first CPU. */
static int
next_cpu(int cpu)
{
	if (CPU_COUNT(&cpus) == 0)
		return 0;
	do
		cpu = (cpu + 1) % CPU_SETSIZE;
	while (!CPU_ISSET(cpu, &cpus));
	return cpu;
}

const char *
lcores_option(unsigned int n)
{
	static char text[MOST_SHOWN * sizeof(",127@1023") + 32];
	int len = sprintf(text, "--lcores="), cpu = -1;

	for (unsigned int i = 0; i < n && i < MOST_SHOWN; i++) {
		cpu = next_cpu(cpu);
		len += sprintf(text + len, "%s%u@%d", i > 0 ? "," : "", i, cpu);
	}
	if (n > MOST_SHOWN)
		sprintf(text + len, ",...");
	return text;
}

int
lcores_workers(unsigned int asked, unsigned int *n)
{
	/* all lcores but the main lcore, which serves the user */
	unsigned int have = rte_lcore_count() - 1;

	if (have == 0) {
		error_print("too few lcores: EAL has 1, but a main and at least one worker lcore "
			    "are needed: give %s before '--'",
			lcores_option(2));
		return -1;
	}
	if (asked > have) {
		error_print("too few lcores: --nb-cores %u, but EAL has %u without the main lcore: "
			    "give %s before '--', or a lower --nb-cores",
			asked, have, lcores_option(asked + 1));
		return -1;
	}
	*n = asked != 0 ? asked : have;
	return 0;
}

uint64_t
lcores_sleeps(unsigned int lcore_id)
{
	struct gantry_lcore_load load;

	gantry_lcore_load_get(lcore_id, &load);
	return load.sleeps;
}
