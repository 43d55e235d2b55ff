/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Changes the terminal's mode, and restores it.
 */
#include "terminal.h"

#include <stdatomic.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static atomic_bool changed;

bool
terminal_begin(void)
{
	struct termios now;

	if (tcgetattr(STDIN_FILENO, &before) != 0)
		return false;
	now = before;
	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	now.c_cc[VMIN] = 1;
	now.c_cc[VTIME] = 0;
	/* set first, because a signal may end the program right after the next line */
	changed = true;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0)
		return true;
	changed = false;
	return false;
}

void
terminal_end(void)
{
	if (atomic_exchange(&changed, false))
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
}
