/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device thread without work: it spins, then yields or naps, then sleeps.
 *
 * It sleeps until it is woken where nothing is outstanding, no time is waited for, and every page
 * by which the program can call is watched (watch.c). No doorbell is lost. The thread
 *
 *   1. counts itself as asleep,
 *   2. closes the pages: from then on, a store to one of them waits, and wakes the adapter,
 *   3. looks at all pages in one more turn, and at all that calls lanes (lanes_are_at_rest()),
 *   4. sleeps, if it found nothing.
 *
 * A doorbell stored before its page was closed is visible when closing returns, so step 3 finds it.
 * A doorbell stored later is trapped: the page is opened, and the thread wakes and looks again.
 * What control calls, faults and other lanes leave to be done is either found in step 3, or its
 * waker finds the thread counted as asleep (wake.h).
 *
 * Where that is not possible it sleeps for a time: at most IDLE_SLEEP_MAX ns, so a doorbell waits
 * no longer.
 */
#include "idle.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "device_thread.h"
#include "fault.h"
#include "lane.h"
#include "lanes.h"
#include "mappings.h"
#include "spin.h"
#include "turns.h"
#include "uar.h"
#include "wake.h"

#define IDLE_SPINS     64
#define IDLE_YIELDS    128
#define IDLE_SLEEP_MIN 20000
#define IDLE_SLEEP_MAX 500000
#define IDLE_MAX       (1u << 20)
#define NAP_MIN        2000       /* ns; serve_on_shared_cpu() */
#define NAP_MAX        50000      /* ns */
#define YIELD_LONG     5000       /* ns: another thread had the CPU meanwhile */
#define LEAVE_PAUSE    1000000    /* ns between two that leave a CPU because of it, at least */
#define LOST_FOR       1000000000 /* ns after one; lost_cpu() */
#define IDLE_NAP       30000      /* ns */
#define YIELDS_PER_NAP 4

static bool
uar_is_at_rest(struct softhca_uar *uar)
{
	return !uar_calls(uar) && !atomic_load(&uar->again) && !atomic_load(&uar->timed);
}

/* Inside a turn. */
static bool
pages_are_at_rest(struct softhca_lanes *lanes)
{
	struct page_set *uars = atomic_load(&lanes->uars), *clocks = atomic_load(&lanes->clocks);
	unsigned int n_uars = uars != NULL ? uars->n : 0;
	unsigned int n_clocks = clocks != NULL ? clocks->n : 0;

	if (atomic_load(&lanes->n_watched) != n_uars + n_clocks)
		return false;
	for (unsigned int i = 0; i < n_uars; i++)
		if (!uar_is_at_rest(uars->v[i]))
			return false;
	return true;
}

/* Nobody calls, and whoever will call wakes a thread that sleeps. */
static bool
lanes_are_at_rest(struct softhca_lanes *lanes, struct lane_slot *slot)
{
	bool rest = !atomic_load(&lanes->stop) && !atomic_load(&lanes->look) &&
		    !atomic_load(&lanes->cq_failed) && !fault_is_due(lanes->dev);

	turn_begin(slot);
	rest = rest && pages_are_at_rest(lanes);
	turn_end(slot);
	return rest;
}

/*
 * How long the program's thread needs until it has stored, and a bit more. It changes page tables,
 * as opening its page did.
 */
static long
time_to_store(uint64_t opening_ns)
{
	uint64_t ns = 2 * opening_ns;

	return (long)(ns < NAP_MIN ? NAP_MIN : ns > NAP_MAX ? NAP_MAX : ns);
}

static bool
nap_and_look(struct softhca_lanes *lanes, struct lane_slot *slot, long ns)
{
	device_thread_nap(ns);
	turn_begin(slot);
	return lane_turn(lanes, slot) != 0;
}

/*
 * The program's thread often runs on this CPU: the scheduler woke the adapter where that thread
 * began to wait for its page. There it stores its doorbell now, and then polls. A thread on another
 * CPU would see the doorbell later, if that CPU sleeps: waking it takes long, most of all on a
 * virtual machine. So the adapter naps until the store is there, and runs it here. It naps once
 * more, while the program takes the completion. Then each of the two gets a CPU of its own.
 *
 * A nap that finds nothing may have been too short: then it took the CPU from the program before it
 * had stored, and the scheduler does not let the adapter do so often. So the second nap is longer.
 *
 * False: it has another CPU now.
 */
