/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device thread without work spins, then yields or naps, then sleeps.
 *
 * If no work is outstanding, no work waits for a time, and all UAR pages are watched (watch.c), the
 * thread sleeps until it is woken. No doorbell is lost. The thread
 *
 *   1. counts itself as asleep,
 *   2. closes the pages: from then on, a store to a page waits and wakes the adapter,
 *   3. looks for work in one more turn: at all pages, and at the flags of lanes_are_at_rest(),
 *   4. sleeps, if it found no work.
 *
 * A doorbell that was stored before its page was closed is visible when closing returns, so step 3
 * finds it. A doorbell stored later is trapped: the page is opened, and the thread wakes and looks
 * again. Control calls, faults and other lanes may also add work. Either step 3 finds this work, or
 * the thread that adds it sees that this thread counts as asleep, and wakes it (wake.h).
 *
 * If sleeping until a wake is not possible, the thread sleeps for a limited time, at most
 * IDLE_SLEEP_MAX ns: a doorbell then waits no longer than this time.
 */
#include "idle.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "device_thread.h"
#include "exchange.h"
#include "fault.h"
#include "lane.h"
#include "lanes.h"
#include "mappings.h"
#include "spin.h"
#include "turns.h"
#include "uar.h"
#include "wake.h"
#include "wire_adapter.h"

#define IDLE_SPINS     64
#define IDLE_YIELDS    128
#define IDLE_SLEEP_MIN 20000
#define IDLE_SLEEP_MAX 500000
#define IDLE_MAX       (1u << 20)
#define NAP_MIN        2000  /* ns: shortest nap of serve_on_shared_cpu() */
#define NAP_MAX        50000 /* ns: longest nap of serve_on_shared_cpu() */
/* ns: a yield that takes longer than this gave the CPU to another thread */
#define YIELD_LONG     5000
#define LEAVE_PAUSE    1000000    /* ns: minimum time between two moves to another CPU */
#define LOST_FOR       1000000000 /* ns: time after a long yield in which lost_cpu() is true */
#define IDLE_NAP       30000      /* ns: a nap instead of a yield */
#define ASK_AGAIN      1000       /* ms: sleep of a thread whose QPs wait for answers */
#define YIELDS_PER_NAP 4

static bool
uar_is_at_rest(struct softhca_uar *uar)
{
	return !uar_calls(uar) && !atomic_load(&uar->again) && !atomic_load(&uar->timed);
}

/* True if no page has work and all pages are watched. Call this inside a turn (turns.h). */
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

/* True if other processes may send messages to the adapter. */
static bool
has_wire(const struct softhca_lanes *lanes)
{
	return lanes->wire != NULL && lanes->wire->n_names != 0;
}

/* True if no record of another process waits, and the next record wakes the first thread. */
static bool
wire_is_at_rest(struct softhca_lanes *lanes)
{
	return !has_wire(lanes) ||
	       (atomic_load(&lanes->sleep_fd) >= 0 && exchange_is_at_rest(lanes));
}

/* True if there is no work, and each thread that adds work wakes the sleeping threads. */
static bool
lanes_are_at_rest(struct softhca_lanes *lanes, struct lane_slot *slot)
{
	bool rest = wire_is_at_rest(lanes) && !atomic_load(&lanes->stop) &&
		    !atomic_load(&lanes->look) && !atomic_load(&lanes->pageless) &&
		    !fault_is_due(lanes->dev);

	turn_begin(slot);
	rest = rest && pages_are_at_rest(lanes);
	turn_end(slot);
	return rest;
}

/*
 * Returns the time, with a margin, that the program's thread needs until it has stored its
 * doorbell. For its store the kernel changes page tables, as it did when the page was opened, so
 * both take about the same time.
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
 * Serves a page on the CPU of the program's thread. Both threads are often on the same CPU, because
 * the scheduler wakes the adapter's thread on the CPU where the program's thread began to wait for
 * its page. The program now stores its doorbell in the page, and then polls. If the adapter's
 * thread moved to another CPU now, and this CPU sleeps, the WQE would run later: waking a CPU takes
 * long, above all on a virtual machine. So the adapter's thread naps until the doorbell is stored,
 * and runs the WQE on this CPU. It naps once more while the program takes the completion. Then it
 * moves, so that each of the two threads has its own CPU.
 *
 * If there is no doorbell after a nap, the nap may have been too short: the adapter took the CPU
 * before the program had stored. The scheduler does not often give the adapter the CPU so early, so
 * the second nap is longer.
 *
 * Returns false if the thread has moved to another CPU.
 */
