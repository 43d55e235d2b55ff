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

/** What a measurement has found. */
struct load_result {
	const struct options *opt;
	struct load_point point;
	double seconds;
	struct load_hist *hist; /**< [LOAD_OPS]: in cycles of the time stamp counter */
	uint64_t doorbells, wqes, cqes;
	uint64_t unsent;   /**< operations that were due, and not handed over in time */
	uint64_t verified; /**< operations */
	bool complete;     /**< no signal and no failure has ended it before its time */
};

/** The latencies of all operations; `all` is zeros. */
void load_result_sum(const struct load_result *r, struct load_hist *all);

/** Bytes that all operations have moved. */
uint64_t load_result_bytes(const struct load_result *r);

/** Says what is measured, and prints the head of the table. */
void load_report_begin(const struct options *o, const struct gantry *engine);

/** Prints a measurement. */
void load_report_point(const struct load_result *result);

/** Says what was verified beside. All is done, and right. */
void load_report_end(const struct options *o, uint64_t verified);

#endif
