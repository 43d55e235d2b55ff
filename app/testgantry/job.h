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
	struct file_set set;  /**< files of the running job, or of the last job */
	struct flow *flow;    /**< flow of the running job; NULL: no job runs */
	struct report report; /**< report of the running job, or of the last job */
	uint64_t start_ns;
	uint64_t next_table_ns;
	bool failed; /**< a job failed or was stopped */
};

/**
 * The first signal that asks the program to end, or 0. A signal handler writes the number, on any
 * thread.
 */
extern atomic_int stop_signal;

/** Number of signals received. */
extern atomic_int n_signals;

/** Returned by functions that a signal has stopped. */
#define JOB_STOPPED 1

/** Prints that a signal was received, before the program waits for descriptors in flight. */
void job_say_stopping(void);

/**
 * Prints the signal that stopped the job, and the job's results until then. Returns JOB_STOPPED.
 */
int job_say_stopped(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Adds an input. Returns 0, or -1 with the error printed. */
int job_add_input(struct app *app, const char *path);

void job_clear_inputs(struct app *app);

/**
 * Finds the files to move, before any file or device is opened. Returns 0, or -1 with the error
 * printed.
 */
int job_plan(struct app *app);

/**
 * The part of job_plan() that finds the files. out: the output folder, or NULL. Returns 0, or -1
 * with the error printed.
 */
int job_plan_inputs(struct app *app, const char *out);

/**
 * Opens the device and starts to move the planned files. Returns 0, or -1 with the error printed.
 */
int job_start(struct app *app);

/** Milliseconds between two calls of job_look(). */
#define JOB_LOOK_MS 2

/** Shows the job's progress. If the job is done or has failed, ends it and prints its table. */
void job_look(struct app *app);

/** Calls job_look() until the job has ended or a signal has come. */
void job_wait(struct app *app);

/** Stops the job, if a job runs. reason: the cause, which is printed. */
void job_stop(struct app *app, const char *reason);

#endif
