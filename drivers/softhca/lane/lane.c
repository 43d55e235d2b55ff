/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scheduler of lanes: decides which UAR pages a turn visits.
 *
 * A lane is a device thread or a caller of softhca_pump(). In a turn (turns.h) a lane reads the
 * doorbells of UAR pages. If a page has a new doorbell (it "rings") or asks for a visit, the lane
 * visits the page's queues. The lane leaves out a page that another lane is serving. A doorbell
 * stays in memory, so a lane that misses a doorbell finds it in the next turn. For this reason a
 * lane may leave out a locked page, back off or sleep.
 *
 * Pages that rang lately are "warm": every turn reads their doorbells. All other pages are
 * "resting":
 *
 *   - If no warm page rang in a turn, this turn also reads the doorbells of all resting pages. So
 *     an idle adapter serves a first doorbell at once.
 *   - While warm pages keep a lane busy, it reads the doorbell of one resting page every REST_NS.
 *     This takes about a hundredth of the lane's time, for any number of resting pages. With n
 *     resting pages, a first doorbell waits at most n * REST_NS and the rest of the current turn.
 */
#include "lane.h"

#include "clock.h"
#include "clock_page.h"
#include "exchange.h"
#include "fault.h"
#include "hca.h"
#include "lanes.h"
#include "uar_queues.h"
#include "visit.h"
#include "wake.h"
#include "wire_adapter.h"
#include "wq.h"

/* Visits the queues of a page. all: also visits queues that do not ask for a visit. */
static unsigned int
uar_visit_queues(struct softhca_uar *uar, bool all)
{
	bool again = false;
	unsigned int work = qps_visit(uar, all, &again);

	if (uar->wqs != NULL)
		again |= uar_visit_wqs(uar, &work);
	if (atomic_load_explicit(&uar->timed, memory_order_relaxed))
		again |= uar_cq_timers(uar);
	if (again) {
		/*
		 * Other lanes are woken: this lane may be a caller of softhca_pump() that does not
		 * call again.
		 */
		atomic_store(&uar->again, true);
		lanes_wake(uar->dev->lanes);
	} else {
		atomic_store_explicit(&uar->again, false, memory_order_relaxed);
	}
	return work;
}

static unsigned int
uar_serve(struct softhca_uar *uar)
{
	unsigned int work;
	bool arm = false;

	if (!spin_trylock(&uar->lock))
		return 0;
	work = uar_take_doorbells(uar, &arm);
	if ((work != 0 || arm) && atomic_load_explicit(&uar->awaited, memory_order_relaxed))
		atomic_store_explicit(&uar->awaited, false, memory_order_relaxed);
	if (work != 0 || atomic_load_explicit(&uar->again, memory_order_relaxed) ||
		atomic_load_explicit(&uar->attention, memory_order_relaxed)) {
		/*
		 * `attention` is cleared before the visit. So if it is set during the visit, the
		 * next turn sees this.
		 */
		bool all = atomic_exchange_explicit(&uar->attention, false, memory_order_acquire);

		work += uar_visit_queues(uar, all);
	}
	spin_unlock(&uar->lock);
	return work + (arm ? 1 : 0);
}

bool
uar_calls(struct softhca_uar *uar)
{
	uint64_t bells = 0;

	for (unsigned int i = 0; i < UAR_BELLS; i++)
		bells |=
			atomic_load_explicit(uar_word(uar, uar_bell(uar, i)), memory_order_relaxed);
	return bells != 0 || atomic_load_explicit(&uar->again, memory_order_relaxed) ||
	       atomic_load_explicit(&uar->attention, memory_order_relaxed);
}

#define QUIET_TURNS 1024 /* number of turns without a doorbell after which a warm page rests */
/* ns between two readings of a resting page's doorbell: see the top of this file */
#define REST_NS    1000
#define REST_TURNS 8 /* number of busy turns between two readings of the clock */
/* The number of resting pages that an idle lane looks at before it looks at warm pages again. */
#define REST_CHUNK 32

/*
 * Called when a warm page did not ring in this turn. After QUIET_TURNS such turns the page rests.
 */
static void
page_cools(struct page_set *set, unsigned int i)
{
	struct softhca_uar *uar = set->v[i];
	atomic_uint *quiet = &uar->quiet;
	unsigned int turns = atomic_load_explicit(quiet, memory_order_relaxed) + 1;

	atomic_store_explicit(quiet, turns, memory_order_relaxed);
	if (turns >= QUIET_TURNS)
		page_mark(set, i, false);
}

