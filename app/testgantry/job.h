/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A job plans, moves and verifies the inputs, and prints the result. The command line runs one job;
 * the prompt may run several, one after the other.
 */
#ifndef TESTGANTRY_JOB_H
#define TESTGANTRY_JOB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "files.h"
#include "flow.h"
#include "options.h"
#include "report.h"

/** The state of the program. */
struct app {
	struct options opt;
	char **inputs; /**< paths of the inputs, each allocated */
	int n_inputs;
	struct file_set set;  /**< of the running or the last job */
	struct flow *flow;    /**< of the running job; NULL: no job runs */
	struct report report; /**< of the running or the last job */
	uint64_t start_ns;
	uint64_t next_table_ns;
	bool failed; /**< a job failed or was stopped */
};

/**
 * The first signal that asks the program to end, or 0. A signal handler writes it, on any thread.
 */
extern atomic_int stop_signal;

/** Number of signals that have come. */
extern atomic_int n_signals;

/** Returned if a signal has stopped the job. */
#define JOB_STOPPED 1

/** Prints that a signal has come, before waiting for descriptors in flight. */
void job_say_stopping(void);

/** Prints which signal stopped the job, and what was done before. Returns JOB_STOPPED. */
int job_say_stopped(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Adds an input. 0, or -1 with the error printed. */
int job_add_input(struct app *app, const char *path);

void job_clear_inputs(struct app *app);

/** Plans the files, before anything is opened. 0, or -1 with the error printed. */
int job_plan(struct app *app);

/** Opens the device and starts to move the planned files. 0, or -1 with the error printed. */
int job_start(struct app *app);

/** Milliseconds between two calls of job_look(). */
#define JOB_LOOK_MS 2

/** Shows the job's progress. Ends the job, and prints its table, when it is done or has failed. */
void job_look(struct app *app);

/** Calls job_look() until the job has ended or a signal has come. */
void job_wait(struct app *app);

/** Stops the job if one runs. reason: the printed cause. */
void job_stop(struct app *app, const char *reason);

#endif
