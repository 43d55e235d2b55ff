/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The mode of the terminal while lines are edited: it delivers each character at once, and does not
 * echo it. Ctrl-C is still SIGINT.
 */
#ifndef TESTGANTRY_TERMINAL_H
#define TESTGANTRY_TERMINAL_H

#include <stdbool.h>

/** False: standard input is no terminal, or a terminal without this mode. */
bool terminal_begin(void);

/** Restores the terminal's mode if it was changed. Any thread, and signal handlers. */
void terminal_end(void);

#endif