static unsigned int
serve_warm(struct page_set *set)
{
	unsigned int work = 0;

	for (unsigned int w = 0; w * 64 < set->n; w++) {
		uint64_t bits = atomic_load_explicit(&set->marks[w], memory_order_relaxed);

		for (; bits != 0; bits &= bits - 1) {
			unsigned int i = w * 64 + (unsigned int)__builtin_ctzll(bits);
			struct softhca_uar *uar = set->v[i];

			if (!uar_calls(uar)) {
				page_cools(set, i);
				continue;
			}
			atomic_store_explicit(&uar->quiet, 0, memory_order_relaxed);
			work += uar_serve(uar);
		}
	}
	return work;
}

static unsigned int
serve_resting(struct page_set *set, struct lane_slot *slot, unsigned int n)
{
	unsigned int work = 0;

	for (; n != 0; n--) {
		unsigned int i = slot->cursor++ % set->n;
		struct softhca_uar *uar = set->v[i];

		if (page_is_marked(set, i) || !uar_calls(uar))
			continue;
		atomic_store_explicit(&uar->quiet, 0, memory_order_relaxed);
		page_mark(set, i, true);
		work += uar_serve(uar);
	}
	return work;
}

static unsigned int
serve_all_resting(struct page_set *set, struct lane_slot *slot)
{
	unsigned int work = 0;

	for (unsigned int n = 0; n < set->n; n += REST_CHUNK) {
		unsigned int left = set->n - n;

		if (n != 0)
			work += serve_warm(set);
		work += serve_resting(set, slot, left < REST_CHUNK ? left : REST_CHUNK);
	}
	return work;
}

/* Looks at resting pages: one page for each REST_NS since the last look. */
static unsigned int
serve_due_resting(struct page_set *set, struct lane_slot *slot)
{
	uint64_t now, due;

	if (++slot->busy_turns % REST_TURNS != 0)
		return 0;
	now = device_clock();
	due = (now - slot->looked_at) / REST_NS;
	slot->looked_at = now;
	return serve_resting(set, slot, due < set->n ? (unsigned int)due : set->n);
}

/*
 * Records of other processes are looked for once in this number of turns, because each look is a
 * system call, which takes as long as several turns without work.
 */
#define WIRE_TURNS_BUSY 4   /* records came lately */
#define WIRE_TURNS      16  /* no record came in the last WIRE_QUIET looks */
#define WIRE_TURNS_NONE 256 /* the adapter has no QP, or wire = off */
#define WIRE_QUIET      1024

/*
 * Looks for records of other processes. After a turn with a record, the next turn looks, too. A
 * lane that goes to sleep does not look, because a record wakes it.
 */
static unsigned int __attribute__((noinline))
serve_wire(struct softhca_lanes *lanes, struct lane_slot *slot)
{
	struct wire *wire = lanes->wire;
	unsigned int work, quiet;

	slot->wire_turns = WIRE_TURNS_NONE;
	if (wire == NULL || wire->n_names == 0)
		return 0;
	work = exchange(lanes);
	quiet = work != 0 ? 0 : atomic_load_explicit(&wire->quiet, memory_order_relaxed) + 1;
	slot->wire_turns = quiet == 0 ? 0 : quiet < WIRE_QUIET ? WIRE_TURNS_BUSY : WIRE_TURNS;
	if (quiet <= WIRE_QUIET)
		atomic_store_explicit(&wire->quiet, quiet, memory_order_relaxed);
	return work;
}

unsigned int
lane_turn(struct softhca_lanes *lanes, struct lane_slot *slot)
{
	struct page_set *set = atomic_load_explicit(&lanes->uars, memory_order_seq_cst);
	unsigned int work = 0, warm;

	if (fault_watches(WATCH_TURNS))
		fault_tick(lanes->dev, lanes->dev->send_event);
	clocks_tick(lanes);
	if (__builtin_expect(slot->wire_turns-- == 0, 0))
		work = serve_wire(lanes, slot);
	if (set != NULL && set->n != 0) {
		bool look = atomic_load_explicit(&lanes->look, memory_order_relaxed) &&
			    atomic_exchange_explicit(&lanes->look, false, memory_order_acquire);

		warm = serve_warm(set);
		if (warm == 0 || look)
			warm += serve_all_resting(set, slot);
		else
			warm += serve_due_resting(set, slot);
		work += warm;
	}
	work += qps_visit_pageless(lanes);
	turn_end(slot);
	return work;
}