static bool
serve_on_shared_cpu(struct softhca_lanes *lanes, struct lane_slot *slot, long nap_ns)
{
	if (nap_and_look(lanes, slot, nap_ns) || nap_and_look(lanes, slot, 2 * nap_ns))
		(void)nap_and_look(lanes, slot, nap_ns);
	return !device_thread_leave_cpu();
}

/*
 * The first thread of an adapter opens pages itself: the watcher would take longer to wake it.
 * Returns as lane_idle() does.
 */
static unsigned int
sleep_at_pages(struct softhca_lanes *lanes, struct lane_slot *slot)
{
	const int call_fd = atomic_load(&lanes->call_fd);
	struct epoll_event event = {.data.fd = call_fd};
	uint64_t calls, opening;

	(void)epoll_wait(atomic_load(&lanes->sleep_fd), &event, 1, -1);
	lanes_get_up(lanes);
	if (event.data.fd != call_fd) {
		opening = device_clock();
		(void)mappings_open_all();
		opening = device_clock() - opening;
		if (!slot->short_slices)
			(void)device_thread_leave_cpu();
		else if (serve_on_shared_cpu(lanes, slot, time_to_store(opening)))
			return IDLE_SPINS + IDLE_YIELDS;
		return 0;
	}
	while (read(call_fd, &calls, sizeof(calls)) < 0 && errno == EINTR)
		;
	return 0;
}

/* False: it did not sleep. *idle: the value that lane_idle() returns. */
static bool
sleep_until_called(struct softhca_lanes *lanes, struct lane_slot *slot, unsigned int *idle)
{
	unsigned int wakes;
	bool quiet;

	if (!lanes_are_at_rest(lanes, slot))
		return false;
	wakes = lanes_lie_down(lanes);
	quiet = mappings_close(lanes);
	if (quiet) {
		turn_begin(slot);
		quiet = lane_turn(lanes, slot) == 0 && lanes_are_at_rest(lanes, slot);
	}
	if (quiet && slot == &lanes->slots[0] && atomic_load(&lanes->sleep_fd) >= 0) {
		*idle = sleep_at_pages(lanes, slot);
		return true;
	}
	if (quiet) {
		lanes_sleep(lanes, wakes);
		*idle = 0;
	}
	lanes_get_up(lanes);
	return quiet;
}

/*
 * Gives the CPU to a thread that waits for it. That is often the program's thread, which polls
 * until this one has worked. The scheduler leaves both on this CPU, because they have just run
 * there. Then each operation takes two changes of the thread, some 16 us. So this thread goes to
 * another CPU. That may be busy too: LEAVE_PAUSE limits what moving costs.
 */
static void
yield(struct lane_slot *slot)
{
	uint64_t start = device_clock(), end;

	sched_yield();
	end = device_clock();
	if (end - start < YIELD_LONG || end - slot->left_cpu < LEAVE_PAUSE)
		return;
	slot->left_cpu = end;
	(void)device_thread_leave_cpu();
}

/*
 * A yield took long lately. The scheduler gives the CPU back at the end of the other thread's
 * slice, which it sees at a tick: up to 4 ms later. It runs a thread of short slices sooner only
 * when that wakes. So such a thread naps, and its page stays open.
 */
static bool
lost_cpu(const struct lane_slot *slot)
{
	return slot->short_slices && slot->left_cpu != 0 &&
	       device_clock() - slot->left_cpu < LOST_FOR;
}

/* Returns how many yields that counts as. */
static unsigned int
let_others_run(struct lane_slot *slot)
{
	if (lost_cpu(slot)) {
		device_thread_nap(IDLE_NAP);
		return YIELDS_PER_NAP;
	}
	yield(slot);
	return 1;
}

static void
sleep_for_a_time(unsigned int naps)
{
	long ns = IDLE_SLEEP_MIN;

	for (unsigned int i = 0; i < naps && ns < IDLE_SLEEP_MAX; i++)
		ns += ns / 16;
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

unsigned int
lane_idle(struct softhca_lanes *lanes, struct lane_slot *slot, unsigned int idle)
{
	unsigned int turns = 1;

	if (idle < IDLE_SPINS)
		cpu_relax();
	else if (idle < IDLE_SPINS + IDLE_YIELDS)
		turns = let_others_run(slot);
	else if (sleep_until_called(lanes, slot, &idle))
		return idle;
	else
		sleep_for_a_time(idle - IDLE_SPINS - IDLE_YIELDS);
	return idle < IDLE_MAX ? idle + turns : idle;
}
