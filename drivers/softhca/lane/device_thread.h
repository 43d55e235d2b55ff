/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of the adapter: starting one, and where and for how long it runs. */
#ifndef SOFTHCA_DEVICE_THREAD_H
#define SOFTHCA_DEVICE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * A joinable thread that blocks all signals but SIGSEGV and SIGBUS, and runs on the CPUs that the
 * process began with. -errno.
 */
int device_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg);

/*
 * For the thread that opens doorbell pages. It often shares its CPU with the program's thread whose
 * page it opened, and which then polls.
 */

/*
 * Time slices shorter than the program's: the thread that it wakes does not take the CPU from it at
 * once, and a nap ends in time though the program polls. False: Linux before 6.12, whose slices
 * have one length, or a policy that has none.
 */
bool device_thread_take_short_slices(void);
/* Sleeps for that time as exactly as the kernel can. */
void device_thread_nap(long ns);
/*
 * Goes to another CPU. Otherwise the two threads would take turns at the scheduler's ticks, which
 * may be 4 ms apart. The thread may then run on all of its CPUs again. False: it may run on this
 * one only.
 */
bool device_thread_leave_cpu(void);

#endif
