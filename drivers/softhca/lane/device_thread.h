/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of the adapter: creation, CPUs and time slices. */
#ifndef SOFTHCA_DEVICE_THREAD_H
#define SOFTHCA_DEVICE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Creates a joinable thread. It blocks all signals but SIGSEGV and SIGBUS, and may run on the CPUs
 * that the process had at its start. -errno.
 */
int device_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg);

/*
 * The calls below are for the thread that opens doorbell pages. That thread often shares its CPU
 * with the program's thread that uses the page and then polls.
 */

/*
 * Takes time slices that are shorter than the program's. Then a thread that this one wakes does not
 * take the CPU at once, and a nap ends in time while the program polls. False: Linux is older than
 * 6.12 and has slices of one length, or the scheduling policy has none.
 */
bool device_thread_take_short_slices(void);
/* Sleeps for `ns` as exactly as the kernel can. */
void device_thread_nap(long ns);
/*
 * Moves the thread to another CPU. Otherwise the two threads take turns at the scheduler's ticks,
 * which may be 4 ms apart. Afterwards all CPUs of the thread are allowed again. False: the thread
 * has only this CPU.
 */
bool device_thread_leave_cpu(void);

#endif
