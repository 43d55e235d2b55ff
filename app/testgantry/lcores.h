/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Lcores on the CPUs that there are.
 */
#ifndef TESTGANTRY_LCORES_H
#define TESTGANTRY_LCORES_H

#include <sched.h>

/**
 * The CPUs that the process could use when it began: EAL binds the main lcore's thread to one. May
 * be empty.
 */
const cpu_set_t *lcores_cpus(void);

/**
 * EAL's option for n lcores, which take these CPUs in turns: "--lcores=0@0,1@1,2@0". Behind
 * RTE_MAX_LCORE of them stand dots. Stays until the next call.
 */
const char *lcores_option(unsigned int n);

/**
 * How many worker lcores to use, if `asked` are asked for, or all of EAL's (0). 0, or -1 with the
 * error printed: there are less.
 */
int lcores_workers(unsigned int asked, unsigned int *n);

#endif
