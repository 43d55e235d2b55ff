/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The mover: a file set, cut into chunks, through the workers and out again.
 *
 *     flow_create -> flow_step ... until it is not FLOW_BUSY or FLOW_IDLE -> flow_destroy
 *
 * Main lcore only. Calls that fail print the error.
 */
#ifndef TESTGANTRY_FLOW_H
#define TESTGANTRY_FLOW_H

#include "files.h"
#include "options.h"
#include "report.h"

struct flow;

enum flow_state {
	FLOW_BUSY,   /**< call again */
	FLOW_IDLE,   /**< nothing to do but wait for completions: call again a little later */
	FLOW_DONE,   /**< every file is verified and has its name */
	FLOW_FAILED, /**< the error is printed */
};

/**
 * Opens the device and starts the workers. The set and the report stay the caller's, and must
 * outlive the flow. @return 0 or -1.
 */
int flow_create(const struct options *o, struct file_set *set, struct report *report,
	struct flow **flow);

/** One round: collects completions, feeds the workers, verifies a little. */
enum flow_state flow_step(struct flow *flow);

/** Reads the workers' counters into the report. */
void flow_count(struct flow *flow);

void flow_progress(const struct flow *flow, struct progress *p);

/**
 * Stops the workers, updates the report a last time, closes the device. Unfinished outputs are no
 * longer open: outputs_discard() was called.
 * @return 0; -1 descriptors were lost.
 */
int flow_destroy(struct flow *flow);

#endif
