/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock between sockets and fork(2). */
#include "sockets.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
sockets_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
sockets_unlock(void)
{
	pthread_mutex_unlock(&lock);
}
