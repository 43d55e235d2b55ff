/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands /gantry/... of DPDK's telemetry. doc/telemetry.md describes their answers. */
#ifndef GANTRY_TELEMETRY_H
#define GANTRY_TELEMETRY_H

/* Registers the commands. Later calls do nothing. Any thread. */
void gantry_telemetry_start(void);

#endif
