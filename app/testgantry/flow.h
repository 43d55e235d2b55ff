/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A run of the workers that moves a file set.
 *
 *     flow_create -> flow_look ... until it is not MOVER_BUSY -> flow_stop_files -> flow_destroy
 *
 * Only the main lcore calls these functions. Calls that fail print the error.
 */
#ifndef TESTGANTRY_FLOW_H
#define TESTGANTRY_FLOW_H

#include "files.h"
#include "mover.h"
#include "options.h"
#include "report.h"

struct flow;

/**
 * Opens the device and starts the workers. The caller owns the set and the report, which must
 * outlive the flow. @return 0 or -1.
 */
int flow_create(const struct options *o, struct file_set *set, struct report *report,
	struct flow **flow);

/**
 * Returns the state of the run. If the run has ended, prints the reason. Warns if no completion
 * comes.
 */
enum mover_state flow_look(struct flow *flow);

/** Reads the workers' counters into the report. */
void flow_count(struct flow *flow);

/** Returns the progress of the last call of flow_look(). */
void flow_progress(const struct flow *flow, struct progress *p);

/** Stops reading and writing. Removes unfinished outputs. */
void flow_stop_files(struct flow *flow);

/**
 * Stops the workers, updates the report a last time, and closes the device. If the device hangs,
 * the function waits for the engine's deadlines.
 * @return 0, or -1 if descriptors were lost.
 */
int flow_destroy(struct flow *flow);

#endif
