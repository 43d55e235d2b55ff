/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands /gantry/... of DPDK's telemetry: doc/telemetry.md. */
#ifndef GANTRY_TELEMETRY_H
#define GANTRY_TELEMETRY_H

/* Registers the commands, when it is called first. Any thread. */
void gantry_telemetry_start(void);

#endif
