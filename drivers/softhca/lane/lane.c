/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *
 * Lanes: the scheduler that visits UAR pages, and the threads that run it.
 *
 * A lane is a device thread or a caller of softhca_pump(). In one turn it goes through UAR pages
 * and serves those that no other lane is serving. Doorbells are memory: one that a lane misses is
 * still there in the next turn. So a lane may skip a locked page, back off, or sleep, and loses
 * nothing.
 *
 * Pages that rang lately are warm: every turn looks at them. The other pages rest:
 *
 *   - A turn in which no warm page rang looks at all resting pages, so an idle adapter serves a
 *     first doorbell at once.
 *   - While warm pages keep a lane busy, it looks at one resting page for each REST_NS that pass.
 *     That takes about a hundredth of its time, however many pages rest. With n of them, a first
 *     doorbell waits at most n * REST_NS and the turn under way.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "clock_page.h"
#include "devices.h"
#include "fault.h"
#include "hca.h"
#include "lanes.h"
#include "retire.h"
#include "softhca.h"
#include "uar_queues.h"
#include "visit.h"
#include "wq.h"

/* ---- one turn */

static unsigned int
uar_visit_queues(struct softhca_uar *uar)
{
	bool again = false;
	unsigned int work = qps_visit(uar, &again);

	if (uar->wqs != NULL)
		again |= uar_visit_wqs(uar, &work);
	if (atomic_load_explicit(&uar->timed, memory_order_relaxed))
		again |= uar_cq_timers(uar);
	atomic_store_explicit(&uar->again, again, memory_order_relaxed);
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
	if (work != 0 || atomic_load_explicit(&uar->again, memory_order_relaxed) ||
		atomic_load_explicit(&uar->attention, memory_order_relaxed)) {
		/*
		 * Cleared before looking: the next turn sees a call for attention that comes from
		 * now on.
		 */
		atomic_exchange_explicit(&uar->attention, false, memory_order_acquire);
		work += uar_visit_queues(uar);
	}
	spin_unlock(&uar->lock);
	return work + (arm ? 1 : 0);
}

/*
 * Whether the page has something to serve. Without its lock, to make looking at silent pages
 * cheap.
 */
static bool
uar_calls(struct softhca_uar *uar)
{
	uint64_t bells = 0;

	for (unsigned int i = 0; i < UAR_BELLS; i++)
		bells |= atomic_load_explicit((_Atomic uint64_t *)(void *)(uar->page +
									   uar->bells[i]),
			memory_order_relaxed);
	return bells != 0 || atomic_load_explicit(&uar->again, memory_order_relaxed) ||
	       atomic_load_explicit(&uar->attention, memory_order_relaxed);
}

#define QUIET_TURNS 1024 /* turns without a doorbell until a warm page rests */
#define REST_NS     1000 /* see the top of this file */
#define REST_TURNS  8    /* busy turns between looks at the clock */
#define REST_CHUNK  32   /* resting pages that an idle lane looks at between looks at the warm */

/* A warm page did not ring in this turn: after QUIET_TURNS of them it rests. */
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

/* A busy lane's looks at resting pages, for the time since the last ones. */
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

/* Runs the turn that has begun in the slot, and ends it. */
static unsigned int
lane_turn(struct softhca_lanes *lanes, struct lane_slot *slot)
{
	struct page_set *set = atomic_load_explicit(&lanes->uars, memory_order_seq_cst);
	unsigned int work = 0;

	if (fault_watches(WATCH_TURNS))
		fault_tick(lanes->dev, softhca_event_device);
	clocks_tick(lanes);
	if (set != NULL && set->n != 0) {
		bool look = atomic_load_explicit(&lanes->look, memory_order_relaxed) &&
			    atomic_exchange_explicit(&lanes->look, false, memory_order_acquire);

		work = serve_warm(set);
		if (work == 0 || look)
			work += serve_all_resting(set, slot);
		else
			work += serve_due_resting(set, slot);
	}
	work += qps_fail_with_their_cqs(lanes);
	turn_end(slot);
	return work;
}

/* ---- device threads */

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

/*
 * An idle lane first spins, then yields, then sleeps: at most IDLE_SLEEP_MAX ns, so a doorbell
 * waits no longer.
 */
#define IDLE_SPINS     64
#define IDLE_YIELDS    128
#define IDLE_SLEEP_MIN 20000
#define IDLE_SLEEP_MAX 500000

