/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The prompt's commands, and the loop that serves them and the job on one lcore.
 */
#include "prompt.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_string.h>
#include <cmdline_socket.h>

#define PROMPT "testgantry> "

static struct app *the_app; /* cmdline cannot pass it to its callbacks */

/* The names that "set" takes. */
#define SETTING_NAMES                                                                              \
	"mode#out#chunk#depth#burst#ring-size#copy-path#policy#device#nb-cores#stats-period#parents"

/* True, with a message, while a job runs: the command has to wait for its end. */
static bool
refuse_during_job(struct cmdline *cl)
{
	if (the_app->flow == NULL)
		return false;
	cmdline_printf(cl, "a job is running: stop it first, or wait\n");
	return true;
}

/* ------------------------------------------------------------------ start, stop, wait, quit */

struct verb_result {
	cmdline_fixed_string_t verb;
};

static void
verb_start(struct cmdline *cl)
{
	if (refuse_during_job(cl))
		return;
	if (job_plan(the_app) == 0)
		job_start(the_app);
	else
		the_app->failed = true;
}

static void
verb_stop(struct cmdline *cl)
{
	if (the_app->flow == NULL)
		cmdline_printf(cl, "nothing is running\n");
	job_stop(the_app, "stopped");
}

static void
verb_help(struct cmdline *cl)
{
	cmdline_printf(cl,
		"start                move the files\n"
		"stop                 stop the job; unfinished outputs are removed\n"
		"wait                 wait until the job has ended\n"
		"show stats           counters per lcore, of this job or the last one\n"
		"show config          all settings\n"
		"show files           the inputs and the output each becomes\n"
		"clear stats          count from 0 again\n"
		"clear files          forget the inputs\n"
		"add PATH             add a file or folder to the inputs\n"
		"set NAME VALUE       change a setting: mode, out, chunk, depth, burst, "
		"ring-size,\n"
		"                     copy-path, policy, device, nb-cores, stats-period. VALUE as after\n"
		"                     --NAME: testgantry -h explains\n"
		"set parents on|off   on: keep the whole paths of the inputs\n"
		"quit                 stop the job and leave\n");
}

static void
on_verb(void *parsed, struct cmdline *cl, void *data)
{
	const struct verb_result *r = parsed;

	if (strcmp(r->verb, "start") == 0)
		verb_start(cl);
	else if (strcmp(r->verb, "stop") == 0)
		verb_stop(cl);
	else if (strcmp(r->verb, "wait") == 0)
		job_wait(the_app);
	else if (strcmp(r->verb, "help") == 0)
		verb_help(cl);
	else
		cmdline_quit(cl);
}

static cmdline_parse_token_string_t tok_verb =
	TOKEN_STRING_INITIALIZER(struct verb_result, verb, "start#stop#wait#help#quit");

static cmdline_parse_inst_t cmd_verb = {
	.f = on_verb,
	.help_str = "start | stop | wait | help | quit",
	.tokens = {(void *)&tok_verb, NULL},
};

/* ------------------------------------------------------------------ show, clear */

struct object_result {
	cmdline_fixed_string_t verb;
	cmdline_fixed_string_t object;
};

static void
show_stats(struct cmdline *cl)
{
	if (the_app->flow != NULL)
		flow_count(the_app->flow);
	if (the_app->report.n_rows == 0)
		cmdline_printf(cl, "nothing has run yet\n");
	else
		report_print(stdout, &the_app->report);
}

static void
show_files(void)
{
	if (the_app->flow != NULL || job_plan(the_app) == 0)
		files_show(&the_app->set);
	fflush(stdout);
}

static void
on_show(void *parsed, struct cmdline *cl, void *data)
{
	const struct object_result *r = parsed;

	if (strcmp(r->object, "stats") == 0)
		show_stats(cl);
	else if (strcmp(r->object, "files") == 0)
		show_files();
	else
		options_show(stdout, &the_app->opt);
	fflush(stdout);
}

static void
on_clear(void *parsed, struct cmdline *cl, void *data)
{
	const struct object_result *r = parsed;

	if (strcmp(r->object, "files") == 0) {
		if (!refuse_during_job(cl))
			job_clear_inputs(the_app);
		return;
	}
	if (the_app->flow != NULL)
		flow_count(the_app->flow);
	report_clear(&the_app->report);
}

static cmdline_parse_token_string_t tok_show =
	TOKEN_STRING_INITIALIZER(struct object_result, verb, "show");
