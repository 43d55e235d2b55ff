/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Lcores and the CPUs of the process.
 */
#ifndef TESTGANTRY_LCORES_H
#define TESTGANTRY_LCORES_H

#include <sched.h>
#include <stdint.h>

/**
 * Returns the CPUs that the process could use when it started. (EAL later binds the main lcore's
 * thread to one CPU.) The set may be empty.
 */
const cpu_set_t *lcores_cpus(void);

/**
 * Returns EAL's option for n lcores, which use the process's CPUs one after the other:
 * "--lcores=0@0,1@1,2@0". If n exceeds RTE_MAX_LCORE, the text ends with dots. Valid until the next
 * call.
 */
const char *lcores_option(unsigned int n);

/**
 * Finds the number of worker lcores to use: `asked`, or all of EAL's worker lcores if `asked` is 0.
 * Returns 0, or -1 with the error printed if EAL has fewer.
 */
int lcores_workers(unsigned int asked, unsigned int *n);

/** Returns how often the workers of an lcore have slept. */
uint64_t lcores_sleeps(unsigned int lcore_id);

#endif
