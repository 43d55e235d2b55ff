/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop of an lcore: turns of all workers that run there. Workers come and go while it runs.
 *
 *   control thread                         the lcore
 *     gantry_loop_add()
 *       puts the worker into `joining` ----> takes it into its list
 *                                            gantry_worker_turn() for each of the list, again and
 *     gantry_loop_remove()                   again
 *       GANTRY_ASK_STOP -------------------> finishes what is in flight, leaves it out of the list
 *       waits <----------------------------- gantry_worker::running = false
 *
 * An lcore is launched for its first worker. It is free again when its last worker has stopped.
 * Workers of several engines may share an lcore.
 */
#ifndef GANTRY_LOOP_H
#define GANTRY_LOOP_H

#include "gantry_worker.h"

/* After so many turns without work, the lcore sleeps, or other threads of its CPU run. */
#define GANTRY_IDLE_TURNS 256
/* The same for an lcore that shares its CPU. */
#define GANTRY_NAP_TURNS 16

/*
 * Prepares the worker's lcore for resting, and gives the worker its bell. An lcore rests while no
 * worker that runs there is GANTRY_IDLE_SPIN; it monitors if one of them is GANTRY_IDLE_MONITOR, else
 * it sleeps. gantry_loop_unprepare() ends it. 0 or a negative errno.
 */
int gantry_loop_prepare(struct gantry_worker *w);
void gantry_loop_unprepare(struct gantry_worker *w);

/*
 * One turn of each worker of a list, by next_in_loop. One that was asked to stop and has nothing in
 * flight leaves the list. Returns false if none had work. The lcore.
 */
bool gantry_loop_turn(struct gantry_worker **run);

/*
 * True: another lcore, or the main one, may run on one of its CPUs, as EAL was told or as
 * rte_thread_set_affinity() said since then. Any thread.
 */
bool gantry_loop_shares_cpu(unsigned int lcore_id);

/* How often the lcore has slept or monitored. Any thread. */
uint64_t gantry_loop_sleeps(unsigned int lcore_id);

/*
 * Starts a worker on its lcore. Control thread of the worker's engine.
 * 0; -EBUSY the lcore runs something else; or an error of rte_eal_remote_launch().
 */
int gantry_loop_add(struct gantry_worker *w);

/*
 * Tells a running worker to stop. gantry_loop_remove() has to follow: it waits until the worker has
 * stopped, and, if this was the last one of the lcore, until the lcore is free.
 */
void gantry_loop_ask(struct gantry_worker *w);
void gantry_loop_remove(struct gantry_worker *w);

#endif
