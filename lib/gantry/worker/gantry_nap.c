/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets the scheduling of an lcore that shares its CPUs, and lets it nap. */
#include "gantry_nap.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 100000 /* the shortest slice in ns that Linux grants */

#define NAP_IDLE_NS 60000
/*
 * Nanoseconds of a nap. A nap of 5 us would be too short: it ends before the CPU has switched to
 * another thread.
 */
#define NAP_WAIT_NS 20000

/*
 * The part of struct sched_attr (sched_setattr(2)) that all kernels have. glibc 2.36 does not
 * declare it.
 */
struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period; /* in ns; with SCHED_OTHER, runtime is the slice */
};

/*
 * Sets the slice of the calling thread. Returns the earlier slice in ns. Returns 0 if the thread's
 * slice cannot be changed.
 */
static uint64_t
set_slice(uint64_t ns)
{
	struct scheduling s = {.size = sizeof(s)};
	uint64_t before;

	if (syscall(SYS_sched_getattr, 0, &s, sizeof(s), 0) != 0 || s.policy != SCHED_OTHER)
		return 0;
	before = s.runtime;
	s.runtime = ns;
	return syscall(SYS_sched_setattr, 0, &s, 0) == 0 ? before : 0;
}

void
gantry_nap_begin(struct gantry_nap *before)
{
	before->slice = set_slice(SLICE_NS);
	before->slack = prctl(PR_GET_TIMERSLACK);
	prctl(PR_SET_TIMERSLACK, 1);
}

void
gantry_nap_end(const struct gantry_nap *before)
{
	if (before->slice != 0)
		set_slice(before->slice);
	if (before->slack > 0)
		prctl(PR_SET_TIMERSLACK, before->slack);
}

void
gantry_nap(bool waits)
{
	nanosleep(&(struct timespec){.tv_nsec = waits ? NAP_WAIT_NS : NAP_IDLE_NS}, NULL);
}
