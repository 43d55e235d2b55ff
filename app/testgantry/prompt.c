/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The prompt's commands, and the loop that runs them and checks the job.
 *
 * A line is one command. The command runs only if the whole line is valid. An argument (a path or a
 * value) extends to the end of the line. On a terminal, DPDK's rdline edits the line; other input
 * is used unchanged.
 *
 * DPDK's parser, cmdline_parse.h, is not used: its token for the rest of a line,
 * TOKEN_STRING_MULTI, cannot be completed by Tab, and its other tokens end at a blank, which a path
 * may contain.
 */
#include "prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "edit.h"
#include "quote.h"

#define PROMPT       "testgantry> "
#define LONGEST_LINE 4094
#define BLANKS       " \t"

struct prompt {
	struct app *app;
	int fd;                      /* file descriptor from which lines are read */
	struct edit *edit;           /* NULL: the input is no terminal */
	char line[LONGEST_LINE + 1]; /* the bytes of the current line that were read so far */
	size_t len;
	/* the line is too long: the remaining bytes are dropped, and the line is refused */
	bool too_long;
	bool quit;
};

/* Prints why a line is refused. The program's exit status then reports a failure. */
#define refuse(p, ...)                                                                             \
	do {                                                                                       \
		error_print(__VA_ARGS__);                                                          \
		(p)->app->failed = true;                                                           \
	} while (0)

/* ------------------------------------------------------------------ commands */

/*
 * Returns true, and prints a message, while a job runs. The user must wait for the job's end before
 * this command.
 */
static bool
refuse_during_job(struct prompt *p)
{
	if (p->app->flow == NULL)
		return false;
	refuse(p, "a job is running: stop it first, or wait");
	return true;
}

static void
do_start(struct prompt *p, const char *value)
{
	(void)value;
	if (refuse_during_job(p))
		return;
	if (job_plan(p->app) == 0)
		job_start(p->app);
	else
		p->app->failed = true;
}

static void
do_stop(struct prompt *p, const char *value)
{
	(void)value;
	if (p->app->flow == NULL)
		printf("nothing is running\n");
	job_stop(p->app, "stopped");
}

static void
do_wait(struct prompt *p, const char *value)
{
	(void)value;
	job_wait(p->app);
}

static void
do_quit(struct prompt *p, const char *value)
{
	(void)value;
	p->quit = true;
}

static void
do_show_stats(struct prompt *p, const char *value)
{
	(void)value;
	if (p->app->flow != NULL)
		flow_count(p->app->flow);
	if (p->app->report.n_rows == 0)
		printf("nothing has run yet\n");
	else
		report_print(stdout, &p->app->report);
}

static void
do_show_config(struct prompt *p, const char *value)
{
	(void)value;
	options_show(stdout, &p->app->opt);
}

static void
do_show_files(struct prompt *p, const char *value)
{
	(void)value;
	if (p->app->flow != NULL || job_plan(p->app) == 0)
		files_show(&p->app->set);
	else
		p->app->failed = true;
}

static void
do_clear_stats(struct prompt *p, const char *value)
{
	(void)value;
	if (p->app->flow != NULL)
		flow_count(p->app->flow);
	report_clear(&p->app->report);
}

static void
do_clear_files(struct prompt *p, const char *value)
{
	(void)value;
	if (!refuse_during_job(p))
		job_clear_inputs(p->app);
}

static void
do_add(struct prompt *p, const char *value)
{
	if (!refuse_during_job(p) && job_add_input(p->app, value) != 0)
		p->app->failed = true;
}

/* Runs the command "set". value: a setting's name, blanks, and the setting's value. */
static void
do_set(struct prompt *p, const char *value)
{
	size_t len = strcspn(value, BLANKS);
	char name[32];

	if (refuse_during_job(p))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)len, value);
	value += len;
	value += strspn(value, BLANKS);
	if (options_set(&p->app->opt, name, value) != 0)
		p->app->failed = true;
}

static void do_help(struct prompt *p, const char *value);

