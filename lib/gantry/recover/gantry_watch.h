/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watching over connections that get no CQEs: what events said of them, and their deadlines. A queue
 * whose polls find completions is never watched, and pays nothing.
 */
#ifndef GANTRY_WATCH_H
#define GANTRY_WATCH_H

#include "gantry_queue.h"

/* gantry_watch() is called after so many polls that found nothing. */
#define GANTRY_WATCH_POLLS 64

/*
 * Looks after each connection with WQEs outstanding, whose CQEs have been taken. Owner thread; cold.
 */
void gantry_watch(struct gantry_queue *q);

#endif
