/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop of an lcore, which gives turns to all workers that run there. Workers may come and go
 * while it runs.
 *
 *   control thread                         the lcore
 *     gantry_loop_add()
 *       puts the worker into `joining` ----> takes it into its list
 *                                            gantry_worker_turn() for each of the list, again and
 *     gantry_loop_remove()                   again
 *       GANTRY_ASK_STOP -------------------> finishes what is in flight, removes it from the list
 *       waits <----------------------------- gantry_worker::running = false
 *
 * The lcore is launched for its first worker, and is free again when its last worker has stopped.
 * Workers of several engines may share an lcore.
 */
#ifndef GANTRY_LOOP_H
#define GANTRY_LOOP_H

#include "gantry_worker.h"

/* Turns without work after which the lcore rests, or lets other threads of its CPU run. */
#define GANTRY_IDLE_TURNS 256
/* As GANTRY_IDLE_TURNS, for an lcore that shares its CPU. */
#define GANTRY_NAP_TURNS 16

/*
 * Prepares the worker's lcore for resting, and gives the worker the lcore's bell. An lcore rests
 * only if no worker that runs there is GANTRY_IDLE_SPIN. If one of them is GANTRY_IDLE_MONITOR it
 * monitors, else it sleeps. gantry_loop_unprepare() reverts this call. Returns 0 or a negative
 * errno.
 */
int gantry_loop_prepare(struct gantry_worker *w);
void gantry_loop_unprepare(struct gantry_worker *w);

/*
 * Gives one turn to each worker of a list that is linked by next_in_loop. A worker that was asked
 * to stop leaves the list when it has nothing in flight. Returns false if no worker had work. The
 * lcore.
 */
bool gantry_loop_turn(struct gantry_worker **run);

/*
 * True: another lcore, or the main lcore, may run on one of this lcore's CPUs, as EAL's arguments
 * or a later rte_thread_set_affinity() say. Any thread.
 */
bool gantry_loop_shares_cpu(unsigned int lcore_id);

/* How often the lcore has rested. Any thread. */
uint64_t gantry_loop_sleeps(unsigned int lcore_id);

/*
 * Starts a worker on its lcore. Control thread of the worker's engine. Returns 0; -EBUSY: the lcore
 * runs something else; or an error of rte_eal_remote_launch().
 */
int gantry_loop_add(struct gantry_worker *w);

/*
 * Tells a running worker to stop. The caller then calls gantry_loop_remove(), which waits until the
 * worker has stopped, and after the last worker of an lcore also until the lcore is free.
 */
void gantry_loop_ask(struct gantry_worker *w);
void gantry_loop_remove(struct gantry_worker *w);

#endif
