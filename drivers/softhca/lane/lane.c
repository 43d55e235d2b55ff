/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes: the threads that run the adapter, the pages they scan, and waiting until they have left.
 *
 * A lane is a device thread or a caller of softhca_pump(). In one turn it goes through UAR pages and
 * serves those that no other lane is serving. Doorbells are memory: one that a lane passes by is
 * still there in the next turn, so nothing is lost by trying, by backing off, or by sleeping.
 *
 * Which pages? Those that rang lately are warm, and looked at in every turn. The others rest:
 *  - a turn in which nothing warm rang looks at all of them, so an idle adapter is found idle by
 *    looking, and a first doorbell is served at once;
 *  - while warm pages keep the lane busy, it looks at one resting page for each REST_NS that pass.
 *    That is about a hundredth of its time, however many rest, and with n of them a first doorbell
 *    waits for n * REST_NS at most (and for the turn under way).
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "fault.h"
#include "softhca.h"

/* ---- locks */

#if defined(__x86_64__) || defined(__i386__)
#define cpu_relax() __builtin_ia32_pause()
#else
#define cpu_relax() atomic_signal_fence(memory_order_seq_cst)
#endif

void
spin_lock_slow(struct spin *lock)
{
	for (unsigned int n = 1;; n++) {
		while (atomic_load_explicit(&lock->held, memory_order_relaxed) != 0) {
			if (n++ % 64 == 0)
				sched_yield();
			cpu_relax();
		}
		if (spin_trylock(lock))
			return;
	}
}

/* ---- breaches of protocol */

static atomic_ulong n_violations;

unsigned long
softhca_violations(void)
{
	return atomic_load(&n_violations);
}

void
violation(const char *fmt, ...)
{
	unsigned long n = atomic_fetch_add(&n_violations, 1) + 1;
	char text[256];
	va_list ap;

	/* A broken program breaks the rule at every doorbell: the first lines say it, then few do. */
	if (n > 64 && (n & (n - 1)) != 0)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	softhca_log("%s", text);
}

/* ---- UAR pages */

/* The pages of one adapter. Once published only their warmth changes: others make a new set. */
struct uar_set {
	unsigned int n;
	_Atomic uint64_t *warm; /* one bit a page */
	struct softhca_uar *v[];
};

static bool
set_is_warm(const struct uar_set *set, unsigned int i)
{
	return atomic_load_explicit(&set->warm[i / 64], memory_order_relaxed) >> i % 64 & 1;
}

static void
set_warm(struct uar_set *set, unsigned int i, bool warm)
{
	const uint64_t bit = UINT64_C(1) << i % 64;

	if (warm)
		atomic_fetch_or_explicit(&set->warm[i / 64], bit, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&set->warm[i / 64], ~bit, memory_order_relaxed);
}

static struct uar_set *
set_new(unsigned int max)
{
	size_t pages = sizeof(struct uar_set) + max * sizeof(struct softhca_uar *);
	struct uar_set *set = calloc(1, pages + (max + 63) / 64 * sizeof(uint64_t));

	if (set != NULL)
		set->warm = (_Atomic uint64_t *)(void *)((char *)set + pages);
	return set;
}

static void
set_add(struct uar_set *set, struct softhca_uar *uar, bool warm)
{
	set_warm(set, set->n, warm);
	set->v[set->n++] = uar;
}

void
uar_call_attention(struct softhca_uar *uar)
{
	atomic_store_explicit(&uar->attention, true, memory_order_release);
	atomic_store_explicit(&uar->dev->lanes->look, true, memory_order_release);
}

void
uar_lock(struct softhca_uar *uar)
{
	spin_lock(&uar->lock);
}

void
uar_unlock(struct softhca_uar *uar)
{
	spin_unlock(&uar->lock);
}

/* The set with one page more, or with one less; NULL: no memory. */
static struct uar_set *
uar_set_change(const struct uar_set *old, struct softhca_uar *add, struct softhca_uar *drop)
{
	unsigned int n = old == NULL ? 0 : old->n;
	struct uar_set *set = set_new(n + 1);

	if (set == NULL)
		return NULL;
	for (unsigned int i = 0; i < n; i++)
		if (old->v[i] != drop)
			set_add(set, old->v[i], set_is_warm(old, i));
	if (add != NULL)
		set_add(set, add, true);
	return set;
}

static int
uar_set_replace(struct softhca_lanes *lanes, struct softhca_uar *add, struct softhca_uar *drop)
{
	struct uar_set *old, *set;

	pthread_mutex_lock(&lanes->uar_lock);
	old = atomic_load(&lanes->uars);
	set = uar_set_change(old, add, drop);
	if (set != NULL)
		atomic_store(&lanes->uars, set);
	pthread_mutex_unlock(&lanes->uar_lock);
	if (set == NULL)
		return -ENOMEM;
	softhca_quiesce(lanes->dev);
	free(old);
	return 0;
}

