/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A file set on its way through the workers.
 *
 *     flow_create -> flow_look ... until it is not MOVER_BUSY -> flow_stop_files -> flow_destroy
 *
 * Main lcore only. Calls that fail print the error.
 */
#ifndef TESTGANTRY_FLOW_H
#define TESTGANTRY_FLOW_H

#include "files.h"
#include "mover.h"
#include "options.h"
#include "report.h"

struct flow;

/**
 * Opens the device and starts the workers. The set and the report stay the caller's, and must
 * outlive the flow. @return 0 or -1.
 */
int flow_create(const struct options *o, struct file_set *set, struct report *report,
	struct flow **flow);

/** What has become of it so far. Prints what ended it, and warns if nothing comes back. */
enum mover_state flow_look(struct flow *flow);

/** Reads the workers' counters into the report. */
void flow_count(struct flow *flow);

/** As of the last look. */
void flow_progress(const struct flow *flow, struct progress *p);

/** Nothing is read or written any more. Removes unfinished outputs. */
void flow_stop_files(struct flow *flow);

/**
 * Stops the workers, updates the report a last time, closes the device. If the device hangs, this
 * takes until its deadlines have passed.
 * @return 0; -1 descriptors were lost.
 */
int flow_destroy(struct flow *flow);

#endif
