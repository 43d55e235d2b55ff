/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What may follow in a line of the prompt: words of commands, names and values of settings, paths.
 */
#ifndef TESTGANTRY_COMPLETE_H
#define TESTGANTRY_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#define COMPLETE_MAX 128 /**< candidates; others are left out */

/** A command, as the prompt's table has it. */
struct complete_command {
	const char *words; /**< one blank between them */
	const char *takes; /**< what follows them, to the end of the line; NULL: nothing */
};

/** What may stand where the line's last word begins, each allocated. A folder ends with a slash. */
struct candidates {
	size_t n;
	char *text[COMPLETE_MAX];
	size_t typed; /**< characters of them that stand there */
	/** a blank may follow: they are no values, which go to the end of their line */
	bool blank;
};

/** Finds the candidates for a line. n: of the commands. */
void complete_find(const char *line, const struct complete_command *commands, size_t n,
	struct candidates *found);

void complete_free(struct candidates *found);

/** How many characters all candidates begin with alike. */
size_t complete_common(const struct candidates *found);

#endif