static cmdline_parse_token_string_t tok_show_what =
	TOKEN_STRING_INITIALIZER(struct object_result, object, "stats#config#files");

static cmdline_parse_inst_t cmd_show = {
	.f = on_show,
	.help_str = "show stats | config | files",
	.tokens = {(void *)&tok_show, (void *)&tok_show_what, NULL},
};

static cmdline_parse_token_string_t tok_clear =
	TOKEN_STRING_INITIALIZER(struct object_result, verb, "clear");
static cmdline_parse_token_string_t tok_clear_what =
	TOKEN_STRING_INITIALIZER(struct object_result, object, "stats#files");

static cmdline_parse_inst_t cmd_clear = {
	.f = on_clear,
	.help_str = "clear stats | files",
	.tokens = {(void *)&tok_clear, (void *)&tok_clear_what, NULL},
};

/* ------------------------------------------------------------------ set, add */

struct text_result {
	cmdline_fixed_string_t verb;
	cmdline_fixed_string_t name;
	cmdline_multi_string_t value;
};

static void
set_parents(struct cmdline *cl, const char *value)
{
	if (strcmp(value, "on") == 0 || strcmp(value, "off") == 0)
		the_app->opt.parents = strcmp(value, "on") == 0;
	else
		cmdline_printf(cl, "set parents on, or off\n");
}

static void
on_set(void *parsed, struct cmdline *cl, void *data)
{
	const struct text_result *r = parsed;

	if (refuse_during_job(cl))
		return;
	if (strcmp(r->name, "parents") == 0)
		set_parents(cl, r->value);
	else
		options_set(&the_app->opt, r->name, r->value);
}

static void
on_add(void *parsed, struct cmdline *cl, void *data)
{
	const struct text_result *r = parsed;

	if (!refuse_during_job(cl))
		job_add_input(the_app, r->value);
}

static cmdline_parse_token_string_t tok_set =
	TOKEN_STRING_INITIALIZER(struct text_result, verb, "set");
static cmdline_parse_token_string_t tok_set_name =
	TOKEN_STRING_INITIALIZER(struct text_result, name, SETTING_NAMES);
static cmdline_parse_token_string_t tok_value =
	TOKEN_STRING_INITIALIZER(struct text_result, value, TOKEN_STRING_MULTI);

static cmdline_parse_inst_t cmd_set = {
	.f = on_set,
	.help_str = "set NAME VALUE",
	.tokens = {(void *)&tok_set, (void *)&tok_set_name, (void *)&tok_value, NULL},
};

static cmdline_parse_token_string_t tok_add =
	TOKEN_STRING_INITIALIZER(struct text_result, verb, "add");

static cmdline_parse_inst_t cmd_add = {
	.f = on_add,
	.help_str = "add PATH",
	.tokens = {(void *)&tok_add, (void *)&tok_value, NULL},
};

static cmdline_parse_ctx_t commands[] = {
	&cmd_verb,
	&cmd_show,
	&cmd_clear,
	&cmd_set,
	&cmd_add,
	NULL,
};

/* ------------------------------------------------------------------ loop */

enum input {
	INPUT_NONE,
	INPUT_CHAR,
	INPUT_END,
};

/* Takes one character if there is one. While no job runs, waits for one or for a signal. */
static enum input
take_char(char *c)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	ssize_t n;

	if (poll(&in, 1, the_app->flow != NULL ? 0 : -1) <= 0)
		return INPUT_NONE;
	n = read(STDIN_FILENO, c, 1);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return INPUT_NONE;
	return n == 1 ? INPUT_CHAR : INPUT_END;
}

static void
serve(struct cmdline *cl)
{
	enum input input;
	char c;

	while (stop_signal == 0) {
		input = take_char(&c);
		if (input == INPUT_END) {
			job_wait(the_app);
			return;
		}
		if (input == INPUT_CHAR && cmdline_in(cl, &c, 1) < 0)
			return;
		if (the_app->flow == NULL)
			continue;
		job_step(the_app);
		if (the_app->flow == NULL) /* its table was printed behind the prompt */
			cmdline_printf(cl, PROMPT);
	}
}

int
prompt_run(struct app *app)
{
	struct cmdline *cl;

	the_app = app;
	cl = cmdline_stdin_new(commands, PROMPT);
	if (cl == NULL) {
		error_print("cannot make a prompt on standard input");
		return -1;
	}
	serve(cl);
	if (stop_signal == 0)
		job_stop(app, "stopped");
	cmdline_stdin_exit(cl);
	return 0;
}