static bool
serve_on_shared_cpu(struct softhca_lanes *lanes, struct lane_slot *slot, long nap_ns)
{
	if (nap_and_look(lanes, slot, nap_ns) || nap_and_look(lanes, slot, 2 * nap_ns))
		(void)nap_and_look(lanes, slot, nap_ns);
	return !device_thread_leave_cpu();
}

/*
 * Sleeps until a closed page is used, or until the thread is woken. The first thread of an adapter
 * opens pages itself, because the watcher would need longer to wake this thread. Returns the value
 * for lane_idle().
 */
static unsigned int
sleep_at_pages(struct softhca_lanes *lanes, struct lane_slot *slot)
{
	const int call_fd = atomic_load(&lanes->call_fd);
	const bool asks = lanes->wire != NULL && atomic_load(&lanes->wire->asking) != 0;
	struct epoll_event event = {.data.fd = call_fd};
	uint64_t calls, opening;
	int n = epoll_wait(atomic_load(&lanes->sleep_fd), &event, 1, asks ? ASK_AGAIN : -1);

	lanes_get_up(lanes);
	if (lanes->wire != NULL && (n <= 0 || event.data.fd == lanes->wire->poll_fd)) {
		/* makes the next turns look for records */
		slot->wire_turns = 0;
		return 0;
	}
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

/*
 * Sleeps until the thread is woken. Sets *idle to the value that lane_idle() returns. Returns false
 * if the thread could not sleep.
 */
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
 * Yields the CPU to a thread that waits for it. Often this is the program's thread, which polls for
 * a completion of the adapter. The scheduler keeps both threads on this CPU, because both have just
 * run there. Each operation then costs two context switches, about 16 us. So this thread moves to
 * another CPU. The other CPU may also be busy, so this thread moves at most once in LEAVE_PAUSE.
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
 * True if a yield took long lately. After a yield, the scheduler gives the CPU back at the end of
 * the other thread's slice. It checks for this end only at ticks, so this may take up to 4 ms. A
 * thread with short slices gets the CPU earlier, but only when it wakes up. So such a thread naps
 * instead of yielding, and its page stays open.
 */
static bool
lost_cpu(const struct lane_slot *slot)
{
	return slot->short_slices && slot->left_cpu != 0 &&
	       device_clock() - slot->left_cpu < LOST_FOR;
}

/* Naps until the time is over, or until a record of another process comes. */
static void
nap(struct softhca_lanes *lanes, struct lane_slot *slot, long ns)
{
	if (!has_wire(lanes))
		device_thread_nap(ns);
	else if (wire_sleep(lanes->wire, ns))
		slot->wire_turns = 0;
}

/*
 * Naps or yields. Returns the number of yields for which this call counts: a nap counts for
 * several.
 */
static unsigned int
let_others_run(struct softhca_lanes *lanes, struct lane_slot *slot)
{
	if (lost_cpu(slot)) {
		nap(lanes, slot, IDLE_NAP);
		return YIELDS_PER_NAP;
	}
	yield(slot);
	return 1;
}

static void
sleep_for_a_time(struct softhca_lanes *lanes, struct lane_slot *slot, unsigned int naps)
{
	long ns = IDLE_SLEEP_MIN;

	for (unsigned int i = 0; i < naps && ns < IDLE_SLEEP_MAX; i++)
		ns += ns / 16;
	nap(lanes, slot, ns);
}

unsigned int
lane_idle(struct softhca_lanes *lanes, struct lane_slot *slot, unsigned int idle)
{
	unsigned int turns = 1;

	if (idle < IDLE_SPINS)
		cpu_relax();
	else if (idle < IDLE_SPINS + IDLE_YIELDS)
		turns = let_others_run(lanes, slot);
	else if (sleep_until_called(lanes, slot, &idle))
		return idle;
	else
		sleep_for_a_time(lanes, slot, idle - IDLE_SPINS - IDLE_YIELDS);
	return idle < IDLE_MAX ? idle + turns : idle;
}