static const struct command {
	struct complete_command line;
	void (*run)(struct prompt *p, const char *value);
	const char *help;
} commands[] = {
	{{"start", NULL}, do_start, "move the files"},
	{{"stop", NULL}, do_stop, "stop the job; unfinished outputs are removed"},
	{{"wait", NULL}, do_wait, "wait until the job has ended"},
	{{"show stats", NULL}, do_show_stats, "counters per lcore, of this job or the last one"},
	{{"show config", NULL}, do_show_config, "all settings"},
	{{"show files", NULL}, do_show_files, "each input, and its output"},
	{{"clear stats", NULL}, do_clear_stats, "set the counters to 0"},
	{{"clear files", NULL}, do_clear_files, "forget the inputs"},
	{{"add", "PATH"}, do_add, "add a file or folder to the inputs"},
	{{"set", "NAME VALUE"}, do_set,
		"change a setting that show config lists; VALUE as after\n"
		"                     --NAME, or parents on, parents off; testgantry -h explains"},
	{{"help", NULL}, do_help, "this list"},
	{{"quit", NULL}, do_quit, "stop the job and leave"},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void
do_help(struct prompt *p, const char *value)
{
	char what[32];

	(void)p;
	(void)value;
	for (size_t i = 0; i < N_COMMANDS; i++) {
		snprintf(what, sizeof(what), "%s %s", commands[i].line.words,
			commands[i].line.takes != NULL ? commands[i].line.takes : "");
		printf("%-20s %s\n", what, commands[i].help);
	}
	printf("A value or path goes to the end of its line. A line that begins with # is a "
	       "comment.\nOn a terminal: Tab completes, ? lists what fits, the arrows show "
	       "earlier lines.\n");
}

/* ------------------------------------------------------------------ a line */

/*
 * If the line begins with these words, returns the text after the words and the blanks that follow.
 * Otherwise returns NULL.
 */
static const char *
after_words(const char *line, const char *words)
{
	size_t len;

	while (*words != '\0') {
		len = strcspn(words, " ");
		if (strncmp(line, words, len) != 0 || strcspn(line, BLANKS) != len)
			return NULL;
		words += len + strspn(words + len, " ");
		line += len + strspn(line + len, BLANKS);
	}
	return line;
}

static void
run_line(struct prompt *p, const char *line)
{
	const struct command *c = commands;
	const char *value = NULL;

	line += strspn(line, BLANKS);
	if (line[0] == '\0' || line[0] == '#')
		return;
	while (c < commands + N_COMMANDS && (value = after_words(line, c->line.words)) == NULL)
		c++;
	if (value == NULL)
		refuse(p, "there is no command %s; help lists them", quote_value(line));
	else if (c->line.takes == NULL && value[0] != '\0')
		refuse(p, "'%s' takes no argument, but has %s; nothing was done", c->line.words,
			quote_value(value));
	else if (c->line.takes != NULL && value[0] == '\0')
		refuse(p, "'%s' needs %s after it", c->line.words, c->line.takes);
	else
		c->run(p, value);
}

/* Returns the line's first byte that is not allowed, or -1. */
static int
control_character(const struct prompt *p)
{
	for (size_t i = 0; i < p->len; i++) {
		unsigned char c = p->line[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return c;
	}
	return -1;
}

/* Runs or refuses the line, which is complete. */
static void
end_line(struct prompt *p)
{
	int control = control_character(p);

	p->line[p->len] = '\0';
	if (!isatty(p->fd))
		/* On a terminal the user sees the typed line already. */
		printf("%s\n", control < 0 ? p->line : quote_value(p->line));
	if (p->too_long)
		refuse(p, "a line is longer than %d bytes; nothing was done", LONGEST_LINE);
	else if (control >= 0)
		refuse(p,
			"a line has the control character 0x%02x; nothing was done. Lines end with a "
			"newline alone",
			control);
	else
		run_line(p, p->line);
	p->len = 0;
	p->too_long = false;
}

static void
show_prompt(const struct prompt *p)
{
	if (!p->quit && stop_signal == 0) {
		if (p->edit != NULL)
			edit_newline(p->edit, PROMPT);
		else
			fputs(PROMPT, stdout);
	}
	fflush(stdout);
}

/* Shows the prompt again after a job's output. */
static void
show_prompt_again(const struct prompt *p)
{
	if (p->edit != NULL)
		edit_redraw(p->edit);
	else
		fputs(PROMPT, stdout);
	fflush(stdout);
}

/* ------------------------------------------------------------------ loop */

enum input {
	INPUT_NONE,
	INPUT_CHAR,
	INPUT_END,
};

/* Waits for one character or a signal. While a job runs, waits at most JOB_LOOK_MS. */
static enum input
take_char(const struct prompt *p, char *c)
{
	struct pollfd in = {.fd = p->fd, .events = POLLIN};
	ssize_t n;

	if (poll(&in, 1, p->app->flow != NULL ? JOB_LOOK_MS : -1) <= 0)
		return INPUT_NONE;
	n = read(p->fd, c, 1);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return INPUT_NONE;
	return n == 1 ? INPUT_CHAR : INPUT_END;
}

/* Handles a typed character. Returns false if the input has ended. */
static bool
take_typed(struct prompt *p, char c)
{
	const char *line;

	switch (edit_in(p->edit, c)) {
	case EDIT_LINE:
		line = edit_line(p->edit);
		if (line != NULL)
			run_line(p, line);
		else
			p->app->failed = true;
		show_prompt(p);
		return true;
	case EDIT_END:
		return false;
	default:
		fflush(stdout);
		return true;
	}
}

static void
take_in(struct prompt *p, char c)
{
	if (c == '\n') {
		end_line(p);
		show_prompt(p);
	} else if (p->len < LONGEST_LINE) {
		p->line[p->len++] = c;
	} else {
		p->too_long = true;
	}
}

static void
serve(struct prompt *p)
{
	enum input input;
	char c;

	while (stop_signal == 0 && !p->quit) {
		input = take_char(p, &c);
		if (input == INPUT_CHAR && p->edit != NULL && !take_typed(p, c))
			input = INPUT_END;
		if (input == INPUT_END) {
			if (p->len > 0) /* the last line may have no newline at its end */
				end_line(p);
			return;
		}
		if (input == INPUT_CHAR && p->edit == NULL)
			take_in(p, c);
		if (p->app->flow == NULL)
			continue;
		job_look(p->app);
		if (p->app->flow == NULL) /* the job's table was printed after the prompt */
			show_prompt_again(p);
	}
}

/* Runs the lines of --cmdline-file. */
static void
serve_file(struct prompt *p)
{
	p->fd = open(p->app->opt.cmdline_file, O_RDONLY | O_CLOEXEC);
	if (p->fd < 0) {
		refuse(p, "--cmdline-file: cannot read %s: %s",
			quote_name(p->app->opt.cmdline_file), strerror(errno));
		p->quit = true;
		return;
	}
	show_prompt(p);
	serve(p);
	close(p->fd);
	if (!p->quit && stop_signal == 0)
		/*
		 * ends the prompt's line: the prompt was shown, but the file has no further line
		 */
		putchar('\n');
}

void
prompt_run(struct app *app)
{
	struct complete_command lines[N_COMMANDS];
	static struct prompt p;

	for (size_t i = 0; i < N_COMMANDS; i++)
		lines[i] = commands[i].line;
	p.app = app;
	if (app->opt.cmdline_file[0] != '\0')
		serve_file(&p);
	p.fd = STDIN_FILENO;
	if (!p.quit && stop_signal == 0) {
		p.edit = edit_open(lines, N_COMMANDS);
		show_prompt(&p);
		serve(&p);
	}
	if (!p.quit)
		job_wait(app);
	if (p.edit != NULL)
		edit_close(p.edit);
	if (stop_signal == 0)
		job_stop(app, "stopped");
}
