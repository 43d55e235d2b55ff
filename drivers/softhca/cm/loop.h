/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread of the connection manager, and the lock of all its state. The thread starts when
 * /dev/infiniband/rdma_cm is first opened. It sleeps in epoll_wait(2) until a descriptor has an
 * event or the timer fires. Then it takes the lock and calls the function of the descriptor or of
 * the timer. A command of the program runs on the program's thread, with the same lock.
 */
#ifndef SOFTHCA_CM_LOOP_H
#define SOFTHCA_CM_LOOP_H

#include <stdint.h>

/* Called by the thread, with the lock held. events: as in epoll_ctl(2). */
typedef void loop_ready_fn(void *arg, uint32_t events);
/* Called by the thread at the time of loop_due(), with the lock held. */
typedef void loop_fire_fn(void);

/* Functions below need the lock, unless they say otherwise. */
void loop_lock(void);
void loop_unlock(void);

/* Starts the thread, if it does not run yet. Returns 0 or -errno. */
int loop_start(loop_fire_fn *fire);
/*
 * Watches a descriptor (level-triggered), and sets *slot, by which the caller changes or ends this.
 * The caller calls loop_remove() before it closes the descriptor. Returns 0 or -errno.
 */
int loop_add(int fd, uint32_t events, loop_ready_fn *ready, void *arg, uint32_t *slot);
void loop_change(uint32_t slot, uint32_t events);
void loop_remove(uint32_t slot);
/* Lets the timer fire at this device time (clock.h), unless it will fire before. */
void loop_due(uint64_t ns);

/* Call these around fork(2), without the lock. The child has no thread and watches nothing. */
void loop_fork_prepare(void);
void loop_fork_parent(void);
void loop_fork_child(void);

#endif
