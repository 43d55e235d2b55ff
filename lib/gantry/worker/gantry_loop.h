/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop of an lcore. It gives turns to all workers that run on the lcore. Workers may be added
 * and removed while the loop runs.
 *
 *   control thread                         the lcore
 *     gantry_loop_add()
 *       puts the worker into `joining` ----> takes it into its list
 *                                            gantry_worker_turn() for each of the list, again and
 *     gantry_loop_remove()                   again
 *       GANTRY_ASK_STOP -------------------> finishes what is in flight, removes it from the list
 *       waits <----------------------------- gantry_worker::running = false
 *
 * The lcore is launched for its first worker. When its last worker has stopped, EAL may use the
 * lcore for another function. Workers of several engines may share an lcore.
 */
#ifndef GANTRY_LOOP_H
#define GANTRY_LOOP_H

#include "gantry_worker.h"

/*
 * The number of turns without work after which the lcore rests, or lets other threads of its CPU
 * run.
 */
#define GANTRY_IDLE_TURNS 256
/* As GANTRY_IDLE_TURNS, for an lcore that shares its CPU. */
#define GANTRY_NAP_TURNS 16

/*
 * Prepares the worker's lcore for resting, and gives the worker the lcore's bell. An lcore rests
 * only if none of its workers is GANTRY_IDLE_SPIN. If one of its workers is GANTRY_IDLE_MONITOR,
 * the lcore monitors, otherwise it sleeps. gantry_loop_unprepare() reverts this call. Returns 0 or
 * a negative errno.
 */
int gantry_loop_prepare(struct gantry_worker *w);
void gantry_loop_unprepare(struct gantry_worker *w);

/*
 * Gives one turn to each worker of a list that is linked by next_in_loop. A worker that was asked
 * to stop leaves the list when it has nothing in flight. Returns false if no worker had work.
 * Called by the lcore.
 */
bool gantry_loop_turn(struct gantry_worker **run);

/*
 * Returns true if another lcore, or the main lcore, may run on one of this lcore's CPUs. EAL's
 * arguments and later calls of rte_thread_set_affinity() decide about it. Any thread.
 */
bool gantry_loop_shares_cpu(unsigned int lcore_id);

/* Returns how often the lcore has rested. Any thread. */
uint64_t gantry_loop_sleeps(unsigned int lcore_id);

/*
 * Starts a worker on its lcore. Called by the control thread of the worker's engine. Returns 0,
 * -EBUSY if the lcore runs another function, or an error of rte_eal_remote_launch().
 */
int gantry_loop_add(struct gantry_worker *w);

/*
 * Tells a running worker to stop. The caller then calls gantry_loop_remove(), which waits until the
 * worker has stopped. If it was the last worker of an lcore, gantry_loop_remove() also waits until
 * the lcore is free.
 */
void gantry_loop_ask(struct gantry_worker *w);
void gantry_loop_remove(struct gantry_worker *w);

#endif
