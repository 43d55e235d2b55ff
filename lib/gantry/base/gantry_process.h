/* SPDX-License-Identifier: BSD-3-Clause */
/* Distinguishes the process that created an engine from its children by fork(2). */
#ifndef GANTRY_PROCESS_H
#define GANTRY_PROCESS_H

#include <sys/types.h>

/*
 * Returns 0 if `creator` is this process. Otherwise this process is a child, which cannot use the
 * device's objects: writes a line of the log and returns -ECHILD.
 */
int gantry_process_check(pid_t creator);

#endif
