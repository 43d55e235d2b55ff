/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which events wake the sleeping owner of a queue, and after what time it polls without an event.
 */
#ifndef GANTRY_SLEEP_H
#define GANTRY_SLEEP_H

#include "gantry_queue.h"

/* Sleep until an event comes. */
#define GANTRY_SLEEP_FOR_EVER (-1)

/*
 * Milliseconds after which a sleeping owner with descriptors in flight polls even without an event.
 * This limits how late it notices a deadline or a state of the device. Tests change it.
 */
extern int gantry_sleep_ms;

/*
 * Returns how many CQs the owner waits for. *cq becomes one of them, if any. recv: it waits for
 * receives, too. Owner.
 */
unsigned int gantry_sleep_cqs(const struct gantry_queue *q, bool recv, const struct hwq_cq **cq);

/*
 * Asks for an event of each connection with outstanding WQEs; recv: also of each connection with
 * posted receives. False: a completion has come already, so poll. Owner; the queue has a channel.
 */
bool gantry_sleep_arm(struct gantry_queue *q, bool recv);

/*
 * The most milliseconds that the owner may sleep, or GANTRY_SLEEP_FOR_EVER. Returns 0 if it must
 * not sleep.
 */
int gantry_sleep_limit(const struct gantry_queue *q);

/* The file descriptor for epoll(7): it can be read when an event has come. */
int gantry_sleep_fd(const struct gantry_queue *q);

/* Takes the events of the queue's channel. Owner. */
void gantry_sleep_take_events(struct gantry_queue *q);

#endif
