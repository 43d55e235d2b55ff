/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The mode of the terminal while lines are edited: the terminal delivers each character at once,
 * and does not echo it. Ctrl-C still sends SIGINT.
 */
#ifndef TESTGANTRY_TERMINAL_H
#define TESTGANTRY_TERMINAL_H

#include <stdbool.h>

/** Returns false if standard input is no terminal, or is a terminal without this mode. */
bool terminal_begin(void);

/**
 * Restores the terminal's mode if it was changed. Any thread and any signal handler may call this.
 */
void terminal_end(void);

#endif
