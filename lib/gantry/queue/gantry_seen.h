/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects that telemetry may read: the engines of the process, and their queues and peers.
 *
 *   control thread                              a thread of telemetry
 *     gantry_seen_add_engine(), _add_queue()      gantry_seen_lock()
 *       under the lock: adds it to the list         walks the lists; their objects stay
 *     gantry_seen_remove_...()                    gantry_seen_unlock()
 *       under the lock: removes it
 *
 * The numbers of engines and of queues are unique in the process, and are never used again. Owners
 * of queues never take the lock.
 */
#ifndef GANTRY_SEEN_H
#define GANTRY_SEEN_H

#include <stdint.h>

struct gantry;
struct gantry_queue;

void gantry_seen_lock(void);
void gantry_seen_unlock(void);

void gantry_seen_add_engine(struct gantry *g);
/* Hides the engine from telemetry. A second call does nothing. */
void gantry_seen_remove_engine(struct gantry *g);
/* Adds the queue to gantry::queues. */
void gantry_seen_add_queue(struct gantry_queue *q);
/*
 * Hides the queue from telemetry, because its destruction has begun. The queue stays in
 * gantry::queues. A second call does nothing.
 */
void gantry_seen_hide_queue(struct gantry_queue *q);
/* Removes the queue from gantry::queues. */
void gantry_seen_remove_queue(struct gantry_queue *q);

/* The callers of the functions below hold the lock. */

/* Returns the engine with the smallest number that is at least `id`, or NULL. */
struct gantry *gantry_seen_engine_from(uint32_t id);
/* Returns the queue of engine g with the smallest number that is at least `id`, or NULL. */
struct gantry_queue *gantry_seen_queue_from(struct gantry *g, uint32_t id);

#endif
