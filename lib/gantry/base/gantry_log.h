/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's log type, and the macro that writes a line of the log. */
#ifndef GANTRY_LOG_H
#define GANTRY_LOG_H

#include <rte_log.h>

/* "lib.gantry" in EAL's --log-level. */
extern int gantry_logtype;

/*
 * level: ERR, WARNING, ... without RTE_LOG_. Not for the path of descriptors, which counts instead.
 */
#define LOG(level, fmt, ...)                                                                       \
	rte_log(RTE_LOG_##level, gantry_logtype, "gantry: " fmt "\n", ##__VA_ARGS__)

#endif
