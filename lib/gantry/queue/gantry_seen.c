/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of engines, and the lock for all that telemetry may read. */
#include "gantry_seen.h"

#include <pthread.h>

#include "gantry_engine.h"
#include "gantry_queue.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/*
 * These variables and the lists of queues are used under the lock. Each list is sorted by the
 * numbers of its engines or queues.
 */
static TAILQ_HEAD(, gantry) engines = TAILQ_HEAD_INITIALIZER(engines);
static uint32_t n_engines, n_queues;

void
gantry_seen_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
gantry_seen_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void
gantry_seen_add_engine(struct gantry *g)
{
	gantry_seen_lock();
	g->id = n_engines++;
	g->seen = true;
	TAILQ_INSERT_TAIL(&engines, g, next);
	gantry_seen_unlock();
}

void
gantry_seen_remove_engine(struct gantry *g)
{
	gantry_seen_lock();
	if (g->seen)
		TAILQ_REMOVE(&engines, g, next);
	g->seen = false;
	gantry_seen_unlock();
}

void
gantry_seen_add_queue(struct gantry_queue *q)
{
	gantry_seen_lock();
	q->id = n_queues++;
	q->seen = true;
	TAILQ_INSERT_TAIL(&q->g->queues, q, next);
	gantry_seen_unlock();
}

void
gantry_seen_hide_queue(struct gantry_queue *q)
{
	gantry_seen_lock();
	q->seen = false;
	gantry_seen_unlock();
}

void
gantry_seen_remove_queue(struct gantry_queue *q)
{
	gantry_seen_lock();
	TAILQ_REMOVE(&q->g->queues, q, next);
	gantry_seen_unlock();
}

struct gantry *
gantry_seen_engine_from(uint32_t id)
{
	struct gantry *g;

	TAILQ_FOREACH(g, &engines, next)
		if (g->id >= id)
			return g;
	return NULL;
}

struct gantry_queue *
gantry_seen_queue_from(struct gantry *g, uint32_t id)
{
	struct gantry_queue *q;

	TAILQ_FOREACH(q, &g->queues, next)
		if (q->seen && q->id >= id)
			return q;
	return NULL;
}
