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
	struct load_hist *hist; /**< [LOAD_OPS]: in cycles of the time stamp counter */
	uint64_t doorbells, wqes, cqes;
	uint64_t unsent;   /**< operations that were due but not submitted in time */
	uint64_t verified; /**< operations */
	bool complete;     /**< neither a signal nor a failure ended it early */
};

/** *all: the latencies of all operations; it must be zeros. */
void load_result_sum(const struct load_result *r, struct load_hist *all);

/** Bytes that all operations have moved. */
uint64_t load_result_bytes(const struct load_result *r);

/** Prints what is measured, and the head of the table. */
void load_report_begin(const struct options *o, const struct gantry *engine);

/** Prints a measurement. */
void load_report_point(const struct load_result *result);

/** Prints what was verified. Called if all points succeeded. */
void load_report_end(const struct options *o, uint64_t verified);

#endif
