/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which events wake the sleeping owner of a queue, and after what time the owner polls
 * without an event.
 */
#ifndef GANTRY_SLEEP_H
#define GANTRY_SLEEP_H

#include "gantry_queue.h"

/* Time limit of an owner that sleeps until an event comes. */
#define GANTRY_SLEEP_FOR_EVER (-1)

/*
 * Milliseconds after which a sleeping owner with descriptors in flight polls even without an event.
 * This limits how late the owner notices a deadline or a state of the device. Tests change it.
 */
extern int gantry_sleep_ms;

/*
 * Returns how many CQs the owner waits for. If there are such CQs, *cq becomes one of them. recv:
 * true if the owner waits for receives, too. Owner thread.
 */
unsigned int gantry_sleep_cqs(const struct gantry_queue *q, bool recv, const struct hwq_cq **cq);

/*
 * Asks for an event of each connection with outstanding WQEs and, if `recv` is true, of each
 * connection with posted receives. Returns false if a completion has come already, so that the
 * owner has to poll. Owner thread; the queue has a channel.
 */
bool gantry_sleep_arm(struct gantry_queue *q, bool recv);

/*
 * Returns the most milliseconds that the owner may sleep, or GANTRY_SLEEP_FOR_EVER. Returns 0 if
 * the owner must not sleep.
 */
int gantry_sleep_limit(const struct gantry_queue *q);

/* Returns the file descriptor for epoll(7), which is readable when an event has come. */
int gantry_sleep_fd(const struct gantry_queue *q);

/* Takes the events of the queue's channel. Owner thread. */
void gantry_sleep_take_events(struct gantry_queue *q);

#endif
