/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that a worker has taken from its ring, and for which their connection has no room yet. Those
 * of each connection wait in a list of their own, so that a full connection holds back no other one.
 *
 *   ring `in` ---> gantry_defer_or_submit() ---> the queue
 *                        |        ^
 *               full:    v        |  gantry_defer_retry(): each turn
 *                  the connection's list
 *
 * A fenced descriptor never waits here. It orders what is before it against what is behind it, so it
 * stays in the ring until nothing is deferred.
 *
 * Thread: the owner of the queue.
 */
#ifndef GANTRY_DEFER_H
#define GANTRY_DEFER_H

#include <stdint.h>

struct gantry_desc;
struct gantry_queue;

struct gantry_defer {
	struct gantry_queue *q;
	uint32_t n;                     /* descriptors in all lists */
	uint32_t n_conns;               /* connections with descriptors in their lists ... */
	uint32_t *waiting;              /* ... and which they are */
	uint32_t free;                  /* the first place that is not in use */
	uint32_t *next;                 /* of each place: the one behind it in its list */
	struct gantry_desc *desc;       /* of each place */
	struct gantry_defer_list *list; /* of each connection */
};

/* Room for n descriptors of an unordered queue. 0 or -ENOMEM. Control thread. */
int gantry_defer_create(struct gantry_queue *q, uint32_t n, struct gantry_defer **d);
/* Nothing is deferred. NULL: nothing happens. Control thread. */
void gantry_defer_free(struct gantry_defer *d);

/*
 * Submits or defers n descriptors, for which there is room here. Returns how many of the first ones: the
 * next one carries a fence, and has to wait in the ring.
 */
uint32_t gantry_defer_or_submit(struct gantry_defer *d, const struct gantry_desc *desc, uint32_t n);

/* Submits deferred ones for which there is room now. Returns how many. */
uint32_t gantry_defer_retry(struct gantry_defer *d);

#endif
