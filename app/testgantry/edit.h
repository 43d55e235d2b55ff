/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Edits the prompt's line on a terminal, by DPDK's rdline: arrows, history, Tab.
 *
 *     edit_open -> edit_newline -> edit_in ... -> the line -> edit_newline ... -> edit_close
 */
#ifndef TESTGANTRY_EDIT_H
#define TESTGANTRY_EDIT_H

#include "complete.h"

struct edit;

/** The effect of a typed character. */
enum edit_result {
	EDIT_MORE,
	EDIT_LINE, /**< the line is complete; edit_line() returns it */
	EDIT_END,  /**< Ctrl-D in an empty line */
};

/**
 * Takes over the terminal of standard input. Returns NULL if standard input is no terminal; then
 * lines are not edited. n: number of commands.
 */
struct edit *edit_open(const struct complete_command *commands, size_t n);

/** Shows the prompt for a new line. */
void edit_newline(struct edit *e, const char *prompt);

/** Shows the prompt and the typed characters again, after other output. */
void edit_redraw(struct edit *e);

enum edit_result edit_in(struct edit *e, char c);

/**
 * Returns the line, valid until the next call. Returns NULL, with the error printed, if some typed
 * characters were dropped.
 */
const char *edit_line(struct edit *e);

/** Restores the terminal. */
void edit_close(struct edit *e);

#endif
