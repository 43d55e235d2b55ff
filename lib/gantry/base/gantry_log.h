/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's log type, and the macro that writes a line of the log. */
#ifndef GANTRY_LOG_H
#define GANTRY_LOG_H

#include <rte_log.h>

/* The number of the log type "lib.gantry" (EAL's option --log-level). */
extern int gantry_logtype;

/*
 * Writes a line of the log. level: the end of a name RTE_LOG_*, for example ERR or WARNING. The
 * path of descriptors writes no lines; it counts instead.
 */
#define LOG(level, fmt, ...)                                                                       \
	rte_log(RTE_LOG_##level, gantry_logtype, "gantry: " fmt "\n", ##__VA_ARGS__)

#endif
