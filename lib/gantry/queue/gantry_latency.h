/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latencies of a queue's descriptors, by samples: one descriptor at a time is measured.
 *
 *   a call begins ---- descriptor accepted ---- ... ---- a call begins ---- completion handed out
 *   began                                                looked
 *   |<------------------------ latency ----------------->|
 *
 * gantry_drain_update() calls gantry_latency_look(). While latencies are measured, every call of
 * the owner calls gantry_drain_update(), because gantry_region_view::expect is 0. While latencies
 * are not measured, they cost nothing.
 */
#ifndef GANTRY_LATENCY_H
#define GANTRY_LATENCY_H

#include <stdbool.h>

struct gantry_queue;
struct gantry_latency;

/*
 * Takes samples, if latencies are measured. Returns true if the owner's next call has to call this
 * function again. Owner thread.
 */
bool gantry_latency_look(struct gantry_queue *q);

/*
 * Switches measuring on or off. Switching measuring on discards the earlier samples. Any thread,
 * with the lock of gantry_seen.h. Returns 0. If it returns -ENOMEM, nothing has changed.
 */
int gantry_latency_switch(struct gantry_queue *q, bool on);

/* Returns true if latencies are measured. Any thread. */
bool gantry_latency_is_on(const struct gantry_queue *q);

/* Frees the histograms. Control thread. */
void gantry_latency_fini(struct gantry_queue *q);

#endif
