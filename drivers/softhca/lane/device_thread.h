/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of the adapter: starting one, and where and for how long it runs. */
#ifndef SOFTHCA_DEVICE_THREAD_H
#define SOFTHCA_DEVICE_THREAD_H

#include <pthread.h>

/* A joinable thread that blocks all signals but SIGSEGV, and runs on the CPUs that the process began with. -errno. */
int device_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg);

/*
 * For the thread that opens doorbell pages. The scheduler often wakes the program's thread on the CPU of the
 * thread that opened the page. There the program polls, and the two would share the CPU until the scheduler's
 * next tick, which may be 4 ms. So the adapter's thread
 *
 *   - takes short time slices: then the thread that it wakes does not take the CPU from it at once. Linux before 6.12
 *     gives all threads slices of one length;
 *   - goes to another CPU when it has opened the page, if it may run on another. It may then run on all of
 *     its CPUs again.
 */
void device_thread_take_short_slices(void);
void device_thread_leave_cpu(void);

#endif