int
softhca_uar_create(struct softhca_dev *dev, void *page, uint32_t page_id,
	enum softhca_uar_type type, struct softhca_uar **out)
{
	struct softhca_uar *uar = aligned_alloc(CACHE_LINE, sizeof(*uar));
	int err;

	if (uar == NULL)
		return -ENOMEM;
	memset(uar, 0, sizeof(*uar));
	uar->dev = dev;
	uar->page = page;
	uar->page_id = page_id;
	uar->bf_len = type == SOFTHCA_UAR_BF ? dev->cfg->bf_reg_size / 2 : 0;
	if (uar->bf_len > BF_MAX_WORDS * 8)
		uar->bf_len = BF_MAX_WORDS * 8;
	doorbells_init(uar);
	err = uar_set_replace(dev->lanes, uar, NULL);
	if (err != 0) {
		free(uar);
		return err;
	}
	*out = uar;
	return 0;
}

int
softhca_uar_destroy(struct softhca_uar *uar)
{
	bool busy;
	int err;

	uar_lock(uar);
	busy = uar->n_qps != 0 || uar->n_cqs != 0;
	uar_unlock(uar);
	if (busy)
		return -EBUSY;
	err = uar_set_replace(uar->dev->lanes, NULL, uar);
	if (err != 0)
		return err;
	free(uar->qps);
	free(uar->cqs);
	free(uar);
	return 0;
}

static int
list_grow(void *list, unsigned int n, unsigned int *max, size_t entry)
{
	unsigned int want = *max == 0 ? 4 : *max * 2;
	void *p;

	if (n < *max)
		return 0;
	p = realloc(*(void **)list, want * entry);
	if (p == NULL)
		return -ENOMEM;
	*(void **)list = p;
	*max = want;
	return 0;
}

int
uar_attach_qp(struct softhca_uar *uar, struct softhca_qp *qp)
{
	int err;

	uar_lock(uar);
	err = list_grow(&uar->qps, uar->n_qps, &uar->max_qps, sizeof(*uar->qps));
	if (err == 0)
		uar->qps[uar->n_qps++] = qp;
	uar_unlock(uar);
	return err;
}

/*
 * With two queues left on a page, doorbells announced nothing; the one that stays is announced as
 * far as it has been posted, since its doorbells may have been overwritten.
 */
static void
uar_announce_rest(struct softhca_uar *uar)
{
	struct softhca_qp *qp;

	if (uar->n_qps != 1)
		return;
	qp = uar->qps[0];
	if (qp_state(qp) == QP_RESET)
		return;
	qp->announced =
		(uint16_t)be32toh(atomic_load_explicit(&qp->dbrec[DB_SEND], memory_order_acquire));
	uar_call_attention(uar);
}

static void
uar_arm_cqs(struct softhca_uar *uar)
{
	for (unsigned int i = 0; i < uar->n_cqs; i++)
		cq_take_arm(uar->cqs[i]);
}

void
uar_discard_doorbells(struct softhca_uar *uar)
{
	bool arm = false;

	doorbells_take(uar, &arm);
	if (arm)
		uar_arm_cqs(uar);
	uar_call_attention(uar);
}

void
uar_detach_qp(struct softhca_uar *uar, struct softhca_qp *qp)
{
	unsigned int i = 0;

	uar_lock(uar);
	uar_discard_doorbells(uar);
	while (uar->qps[i] != qp)
		i++;
	uar->qps[i] = uar->qps[--uar->n_qps];
	uar_announce_rest(uar);
	uar_unlock(uar);
}

int
uar_attach_cq(struct softhca_uar *uar, struct softhca_cq *cq)
{
	int err;

	uar_lock(uar);
	err = list_grow(&uar->cqs, uar->n_cqs, &uar->max_cqs, sizeof(*uar->cqs));
	if (err == 0)
		uar->cqs[uar->n_cqs++] = cq;
	uar_unlock(uar);
	return err;
}

void
uar_detach_cq(struct softhca_uar *uar, struct softhca_cq *cq)
{
	unsigned int i = 0;

	uar_lock(uar);
	while (uar->cqs[i] != cq)
		i++;
	uar->cqs[i] = uar->cqs[--uar->n_cqs];
	uar_unlock(uar);
}

/* ---- one turn */

/* Events of CQs that wait for their time. Cleared before looking, as `attention`. */
static bool
uar_cq_timers(struct softhca_uar *uar)
{
	uint64_t now = device_clock();
	bool wait = false;

	atomic_exchange_explicit(&uar->timed, false, memory_order_acquire);
	for (unsigned int i = 0; i < uar->n_cqs; i++)
		wait |= cq_event_timer(uar->cqs[i], now);
	if (wait)
		atomic_store_explicit(&uar->timed, true, memory_order_relaxed);
	return wait;
}

