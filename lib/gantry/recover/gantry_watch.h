/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches connections that get no CQEs: reads their events, and checks their deadlines. A queue
 * whose polls find completions is never watched, and has no cost.
 */
#ifndef GANTRY_WATCH_H
#define GANTRY_WATCH_H

#include "gantry_queue.h"

/* The number of polls without a completion after which gantry_watch() is called. */
#define GANTRY_WATCH_POLLS 64

/*
 * Checks each connection with outstanding WQEs. The caller has taken all CQEs. Owner thread; cold.
 */
void gantry_watch(struct gantry_queue *q);

/* Notes a poll without a completion. Owner thread. */
static inline void
gantry_watch_empty_poll(struct gantry_queue *q)
{
	if (++q->empty_polls % GANTRY_WATCH_POLLS == 0)
		gantry_watch(q);
}

#endif
