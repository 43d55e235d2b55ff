/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The terminal of standard input while its lines are edited here: it hands over each character at
 * once, and echoes none. Ctrl-C is still SIGINT.
 */
#ifndef TESTGANTRY_TERMINAL_H
#define TESTGANTRY_TERMINAL_H

#include <stdbool.h>

/** False: standard input is no terminal, or one that cannot do so. */
bool terminal_begin(void);

/** Makes it as it was, if it is not. Any thread, and handlers of signals. */
void terminal_end(void);

#endif
