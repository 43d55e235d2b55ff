/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints answers, as text or as JSON. The JSON contains no address, and no name of the machine, the
 * device or its ports.
 */
#ifndef PROBE_REPORT_H
#define PROBE_REPORT_H

#include "probe.h"
#include "probe_device.h"

/* Print the lines before the first answer and after the last answer. */
void probe_report_begin(const struct probe_device *device, bool json);
void probe_report_end(bool json);

/* Prints the subject of the answers that follow. */
void probe_report_group(const char *title, bool json);

/* Prints an answer. first: this is the first answer. */
void probe_report(const struct probe *probe, const struct probe_answer *answer, bool json,
	bool first);

#endif
