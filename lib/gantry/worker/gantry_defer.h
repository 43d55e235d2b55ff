/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that a worker has taken from its ring, and that their connection cannot accept yet.
 * Each connection has a list of its own, so that a full connection does not delay other
 * connections.
 *
 *   ring `in` ---> gantry_defer_or_submit() ---> the queue
 *                        |        ^
 *               full:    v        |  gantry_defer_retry(): each turn
 *                  the connection's list
 *
 * A fenced descriptor never waits in a list. All descriptors before it must come first, so it stays
 * in the ring until the lists are empty.
 *
 * Thread: the owner of the queue.
 */
#ifndef GANTRY_DEFER_H
#define GANTRY_DEFER_H

#include <stdbool.h>
#include <stdint.h>

struct gantry_desc;
struct gantry_queue;

struct gantry_defer {
	struct gantry_queue *q;
	uint32_t n;        /* number of descriptors in all lists */
	uint32_t n_conns;  /* number of connections whose lists are not empty */
	uint32_t *waiting; /* the indices of these connections */
	uint32_t free;     /* the first free element of `desc` */
	/* For each element of `desc`: index of the next element in its list. */
	uint32_t *next;
	struct gantry_desc *desc;       /* the deferred descriptors */
	struct gantry_defer_list *list; /* the list of each connection */
};

/* Allocates lists for n descriptors of an unordered queue. Returns 0 or -ENOMEM. Control thread. */
int gantry_defer_create(struct gantry_queue *q, uint32_t n, struct gantry_defer **d);
/* Frees *d, whose lists are empty. Does nothing if d is NULL. Control thread. */
void gantry_defer_free(struct gantry_defer *d);

/*
 * Submits or defers descriptors. The caller makes sure that the lists have n free elements. Returns
 * how many descriptors were submitted or deferred. If there are fewer than n, the next descriptor
 * is fenced and has to stay in the ring.
 */
uint32_t gantry_defer_or_submit(struct gantry_defer *d, const struct gantry_desc *desc, uint32_t n);

/* Returns true if a deferred descriptor goes to this peer. d may be NULL. */
bool gantry_defer_has_peer(const struct gantry_defer *d, uint16_t peer);

/* Submits the deferred descriptors that the queue accepts now. Returns how many were submitted. */
uint32_t gantry_defer_retry(struct gantry_defer *d);

#endif
