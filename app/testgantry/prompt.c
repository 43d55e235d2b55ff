/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Commands of the prompt, and the loop that serves them beside a run on the same lcore.
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

static struct app *the_app; /* cmdline's callbacks get one pointer, fixed at build time */

/* "set NAME" of these; "parents" besides. */
#define SETTING_NAMES                                                                              \
	"mode#out#chunk#depth#burst#ring-size#copy-path#device#nb-cores#stats-period#parents"

/* True, with a message, when a command needs a run to have ended. */
static bool
refuse_while_running(struct cmdline *cl)
{
	if (the_app->flow == NULL)
		return false;
	cmdline_printf(cl, "a run is going on: stop it first, or wait\n");
	return true;
}

/* ------------------------------------------------------------------ start, stop, wait, quit */

struct verb_result {
	cmdline_fixed_string_t verb;
};

static void
verb_start(struct cmdline *cl)
{
	if (refuse_while_running(cl))
		return;
	if (run_plan(the_app) == 0)
		run_start(the_app);
	else
		the_app->failed = true;
}

static void
verb_stop(struct cmdline *cl)
{
	if (the_app->flow == NULL)
		cmdline_printf(cl, "nothing is running\n");
	run_stop(the_app, "stopped");
}

static void
verb_help(struct cmdline *cl)
{
	cmdline_printf(cl,
		"start                move the files\n"
		"stop                 end the run; what is unfinished is removed\n"
		"wait                 until the run has ended\n"
		"show stats           the table per lcore, of this run or the last\n"
		"show config          all settings\n"
		"show files           what goes where\n"
		"clear stats          count from now on\n"
		"clear files          forget the inputs\n"
		"add PATH             one more file or folder\n"
		"set NAME VALUE       mode, out, chunk, depth, burst, ring-size, copy-path, "
		"device,\n"
		"                     nb-cores, stats-period: as --NAME VALUE (testgantry -h)\n"
		"set parents on|off   keep the inputs' whole paths\n"
		"quit                 stop and leave\n");
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
		run_wait(the_app);
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
	if (the_app->flow != NULL || run_plan(the_app) == 0)
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
		if (!refuse_while_running(cl))
			run_clear_inputs(the_app);
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

	if (refuse_while_running(cl))
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

	if (!refuse_while_running(cl))
		run_add_input(the_app, r->value);
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

/* Takes one character, if there is one; without a run, waits for it or for a signal. */
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
			run_wait(the_app);
			return;
		}
		if (input == INPUT_CHAR && cmdline_in(cl, &c, 1) < 0)
			return;
		if (the_app->flow == NULL)
			continue;
		run_step(the_app);
		if (the_app->flow == NULL) /* its table came after the prompt */
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
		run_stop(app, "stopped");
	cmdline_stdin_exit(cl);
	return 0;
}
