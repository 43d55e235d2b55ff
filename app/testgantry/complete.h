/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Completes a line of the prompt: words of commands, names and values of settings, paths.
 */
#ifndef TESTGANTRY_COMPLETE_H
#define TESTGANTRY_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#define COMPLETE_MAX 128 /**< largest number of candidates; further candidates are left out */

/** A command in the prompt's table of commands. */
struct complete_command {
	const char *words; /**< separated by one blank */
	/** form of the argument, which extends to the end of the line; NULL: no argument */
	const char *takes;
};

/**
 * Candidates for the line's last word; each text is allocated. The text of a folder ends with a
 * slash.
 */
struct candidates {
	size_t n;
	char *text[COMPLETE_MAX];
	size_t typed; /**< number of typed characters of the last word */
	/**
	 * a blank may follow the completed word; false for values, which extend to the end of the
	 * line
	 */
	bool blank;
};

/** Finds the candidates for a line. n: number of commands. */
void complete_find(const char *line, const struct complete_command *commands, size_t n,
	struct candidates *found);

void complete_free(struct candidates *found);

/** Length of the longest common beginning of all candidates. */
size_t complete_common(const struct candidates *found);

#endif
