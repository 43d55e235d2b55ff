/* SPDX-License-Identifier: BSD-3-Clause */
/* The adapter's threads: creation, CPUs and time slices. */
#ifndef SOFTHCA_DEVICE_THREAD_H
#define SOFTHCA_DEVICE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Creates a joinable thread. It blocks all signals except SIGSEGV and SIGBUS, and may run on the
 * CPUs that the process had at its start. Returns 0 or -errno.
 */
int device_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg);

/*
 * The following calls are for the thread that opens doorbell pages. This thread often shares its
 * CPU with the program's thread that stores a doorbell in such a page and then polls.
 */

/*
 * Makes the calling thread's time slices shorter than the program's. This has two effects. If the
 * caller wakes a thread, this thread does not take the CPU at once. If the program polls while the
 * caller naps, the nap ends in time. Returns false if Linux is older than 6.12, which has slices of
 * only one length, or if the scheduling policy has no slices.
 */
bool device_thread_take_short_slices(void);
/* Sleeps for `ns` nanoseconds, as exactly as the kernel can. */
void device_thread_nap(long ns);
/*
 * Moves the calling thread to another CPU. Otherwise it and the program's thread would alternate at
 * the scheduler's ticks, which may be 4 ms apart. After the move all CPUs of the thread are allowed
 * again. Returns false if the thread has only this CPU.
 */
bool device_thread_leave_cpu(void);

#endif