static unsigned int
uar_visit_qps(struct softhca_lanes *lanes, struct softhca_uar *uar)
{
	struct run run = {.lanes = lanes};
	bool again = false;

	for (unsigned int i = 0; i < uar->n_qps; i++) {
		run.qp = uar->qps[i];
		again |= sq_visit(&run);
		run.qp->rang = false;
	}
	if (uar->wqs != NULL)
		again |= uar_visit_wqs(&run, uar);
	if (atomic_load_explicit(&uar->timed, memory_order_relaxed))
		again |= uar_cq_timers(uar);
	atomic_store_explicit(&uar->again, again, memory_order_relaxed);
	return run.work;
}

static unsigned int
uar_serve(struct softhca_lanes *lanes, struct softhca_uar *uar)
{
	unsigned int work;
	bool arm = false;

	if (!spin_trylock(&uar->lock))
		return 0;
	work = doorbells_take(uar, &arm);
	if (arm)
		uar_arm_cqs(uar);
	if (work != 0 || atomic_load_explicit(&uar->again, memory_order_relaxed) ||
		atomic_load_explicit(&uar->attention, memory_order_relaxed)) {
		/* Cleared before looking: what calls from now on is seen by the next turn. */
		atomic_exchange_explicit(&uar->attention, false, memory_order_acquire);
		work += uar_visit_qps(lanes, uar);
	}
	spin_unlock(&uar->lock);
	return work + (arm ? 1 : 0);
}

/* Whether there is anything to serve on a page; without its lock, so that passing by is cheap. */
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

#define QUIET_TURNS 1024 /* without a doorbell until a page rests */
#define REST_NS     1000 /* see the top of this file */
#define REST_TURNS  8    /* busy turns between looks at the clock */
#define REST_CHUNK  32   /* resting pages that an idle lane looks at between looks at the warm */

/* A warm page that is silent for long becomes a resting one. */
static void
page_cools(struct uar_set *set, unsigned int i)
{
	atomic_uint *quiet = &set->v[i]->quiet;
	unsigned int turns = atomic_load_explicit(quiet, memory_order_relaxed) + 1;

	atomic_store_explicit(quiet, turns, memory_order_relaxed);
	if (turns >= QUIET_TURNS)
		set_warm(set, i, false);
}

static unsigned int
serve_warm(struct softhca_lanes *lanes, struct uar_set *set)
{
	unsigned int work = 0;

	for (unsigned int w = 0; w * 64 < set->n; w++) {
		uint64_t bits = atomic_load_explicit(&set->warm[w], memory_order_relaxed);

		for (; bits != 0; bits &= bits - 1) {
			unsigned int i = w * 64 + (unsigned int)__builtin_ctzll(bits);

			if (!uar_calls(set->v[i])) {
				page_cools(set, i);
				continue;
			}
			atomic_store_explicit(&set->v[i]->quiet, 0, memory_order_relaxed);
			work += uar_serve(lanes, set->v[i]);
		}
	}
	return work;
}

static unsigned int
serve_resting(struct softhca_lanes *lanes, struct uar_set *set, struct lane_slot *slot,
	unsigned int n)
{
	unsigned int work = 0;

	for (; n != 0; n--) {
		unsigned int i = slot->cursor++ % set->n;

		if (set_is_warm(set, i) || !uar_calls(set->v[i]))
			continue;
		atomic_store_explicit(&set->v[i]->quiet, 0, memory_order_relaxed);
		set_warm(set, i, true);
		work += uar_serve(lanes, set->v[i]);
	}
	return work;
}

static unsigned int
serve_all_resting(struct softhca_lanes *lanes, struct uar_set *set, struct lane_slot *slot)
{
	unsigned int work = 0;

	for (unsigned int n = 0; n < set->n; n += REST_CHUNK) {
		unsigned int left = set->n - n;

		if (n != 0)
			work += serve_warm(lanes, set);
		work += serve_resting(lanes, set, slot, left < REST_CHUNK ? left : REST_CHUNK);
	}
	return work;
}

/* A busy lane's share for the pages that rest. */
static unsigned int
serve_due_resting(struct softhca_lanes *lanes, struct uar_set *set, struct lane_slot *slot)
{
	uint64_t now, due;

	if (++slot->busy_turns % REST_TURNS != 0)
		return 0;
	now = device_clock();
	due = (now - slot->looked_at) / REST_NS;
	slot->looked_at = now;
	return serve_resting(lanes, set, slot, due < set->n ? (unsigned int)due : set->n);
}

static _Thread_local struct lane_slot *current_slot;

