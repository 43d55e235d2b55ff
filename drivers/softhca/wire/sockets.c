/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock between sockets and fork(2). */
#include "sockets.h"

#include "fork_lock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
sockets_lock(void)
{
	fork_lock(&lock);
}

void
sockets_unlock(void)
{
	fork_unlock(&lock);
}
