/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose engine it is, after fork(2). */
#ifndef GANTRY_PROCESS_H
#define GANTRY_PROCESS_H

#include <sys/types.h>

/* 0: `creator` is this process. -ECHILD, and the log says so: it is a parent, to whom the device's objects belong. */
int gantry_process_check(pid_t creator);

#endif
