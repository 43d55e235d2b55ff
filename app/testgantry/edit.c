/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Passes characters to DPDK's rdline, and detects characters that rdline drops.
 */
#define ALLOW_EXPERIMENTAL_API /* rdline_new() */
#include "edit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmdline_rdline.h>

#include "report.h"
#include "terminal.h"

struct edit {
	struct rdline *rdl;
	const struct complete_command *commands;
	size_t n_commands;
	struct candidates found;
	char *line; /* the last complete line */
	/*
	 * Position in a control sequence: a key's sequence begins with ESC, and often continues
	 * with [.
	 */
	enum {
		SEQ_NONE,
		SEQ_ESC,
		SEQ_CSI
	} seq;
	/* length of the line when rdline dropped a character; 0: none was dropped */
	size_t dropped_at;
	unsigned char dropped_byte; /* the first byte that rdline does not accept; 0: none */
};

static int
write_char(struct rdline *rdl, char c)
{
	(void)rdl;
	return putchar(c) == EOF ? -1 : 0;
}

static void
take_line(struct rdline *rdl, const char *line, unsigned int size)
{
	struct edit *e = rdline_get_opaque(rdl);

	(void)size;
	free(e->line);
	e->line = strndup(line, strcspn(line, "\n"));
}

/*
 * The completion callback, which rdline calls. State 0 (Tab): returns RDLINE_RES_COMPLETE with the
 * completion, or 1 with the first of several candidates. State -1: returns the first candidate, and
 * does not complete. All other states: returns 1 with the next candidate, or 0 after the last
 * candidate.
 */
static int
complete(struct rdline *rdl, const char *line, char *text, unsigned int size, int *state)
{
	struct edit *e = rdline_get_opaque(rdl);
	size_t common;

	if (*state <= 0) {
		complete_free(&e->found);
		complete_find(line, e->commands, e->n_commands, &e->found);
		common = complete_common(&e->found);
		if (*state == 0 && (common > e->found.typed || e->found.n == 1)) {
			snprintf(text, size, "%.*s%s", (int)(common - e->found.typed),
				e->found.text[0] + e->found.typed,
				e->found.n == 1 && e->found.blank ? " " : "");
			return RDLINE_RES_COMPLETE;
		}
		*state = 0;
	}
	if ((size_t)*state == e->found.n) {
		complete_free(&e->found);
		return 0;
	}
	snprintf(text, size, "%s", e->found.text[(*state)++]);
	return 1;
}

struct edit *
edit_open(const struct complete_command *commands, size_t n)
{
	struct edit *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->commands = commands;
	e->n_commands = n;
	e->rdl = rdline_new(write_char, take_line, complete, e);
	if (e->rdl != NULL && terminal_begin())
		return e;
	rdline_free(e->rdl);
	free(e);
	return NULL;
}

void
edit_newline(struct edit *e, const char *prompt)
{
	rdline_newline(e->rdl, prompt);
}

void
edit_redraw(struct edit *e)
{
	rdline_redisplay(e->rdl);
}

/* Returns true if the character belongs to a key's control sequence. */
static bool
is_of_sequence(struct edit *e, char c)
{
	if (e->seq == SEQ_NONE && c != '\033')
		return false;
	if (c == '\033')
		e->seq = SEQ_ESC;
	else if (e->seq == SEQ_ESC && c == '[')
		e->seq = SEQ_CSI;
	else if (e->seq == SEQ_ESC || (c >= '@' && c <= '~')) /* ECMA-48: the final byte */
		e->seq = SEQ_NONE;
	return true;
}

static size_t
line_len(const struct edit *e)
{
	return strcspn(rdline_get_buffer(e->rdl), "\n");
}

enum edit_result
edit_in(struct edit *e, char c)
{
	const bool typed = !is_of_sequence(e, c) && c >= ' ' && c <= '~' && c != '?';
	const size_t len = line_len(e);

	if ((unsigned char)c >= 0x80)
		e->dropped_byte = c;
	switch (rdline_char_in(e->rdl, c)) {
	case RDLINE_RES_VALIDATED:
		return EDIT_LINE;
	case RDLINE_RES_EOF:
		return EDIT_END;
	default:
		if (typed && line_len(e) == len)
			e->dropped_at = len;
		return EDIT_MORE;
	}
}

const char *
edit_line(struct edit *e)
{
	const size_t at = e->dropped_at;
	const unsigned char byte = e->dropped_byte;

	e->dropped_at = 0;
	e->dropped_byte = 0;
	if (e->line == NULL) {
		error_print("out of memory for a line");
		return NULL;
	}
	if (at != 0)
		error_print(
			"a line is longer than %zu bytes, the most that line editing on a terminal "
			"accepts; nothing was done: give long paths on the command line, or in a "
			"script",
			at);
	else if (byte != 0)
		error_print("a line has the byte 0x%02x, and line editing on a terminal accepts "
			    "only ASCII; nothing was done: give such paths on the command line, "
			    "or in a script",
			byte);
	if (at != 0 || byte != 0)
		return NULL;
	if (e->line[0] != '\0')
		rdline_add_history(e->rdl, e->line);
	return e->line;
}

void
edit_close(struct edit *e)
{
	terminal_end();
	complete_free(&e->found);
	rdline_free(e->rdl);
	free(e->line);
	free(e);
}