struct lane_slot *
lane_slot_current(void)
{
	return current_slot;
}

/* The slot's epoch is odd, and this lane made it so. */
static unsigned int
lane_turn(struct softhca_lanes *lanes, struct lane_slot *slot)
{
	struct uar_set *set = atomic_load_explicit(&lanes->uars, memory_order_seq_cst);
	unsigned int work = 0;

	current_slot = slot;
	if (machine_is(MACHINE_TICK))
		fault_tick(lanes->dev, false);
	clocks_tick(lanes);
	if (set != NULL && set->n != 0) {
		bool look = atomic_load_explicit(&lanes->look, memory_order_relaxed) &&
			    atomic_exchange_explicit(&lanes->look, false, memory_order_acquire);

		work = serve_warm(lanes, set);
		if (work == 0 || look)
			work += serve_all_resting(lanes, set, slot);
		else
			work += serve_due_resting(lanes, set, slot);
	}
	work += qps_fail_with_their_cqs(lanes);
	atomic_fetch_add_explicit(&slot->epoch, 1, memory_order_release);
	return work;
}

void
lanes_call_attention(struct softhca_dev *dev)
{
	/* Called inside a turn: the set cannot go away. */
	struct uar_set *set = atomic_load(&dev->lanes->uars);

	for (unsigned int i = 0; set != NULL && i < set->n; i++)
		uar_call_attention(set->v[i]);
}

static void
slot_wait(struct lane_slot *slot)
{
	unsigned int epoch = atomic_load_explicit(&slot->epoch, memory_order_seq_cst);

	for (unsigned int n = 0; epoch & 1; n++) {
		if (n < 256)
			sched_yield();
		else
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		if (atomic_load_explicit(&slot->epoch, memory_order_acquire) != epoch)
			return;
	}
}

void
softhca_quiesce(struct softhca_dev *dev)
{
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);

	/* A connection may lead from one adapter to another, so the lanes of each may look here. */
	for (unsigned int d = 0; d < n; d++) {
		struct softhca_lanes *lanes = dev_lanes(&devs[d]);

		for (unsigned int i = 0; lanes != NULL && i < LANE_SLOTS; i++)
			slot_wait(&lanes->slots[i]);
	}
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

/* Busy, then polite, then asleep: at most IDLE_SLEEP_MAX ns late when a doorbell rings again. */
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
		/* Full barrier: a quiesce that misses this turn has unpublished before it loads. */
		atomic_fetch_add_explicit(&slot->epoch, 1, memory_order_seq_cst);
		if (lane_turn(start.lanes, slot) != 0)
			idle = 0;
		else
			idle_back_off(idle < 1u << 20 ? idle++ : idle);
	}
	return NULL;
}

/* The program's signals are the program's threads' business. */
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
	timing_init(dev->cfg);
	pthread_mutex_init(&lanes->uar_lock, NULL);
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
	pthread_mutex_destroy(&lanes->uar_lock);
	free(atomic_load(&lanes->clocks));
	free(atomic_load(&lanes->uars));
	for (unsigned int i = 0; i < LANE_SLOTS; i++)
		retire_fini(&lanes->slots[i]);
	free(lanes);
}

/* ---- the pump */

static _Thread_local unsigned int pump_slot;

/* Odd epoch by compare-and-swap: a slot belongs to whoever turned it odd. */
static bool
slot_claim(struct lane_slot *slot)
{
	unsigned int epoch = atomic_load_explicit(&slot->epoch, memory_order_relaxed);

	return !(epoch & 1) && atomic_compare_exchange_strong(&slot->epoch, &epoch, epoch + 1);
}

static struct lane_slot *
slot_claim_any(struct softhca_lanes *lanes)
{
	const unsigned int n = LANE_SLOTS - SOFTHCA_MAX_THREADS;

	for (unsigned int tries = 1;; tries++) {
		struct lane_slot *slot = &lanes->slots[SOFTHCA_MAX_THREADS + pump_slot % n];

		if (slot_claim(slot))
			return slot;
		pump_slot++;
		if (tries % n == 0)
			sched_yield();
	}
}

struct lane_slot *
lanes_enter(struct softhca_lanes *lanes)
{
	return slot_claim_any(lanes);
}

void
lanes_leave(struct lane_slot *slot)
{
	atomic_fetch_add_explicit(&slot->epoch, 1, memory_order_release);
}

unsigned int
softhca_pump(void)
{
	unsigned int n, work = 0;
	struct softhca_dev *devs = softhca_devices(&n);

	for (unsigned int d = 0; d < n; d++) {
		struct softhca_lanes *lanes = dev_lanes(&devs[d]);

		if (lanes != NULL)
			work += lane_turn(lanes, slot_claim_any(lanes));
	}
	return work;
}
