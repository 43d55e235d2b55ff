/* SPDX-License-Identifier: BSD-3-Clause */
/* Who runs lanes: the device threads and the callers of softhca_pump(). Starting and ending them. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "devices.h"
#include "fault.h"
#include "hca.h"
#include "lane.h"
#include "lanes.h"
#include "retire.h"
#include "softhca.h"

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
