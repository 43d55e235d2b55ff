/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting a thread of the adapter. */
#ifndef SOFTHCA_DEVICE_THREAD_H
#define SOFTHCA_DEVICE_THREAD_H

#include <pthread.h>

/* A joinable thread that blocks all signals and runs on the CPUs that the process began with. -errno. */
int device_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg);

#endif
