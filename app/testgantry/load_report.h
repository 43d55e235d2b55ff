/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Prints the measurements of a load.
 */
#ifndef TESTGANTRY_LOAD_REPORT_H
#define TESTGANTRY_LOAD_REPORT_H

#include "load_conf.h"
#include "load_hist.h"
#include "options.h"

/** The result of a measurement. */
struct load_result {
	const struct options *opt;
	struct load_point point;
	double seconds;
	/** [LOAD_OPS]: latencies of each operation, in cycles of the time stamp counter */
	struct load_hist *hist;
	uint64_t doorbells, wqes, cqes;
	/** operations that were due but not submitted before the measurement ended */
	uint64_t unsent;
	uint64_t verified; /**< number of verified operations */
	bool complete;     /**< neither a signal nor a failure ended the measurement early */
};

/** Adds the latencies of all operations to *all, which the caller has zeroed. */
void load_result_sum(const struct load_result *r, struct load_hist *all);

/** Returns the number of bytes that all operations have moved. */
uint64_t load_result_bytes(const struct load_result *r);

/** Prints what is measured, and the header of the table. */
void load_report_begin(const struct options *o, const struct gantry *engine);

/** Prints the rows of one measurement. */
void load_report_point(const struct load_result *result);

/** Prints how many operations were verified. Called if all points succeeded. */
void load_report_end(const struct options *o, uint64_t verified);

#endif
