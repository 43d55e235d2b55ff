/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latencies of a queue's descriptors, by samples: one descriptor at a time is watched.
 *
 *   a call begins ---- descriptor accepted ---- ... ---- a call begins ---- its completion handed out
 *   began                                                looked
 *   |<------------------------ latency ----------------->|
 *
 * A call of the owner that has to look closer (gantry_drain_update()) calls gantry_latency_look(). While latencies
 * are measured, each call has to. While they are not, none does because of them, and so they cost nothing.
 */
#ifndef GANTRY_LATENCY_H
#define GANTRY_LATENCY_H

#include <stdbool.h>

struct gantry_queue;
struct gantry_latency;

/* Notes what the samples tell. True: call it again in the next call. Owner thread. */
bool gantry_latency_look(struct gantry_queue *q);

/*
 * Switches measuring on or off; on: all numbers begin anew. Any thread, with the lock of gantry_seen.h. 0 or -ENOMEM:
 * nothing has changed.
 */
int gantry_latency_switch(struct gantry_queue *q, bool on);

/* True: it is switched on. Any thread. */
bool gantry_latency_is_on(const struct gantry_queue *q);

/* Frees what it needed. Control thread. */
void gantry_latency_fini(struct gantry_queue *q);

#endif
