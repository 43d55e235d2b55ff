/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A job: the inputs are planned, moved and verified, and the result is printed. The command line
 * does one job; at the prompt there may be many, one after the other.
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
	char **inputs; /**< what to move, each allocated */
	int n_inputs;
	struct file_set set;  /**< of the job that runs or ran last */
	struct flow *flow;    /**< of the job that runs; NULL when none does */
	struct report report; /**< of the job that runs or ran last */
	uint64_t start_ns;
	uint64_t next_table_ns;
	bool failed; /**< a job failed or was stopped */
};

/**
 * The first signal that asks the program to end, or 0. Written by the handler, on whatever thread
 * the kernel chose.
 */
extern atomic_int stop_signal;

/** How many have come. */
extern atomic_int n_signals;

/** What a job returns that a signal has stopped. */
#define JOB_STOPPED 1

/** Says that a signal has come, before what is in flight is waited for. */
void job_say_stopping(void);

/** Says by which signal it was stopped, and what was done by then. Returns JOB_STOPPED. */
int job_say_stopped(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Adds an input. 0, or -1 with the error printed. */
int job_add_input(struct app *app, const char *path);

void job_clear_inputs(struct app *app);

/** Plans the files, before anything is opened. 0, or -1 with the error printed. */
int job_plan(struct app *app);

/** Opens the device and starts to move the planned files. 0, or -1 with the error printed. */
int job_start(struct app *app);

/** Milliseconds from one look at a job to the next. */
#define JOB_LOOK_MS 2

/** Shows how far the job is. Ends it, and prints its table, when it is done or has failed. */
void job_look(struct app *app);

/** Looks until the job has ended or a signal has come. */
void job_wait(struct app *app);

/** Stops the job if one runs. reason: printed as the cause. */
void job_stop(struct app *app, const char *reason);

#endif
