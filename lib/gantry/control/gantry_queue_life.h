/* SPDX-License-Identifier: BSD-3-Clause */
/* The beginning and the end of queues, as other files of the engine ask for them. */
#ifndef GANTRY_QUEUE_LIFE_H
#define GANTRY_QUEUE_LIFE_H

#include <stdbool.h>

#include "gantry.h"

/* True: the settings are possible. Otherwise a line of the log names the one that is not. */
bool gantry_queue_conf_is_valid(const struct gantry_queue_conf *conf);

/* As gantry_queue_create(). events: the owner may sleep until something completes: gantry_sleep.h. */
int gantry_queue_create_with(struct gantry *g, const struct gantry_queue_conf *conf, bool events,
	struct gantry_queue **out);

/* Ends a queue that no caller has got. What the device refuses to end, gantry_queues_end() ends. Control thread. */
void gantry_queue_give_up(struct gantry_queue *q);

/* Ends the queues whose creation failed, and which the device refused to end then. 0, or what it says. */
int gantry_queues_end(struct gantry *g);

#endif
