/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Lcores and the CPUs of the process.
 */
#ifndef TESTGANTRY_LCORES_H
#define TESTGANTRY_LCORES_H

#include <sched.h>

/**
 * The CPUs that the process could use at its start; later EAL binds the main lcore's thread to one
 * CPU. May be empty.
 */
const cpu_set_t *lcores_cpus(void);

/**
 * EAL's option for n lcores, which take the process's CPUs in turn: "--lcores=0@0,1@1,2@0". After
 * RTE_MAX_LCORE lcores, the text ends with dots. Valid until the next call.
 */
const char *lcores_option(unsigned int n);

/**
 * *n: worker lcores to use: `asked`, or all of EAL's if `asked` is 0. 0, or -1 with the error
 * printed: EAL has fewer.
 */
int lcores_workers(unsigned int asked, unsigned int *n);

#endif
