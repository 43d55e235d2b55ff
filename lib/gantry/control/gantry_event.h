/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event thread of an engine. It reads the device's asynchronous events, and stores them in
 * fields that the owners of queues read:
 *
 *   QP, CQ      gantry_conn::events of the connection; gantry_watch() acts on it
 *   device      gantry::device_lost
 *   port        gantry::ports_down
 *
 * No lock is needed: a connection's memory exists until its QP and CQ are destroyed, and verbs
 * destroy a QP or CQ only after this thread has acknowledged its events.
 */
#ifndef GANTRY_EVENT_H
#define GANTRY_EVENT_H

struct gantry;

/*
 * Starts the thread. If the caller opened the device, does nothing, because the caller reads the
 * events. Control thread. Returns 0 or a negative errno.
 */
int gantry_event_start(struct gantry *g);

/* Ends the thread, if it runs. Control thread. */
void gantry_event_stop(struct gantry *g);

#endif
