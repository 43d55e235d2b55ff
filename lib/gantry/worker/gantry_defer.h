/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that a worker has taken from its ring while their connection has no room. Each
 * connection has a list of its own, so that a full connection does not hold back another one.
 *
 *   ring `in` ---> gantry_defer_or_submit() ---> the queue
 *                        |        ^
 *               full:    v        |  gantry_defer_retry(): each turn
 *                  the connection's list
 *
 * A fenced descriptor never waits in a list. It orders all descriptors before it against all behind
 * it, so it stays in the ring until the lists are empty.
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
	uint32_t n_conns;               /* connections whose lists are not empty */
	uint32_t *waiting;              /* the numbers of these connections */
	uint32_t free;                  /* the first free place */
	uint32_t *next;                 /* of each place: the place behind it in its list */
	struct gantry_desc *desc;       /* of each place: its descriptor */
	struct gantry_defer_list *list; /* of each connection */
};

/* Makes room for n descriptors of an unordered queue. Returns 0 or -ENOMEM. Control thread. */
int gantry_defer_create(struct gantry_queue *q, uint32_t n, struct gantry_defer **d);
/* Frees *d, whose lists are empty. Does nothing if d is NULL. Control thread. */
void gantry_defer_free(struct gantry_defer *d);

/*
 * Submits or defers descriptors; the lists have room for n. Returns how many. If it is less than n,
 * the next descriptor is fenced and has to stay in the ring.
 */
uint32_t gantry_defer_or_submit(struct gantry_defer *d, const struct gantry_desc *desc, uint32_t n);

/* Submits the deferred descriptors for which there is room now. Returns how many. */
uint32_t gantry_defer_retry(struct gantry_defer *d);

#endif
