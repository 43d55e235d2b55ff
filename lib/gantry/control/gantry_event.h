/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event thread of an engine: it reads the device's asynchronous events, and leaves them as states
 * where the owners of queues look for them.
 *
 *   QP, CQ      gantry_conn::events of the connection: gantry_watch() acts on it
 *   device      gantry::device_lost
 *   port        gantry::ports_down
 *
 * A connection stays where it is until its QP and CQ are destroyed, and that waits until the thread has
 * acknowledged their events. So no lock is needed.
 */
#ifndef GANTRY_EVENT_H
#define GANTRY_EVENT_H

struct gantry;

/* Starts the thread of an engine, if the engine opened the device. Control thread. 0 or a negative errno. */
int gantry_event_start(struct gantry *g);

/* Ends the thread, if it runs. Control thread. */
void gantry_event_stop(struct gantry *g);

#endif
