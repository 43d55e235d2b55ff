/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's log type, and the macro that writes one line of it. */
#ifndef GANTRY_LOG_H
#define GANTRY_LOG_H

#include <rte_log.h>

/* "lib.gantry" in EAL's --log-level. */
extern int gantry_logtype;

/* level: ERR, WARNING, ... without RTE_LOG_. Never called for each descriptor. */
#define LOG(level, fmt, ...)                                                                       \
	rte_log(RTE_LOG_##level, gantry_logtype, "gantry: " fmt "\n", ##__VA_ARGS__)

#endif
