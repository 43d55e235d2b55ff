/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Exchanges the reasons why processes end.
 */
#include "pair_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"

/* milliseconds to wait for the reason of the other process */
#define REASON_MS 500

void
pair_ask_reason(struct pair *p)
{
	const uint64_t end_ns = now_ns() + REASON_MS * (NSEC_PER_S / 1000);
	char *own = p->error;
	struct talk_frame frame;
	int n = 0;

	p->error = NULL;
	while (n >= 0 && now_ns() < end_ns) {
		n = talk_look(p->talk, &frame);
		if (n == 0)
			usleep(1000);
	}
	if (p->error == NULL)
		p->error = own;
	else
		free(own);
}

void
pair_fail(struct pair *p)
{
	char reason[64];

	if (p->error == NULL && stop_signal == 0)
		pair_ask_reason(p);
	if (stop_signal != 0)
		snprintf(reason, sizeof(reason), "it got the signal \"%s\"",
			strsignal(stop_signal));
	else
		snprintf(reason, sizeof(reason), "%s", PAIR_UNSAID);
	talk_fail(p->talk, p->error != NULL ? p->error : reason);
}
