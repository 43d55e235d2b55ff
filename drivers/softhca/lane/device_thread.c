/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting a thread of the adapter. */
#include "device_thread.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>

/*
 * Where threads may run as the process was started. An EAL lcore that creates the adapter is pinned
 * to its own core, and a device thread that inherited that would fight it for the core.
 */
static cpu_set_t process_cpus;
static bool process_cpus_known;

static void __attribute__((constructor)) remember_affinity(void)
{
	process_cpus_known = sched_getaffinity(0, sizeof(process_cpus), &process_cpus) == 0;
}

/* Handlers of signals run on the program's own threads, but for that of the thread's own fault. */
int
device_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	/* key/gone.c. A fault ends the process where its signal is blocked. */
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, main, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err != 0)
		return -err;
	if (process_cpus_known)
		pthread_setaffinity_np(*thread, sizeof(process_cpus), &process_cpus);
	pthread_setname_np(*thread, name);
	return 0;
}
