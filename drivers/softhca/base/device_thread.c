/* SPDX-License-Identifier: BSD-3-Clause */
/* The adapter's threads: creation, CPUs and time slices. */
#include "device_thread.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SHORT_SLICE_NS 100000

/*
 * The CPUs of the process at its start. The adapter may be created by an EAL lcore, which is pinned
 * to one core. A device thread must not inherit this pinning, because it would compete with the
 * lcore.
 */
static cpu_set_t process_cpus;
static bool process_cpus_known;

static void __attribute__((constructor)) remember_affinity(void)
{
	process_cpus_known = sched_getaffinity(0, sizeof(process_cpus), &process_cpus) == 0;
}

/*
 * Creates a thread that blocks signals, so that handlers run on the program's own threads. The
 * signals of faults are not blocked, because they go to the thread that caused the fault.
 */
int
device_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	/*
	 * These two signals must not be blocked: a fault with a blocked signal ends the process.
	 * See key/gone.c.
	 */
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
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

/* struct sched_attr of sched_setattr(2): glibc 2.36 does not define it. */
struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period; /* ns; for SCHED_OTHER, runtime is the time slice */
};

bool
device_thread_take_short_slices(void)
{
	struct scheduling s = {.size = sizeof(s)};

	if (syscall(SYS_sched_getattr, 0, &s, sizeof(s), 0) != 0 || s.policy != SCHED_OTHER)
		return false;
	s.runtime = SHORT_SLICE_NS;
	if (syscall(SYS_sched_setattr, 0, &s, 0) != 0)
		return false;
	/* A kernel without time slices of different lengths ignores the request. */
	return syscall(SYS_sched_getattr, 0, &s, sizeof(s), 0) == 0 && s.runtime == SHORT_SLICE_NS;
}

void
device_thread_nap(long ns)
{
	(void)prctl(PR_SET_TIMERSLACK, 1);
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

bool
device_thread_leave_cpu(void)
{
	const int cpu = sched_getcpu();
	cpu_set_t all, others;

	if (cpu < 0 || sched_getaffinity(0, sizeof(all), &all) != 0)
		return false;
	others = all;
	CPU_CLR(cpu, &others);
	if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) != 0)
		return false;
	(void)sched_setaffinity(0, sizeof(all), &all);
	return true;
}
