/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A run from its start to its last line: what the command line does once and the prompt may repeat.
 */
#ifndef TESTGANTRY_RUN_H
#define TESTGANTRY_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "files.h"
#include "flow.h"
#include "options.h"
#include "report.h"

/** What the program knows. */
struct app {
	struct options opt;
	char **inputs; /**< what to move, each allocated */
	int n_inputs;
	struct file_set set;  /**< of the run */
	struct flow *flow;    /**< of the run; NULL when there is none */
	struct report report; /**< of the run, or of the last */
	uint64_t start_ns;
	uint64_t next_table_ns;
	bool failed; /**< a run did not end well */
};

/** The signal that asks the program to end, or 0. Written by the handler. */
extern volatile sig_atomic_t stop_signal;

/** Adds an input. 0, or -1 with the error printed. */
int run_add_input(struct app *app, const char *path);

void run_clear_inputs(struct app *app);

/** Plans the files: what is wrong with them shows before anything is opened. 0 or -1. */
int run_plan(struct app *app);

/** Opens the device and starts on what was planned. 0, or -1 with the error printed. */
int run_start(struct app *app);

/** One round of the run; ends it, with its table, when it is done or has failed. */
void run_step(struct app *app);

/** Rounds until the run has ended or a signal has come. */
void run_wait(struct app *app);

/** Ends the run before it is done. reason: what asked for it. */
void run_stop(struct app *app, const char *reason);

#endif
