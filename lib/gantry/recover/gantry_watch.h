/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches connections that get no CQEs: what events say about them, and their deadlines. A queue
 * whose polls find completions is never watched, and has no cost.
 */
#ifndef GANTRY_WATCH_H
#define GANTRY_WATCH_H

#include "gantry_queue.h"

/* gantry_watch() is called after so many polls without a completion. */
#define GANTRY_WATCH_POLLS 64

/*
 * Looks at each connection with outstanding WQEs. The caller has taken all CQEs. Owner thread;
 * cold.
 */
void gantry_watch(struct gantry_queue *q);

#endif
