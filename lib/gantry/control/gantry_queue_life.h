/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation and destruction of queues, as other files of the engine use them. */
#ifndef GANTRY_QUEUE_LIFE_H
#define GANTRY_QUEUE_LIFE_H

#include <stdbool.h>

#include "gantry.h"

/*
 * Returns true if all settings are possible. Otherwise a line of the log names the wrong setting.
 */
bool gantry_queue_conf_is_valid(const struct gantry_queue_conf *conf);

/*
 * As gantry_queue_create(). events: true if completion events are switched on, so that the owner
 * may sleep (gantry_sleep.h).
 */
int gantry_queue_create_with(struct gantry *g, const struct gantry_queue_conf *conf, bool events,
	struct gantry_queue **out);

/*
 * Destroys a queue that was not returned to the caller of the library. If the device refuses,
 * gantry_queues_end() tries again. Control thread.
 */
void gantry_queue_give_up(struct gantry_queue *q);

/*
 * Destroys the queues in g->unmade. Their creation failed, and then the device refused to destroy
 * parts of them. Returns 0 or the device's error. After an error, call this function again.
 */
int gantry_queues_end(struct gantry *g);

#endif
