/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Starts a job, checks its progress, and prints how it ended.
 */
#include "job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "terminal.h"

atomic_int stop_signal, n_signals;

/* ------------------------------------------------------------------ signals */

void
job_say_stopping(void)
{
	progress_end();
	printf("stopping; a second signal ends the program at once\n");
	fflush(stdout);
}

int
job_say_stopped(const char *format, ...)
{
	char done[256];
	va_list args;

	va_start(args, format);
	vsnprintf(done, sizeof(done), format, args);
	va_end(args);
	error_print("stopped by %s: %s", strsignal(stop_signal), done);
	return JOB_STOPPED;
}

/* ------------------------------------------------------------------ inputs */

int
job_add_input(struct app *app, const char *path)
{
	char **grown = realloc(app->inputs, (app->n_inputs + 1) * sizeof(*grown));

	if (grown != NULL) {
		app->inputs = grown;
		grown[app->n_inputs] = strdup(path);
	}
	if (grown == NULL || grown[app->n_inputs] == NULL) {
		error_print("out of memory for the list of inputs");
		return -1;
	}
	app->n_inputs++;
	return 0;
}

void
job_clear_inputs(struct app *app)
{
	for (int i = 0; i < app->n_inputs; i++)
		free(app->inputs[i]);
	free(app->inputs);
	app->inputs = NULL;
	app->n_inputs = 0;
}

int
job_plan(struct app *app)
{
	const char *out = app->opt.mode == MODE_SIG ? NULL : app->opt.out;

	files_free(&app->set);
	if (out == NULL && app->opt.interactive) {
		error_print("--mode sig has no prompt: leave out -i");
		return -1;
	}
	if (out == NULL && app->opt.out[0] != '\0') {
		error_print("--mode sig writes no files: leave out --out");
		return -1;
	}
	if (app->opt.mode == MODE_SEND) {
		error_print("--mode send: messages need two processes: add --listen or --connect");
		return -1;
	}
	if (out != NULL && out[0] == '\0') {
		error_print("no output folder: --out DIR; testgantry -h explains");
		return -1;
	}
	return job_plan_inputs(app, out);
}

int
job_plan_inputs(struct app *app, const char *out)
{
	if (app->n_inputs == 0) {
		error_print(
			"no files to move: give some after the options; testgantry -h explains");
		return -1;
	}
	if (files_plan(&app->set, app->inputs, app->n_inputs, out, app->opt.parents,
		    app->opt.skip_unreadable) != 0)
		return -1;
	if (app->set.n > 0)
		return 0;
	error_print("no files to move: the inputs contain no regular files%s",
		app->set.n_unreadable != 0 ? " that can be read" : "");
	return -1;
}

/* ------------------------------------------------------------------ start and end */

int
job_start(struct app *app)
{
	if (flow_create(&app->opt, &app->set, &app->report, &app->flow) != 0) {
		app->failed = true;
		return -1;
	}
	app->start_ns = app->report.base_ns;
	app->next_table_ns = app->start_ns + app->opt.stats_period * NSEC_PER_S;
	return 0;
}

static void
say_skipped(const struct file_set *set)
{
	if (set->n_skipped_links != 0)
		printf("skipped %zu symbolic links in folders\n", set->n_skipped_links);
	if (set->n_skipped_special != 0)
		printf("skipped %zu devices, sockets or pipes in folders\n",
			set->n_skipped_special);
}

static void
say_done(const struct app *app, const struct progress *p, double seconds)
{
	progress_print_moved(p);
	printf("moved and verified in %.2f s (%.2f GB/s with reading, writing and verifying): "
	       "every byte is equal",
		seconds, seconds > 0 ? p->bytes_moved / 1e9 / seconds : 0);
	files_end_line(&app->set);
}

/*
 * Removes unfinished outputs before the workers are stopped, because stopping takes long if the
 * device hangs.
 */
static void
remove_unfinished(struct app *app)
{
	flow_stop_files(app->flow);
	if (n_signals >= 2) {
		terminal_end();
		_exit(128 + stop_signal);
	}
	if (stop_signal != 0)
		job_say_stopping();
}

static void
job_end(struct app *app, bool done, const char *reason)
{
	double seconds = (now_ns() - app->start_ns) / 1e9;
	struct progress p;

	remove_unfinished(app);
	flow_progress(app->flow, &p);
	if (flow_destroy(app->flow) != 0)
		done = false;
	app->flow = NULL;
	progress_end();
	if (app->opt.interactive)
		putchar('\n'); /* the prompt has written to the terminal's current line */
	report_print(stdout, &app->report);
	say_skipped(&app->set);
	if (done)
		say_done(app, &p, seconds);
	else
		error_print("%s: %zu of %zu files were verified and stay; unfinished outputs are "
			    "removed",
			reason, p.files_verified, p.files_total);
	fflush(stdout);
	if (!done)
		app->failed = true;
}

void
job_stop(struct app *app, const char *reason)
{
	if (app->flow != NULL)
		job_end(app, false, reason);
}

/* ------------------------------------------------------------------ looking */

static void
show_table(struct app *app)
{
	uint64_t now = now_ns();

	if (app->opt.stats_period == 0 || now < app->next_table_ns)
		return;
	app->next_table_ns = now + app->opt.stats_period * NSEC_PER_S;
	flow_count(app->flow);
	progress_end();
	report_print(stdout, &app->report);
}

static void
show_progress(struct app *app)
{
	struct progress p;

	if (app->opt.interactive) /* the prompt has written to the terminal's current line */
		return;
	flow_progress(app->flow, &p);
	progress_show(&p);
}

void
job_look(struct app *app)
{
	switch (flow_look(app->flow)) {
	case MOVER_DONE:
		job_end(app, true, "done");
		return;
	case MOVER_FAILED:
		job_end(app, false, "failed");
		return;
	case MOVER_BUSY:
		break;
	}
	show_progress(app);
	show_table(app);
}

void
job_wait(struct app *app)
{
	while (app->flow != NULL && stop_signal == 0) {
		usleep(JOB_LOOK_MS * 1000);
		job_look(app);
	}
}
