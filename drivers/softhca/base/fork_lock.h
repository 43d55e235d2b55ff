/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The locks of the control half, which fork(2) takes (process/fork.c). Other libraries may have
 * handlers of pthread_atfork(3) that run in the forking thread while it holds all these locks, in
 * the parent and in the child. If such a handler makes a call that the adapter answers, for example
 * fstat(2), the thread must not wait for itself. So a thread that forks neither takes nor releases
 * the locks: it has them.
 */
#ifndef SOFTHCA_FORK_LOCK_H
#define SOFTHCA_FORK_LOCK_H

#include <pthread.h>
#include <stdbool.h>

/* True while this thread holds the locks for fork(2). */
extern _Thread_local bool fork_lock_has_all;

static inline void
fork_lock(pthread_mutex_t *lock)
{
	if (!fork_lock_has_all)
		pthread_mutex_lock(lock);
}

static inline void
fork_unlock(pthread_mutex_t *lock)
{
	if (!fork_lock_has_all)
		pthread_mutex_unlock(lock);
}

#endif
