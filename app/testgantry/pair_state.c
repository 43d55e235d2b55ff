/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Tells the other process why this process ends.
 */
#include "pair_state.h"

#include <stdio.h>
#include <string.h>

void
pair_fail(struct pair *p)
{
	char reason[64];

	if (stop_signal != 0)
		snprintf(reason, sizeof(reason), "stopped by %s", strsignal(stop_signal));
	else
		snprintf(reason, sizeof(reason), "out of memory");
	talk_fail(p->talk, p->error != NULL ? p->error : reason);
}
