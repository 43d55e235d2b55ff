/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event thread of an engine. It reads the device's asynchronous events and stores what they
 * mean where the owners of queues look:
 *
 *   QP, CQ      gantry_conn::events of the connection; gantry_watch() acts on it
 *   device      gantry::device_lost
 *   port        gantry::ports_down
 *
 * No lock is needed: a connection's memory stays until its QP and CQ are destroyed, and verbs
 * destroy neither before this thread has acknowledged their events.
 */
#ifndef GANTRY_EVENT_H
#define GANTRY_EVENT_H

struct gantry;

/*
 * Starts the thread, unless the caller opened the device: then events are the caller's. Control
 * thread. Returns 0 or a negative errno.
 */
int gantry_event_start(struct gantry *g);

/* Ends the thread, if it runs. Control thread. */
void gantry_event_stop(struct gantry *g);

#endif
