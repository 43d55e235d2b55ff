/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints answers, as text or as JSON. The JSON has no address and no name of the machine, the device or its ports. */
#ifndef PROBE_REPORT_H
#define PROBE_REPORT_H

#include "probe.h"
#include "probe_device.h"

/* The first lines, and the last ones. */
void probe_report_begin(const struct probe_device *device, bool json);
void probe_report_end(bool json);

/* The subject of the answers that follow. */
void probe_report_group(const char *title, bool json);

/* An answer. first: none was printed before. */
void probe_report(const struct probe *probe, const struct probe_answer *answer, bool json,
	bool first);

#endif
