/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue whose owner sleeps: which events wake it, and after what time it polls without any. */
#ifndef GANTRY_SLEEP_H
#define GANTRY_SLEEP_H

#include "gantry_queue.h"

/* No time: until an event comes. */
#define GANTRY_SLEEP_FOR_EVER (-1)

/*
 * Milliseconds after which an owner polls that has descriptors in flight and no event. It bounds how
 * late a deadline or a state of the device is noticed. A test changes it.
 */
extern int gantry_sleep_ms;

/*
 * How many CQs the owner waits for; if there are any, *cq is one of them. recv: it waits for receives,
 * too. Owner.
 */
unsigned int gantry_sleep_cqs(const struct gantry_queue *q, bool recv, const struct hwq_cq **cq);

/*
 * Asks for an event of each connection that has WQEs outstanding; recv: and of those that have receives.
 * False: a completion is there already, so poll. Owner; the queue has a channel.
 */
bool gantry_sleep_arm(struct gantry_queue *q, bool recv);

/* How long the owner may sleep at most, milliseconds, or GANTRY_SLEEP_FOR_EVER. 0: not at all. */
int gantry_sleep_limit(const struct gantry_queue *q);

/* Can be read when an event has come: for epoll(7). */
int gantry_sleep_fd(const struct gantry_queue *q);

/* Takes the events of the queue's channel. Owner. */
void gantry_sleep_take_events(struct gantry_queue *q);

#endif
