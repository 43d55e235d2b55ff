/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Editing of the prompt's line on a terminal, by DPDK's rdline: arrows, history, Tab.
 *
 *     edit_open -> edit_newline -> edit_in ... -> the line -> edit_newline ... -> edit_close
 */
#ifndef TESTGANTRY_EDIT_H
#define TESTGANTRY_EDIT_H

#include "complete.h"

struct edit;

/** What a character has done. */
enum edit_result {
	EDIT_MORE,
	EDIT_LINE, /**< the line is complete: edit_line() */
	EDIT_END,  /**< Ctrl-D in an empty line */
};

/**
 * Takes over the terminal of standard input. NULL: it is none, and lines come as they are. n: of
 * the commands.
 */
struct edit *edit_open(const struct complete_command *commands, size_t n);

/** Shows the prompt, for a new line. */
void edit_newline(struct edit *e, const char *prompt);

/** Shows the prompt again, with what is typed, behind other output. */
void edit_redraw(struct edit *e);

enum edit_result edit_in(struct edit *e, char c);

/** The line, until the next call; NULL, with the error printed: not all that was typed is in it. */
const char *edit_line(struct edit *e);

/** Gives the terminal back. */
void edit_close(struct edit *e);

#endif
