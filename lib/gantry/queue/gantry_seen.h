/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What threads outside the engine may look at: the engines of the process, and their queues and peers.
 *
 *   control thread                              a thread that looks
 *     gantry_seen_add_engine(), _add_queue()      gantry_seen_lock()
 *       under the lock: it is in the list           walks the lists; what it finds stays
 *     gantry_seen_remove_...()                    gantry_seen_unlock()
 *       under the lock: it is not
 *
 * Numbers of engines and queues are the process's: none is given twice. Owners of queues never take the lock.
 */
#ifndef GANTRY_SEEN_H
#define GANTRY_SEEN_H

#include <stdint.h>

struct gantry;
struct gantry_queue;

void gantry_seen_lock(void);
void gantry_seen_unlock(void);

void gantry_seen_add_engine(struct gantry *g);
/* It may be called again. */
void gantry_seen_remove_engine(struct gantry *g);
/* It is added to gantry::queues. */
void gantry_seen_add_queue(struct gantry_queue *q);
/* It is still in gantry::queues, but no longer seen: its end has begun. It may be called again. */
void gantry_seen_hide_queue(struct gantry_queue *q);
/* It is removed from gantry::queues. */
void gantry_seen_remove_queue(struct gantry_queue *q);

/* The calls below are made with the lock. */

/* The engine with the smallest number that is not less than `id`, or NULL. */
struct gantry *gantry_seen_engine_from(uint32_t id);
/* The queue with the smallest number that is not less than `id`, of engine g; or NULL. */
struct gantry_queue *gantry_seen_queue_from(struct gantry *g, uint32_t id);

#endif