static void
idle_back_off(unsigned int idle)
{
	long ns = IDLE_SLEEP_MIN;

	if (idle < IDLE_SPINS) {
		cpu_relax();
		return;
	}
	if (idle < IDLE_SPINS + IDLE_YIELDS) {
		sched_yield();
		return;
	}
	for (unsigned int i = IDLE_SPINS + IDLE_YIELDS; i < idle && ns < IDLE_SLEEP_MAX; i++)
		ns += ns / 16;
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

struct lane_start {
	struct softhca_lanes *lanes;
	unsigned int index;
};

static void *
lane_main(void *arg)
{
	struct lane_start start = *(struct lane_start *)arg;
	struct lane_slot *slot = &start.lanes->slots[start.index];
	unsigned int idle = 0;

	free(arg);
	if (process_cpus_known)
		sched_setaffinity(0, sizeof(process_cpus), &process_cpus);
	while (!atomic_load_explicit(&start.lanes->stop, memory_order_relaxed)) {
		turn_begin(slot);
		if (lane_turn(start.lanes, slot) != 0)
			idle = 0;
		else
			idle_back_off(idle < 1u << 20 ? idle++ : idle);
	}
	return NULL;
}

/* Device threads block all signals: handlers run on the program's own threads. */
static int
lane_start(struct softhca_lanes *lanes, unsigned int index)
{
	struct lane_start *start = malloc(sizeof(*start));
	sigset_t all, old;
	int err;

	if (start == NULL)
		return -ENOMEM;
	*start = (struct lane_start){.lanes = lanes, .index = index};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&lanes->threads[index], NULL, lane_main, start);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err != 0) {
		free(start);
		return -err;
	}
	pthread_setname_np(lanes->threads[index], "softhca");
	return 0;
}

int
softhca_lanes_init(struct softhca_dev *dev)
{
	struct softhca_lanes *lanes = aligned_alloc(CACHE_LINE, sizeof(*lanes));
	int err = 0;

	if (lanes == NULL)
		return -ENOMEM;
	memset(lanes, 0, sizeof(*lanes));
	lanes->dev = dev;
	fault_init(dev->cfg);
	pthread_mutex_init(&lanes->sets_lock, NULL);
	table_init(&lanes->keys);
	table_init(&lanes->psvs);
	table_init(&lanes->deks);
	table_init(&lanes->qps);
	table_init(&lanes->cqs);
	table_init(&lanes->srqs);
	__atomic_store_n(&dev->lanes, lanes, __ATOMIC_RELEASE);
	while (err == 0 && lanes->n_threads < dev->cfg->threads) {
		err = lane_start(lanes, lanes->n_threads);
		if (err == 0)
			lanes->n_threads++;
	}
	if (err != 0)
		softhca_lanes_fini(dev);
	return err;
}

void
softhca_lanes_fini(struct softhca_dev *dev)
{
	struct softhca_lanes *lanes = dev->lanes;

	if (lanes == NULL)
		return;
	atomic_store(&lanes->stop, true);
	for (unsigned int i = 0; i < lanes->n_threads; i++)
		pthread_join(lanes->threads[i], NULL);
	__atomic_store_n(&dev->lanes, NULL, __ATOMIC_RELEASE);
	table_fini(&lanes->keys);
	table_fini(&lanes->psvs);
	table_fini(&lanes->deks);
	table_fini(&lanes->qps);
	table_fini(&lanes->cqs);
	table_fini(&lanes->srqs);
	pthread_mutex_destroy(&lanes->sets_lock);
	free(atomic_load(&lanes->clocks));
	free(atomic_load(&lanes->uars));
	for (unsigned int i = 0; i < LANE_SLOTS; i++)
		retire_fini(&lanes->slots[i]);
	free(lanes);
}

/* ---- the pump */

unsigned int
softhca_pump(void)
{
	unsigned int n, work = 0;
	struct softhca_dev *devs = softhca_devices(&n);

	for (unsigned int d = 0; d < n; d++) {
		struct softhca_lanes *lanes = dev_lanes(&devs[d]);

		if (lanes != NULL)
			work += lane_turn(lanes, turn_claim(lanes));
	}
	return work;
}

#define SETTLE_TURNS 1024 /* at most, because other queues may go on ringing */

void
softhca_settle(struct softhca_dev *dev)
{
	for (unsigned int turns = 0; turns < SETTLE_TURNS && softhca_pump() != 0; turns++)
		;
	softhca_quiesce();
}
