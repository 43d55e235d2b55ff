/* SPDX-License-Identifier: BSD-3-Clause */
/* Initializes EAL for benchmarks: without huge pages, PCI devices and files. */
#ifndef BENCH_EAL_H
#define BENCH_EAL_H

#include <stdbool.h>

#include <rte_common.h>
#include <rte_eal.h>

/*
 * mib: MiB of EAL's memory. lcores: as in EAL's option --lcores. Returns false if EAL fails; EAL
 * has then printed the reason.
 */
static inline bool
bench_start_eal(const char *program, const char *mib, const char *lcores)
{
	const char *args[] = {program, "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry",
		"-m", mib, "--lcores", lcores, NULL};

	/* EAL changes the order of the pointers, but not the strings. */
	return rte_eal_init(RTE_DIM(args) - 1, (char **)(uintptr_t)args) >= 0;
}

#endif
