/* SPDX-License-Identifier: BSD-3-Clause */
/* The callers of lanes: device threads, which are started and ended here, and softhca_pump(). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device_thread.h"
#include "devices.h"
#include "exchange.h"
#include "fault.h"
#include "hca.h"
#include "idle.h"
#include "kept.h"
#include "lane.h"
#include "lanes.h"
#include "retire.h"
#include "softhca.h"
#include "wake.h"
#include "wire_adapter.h"

/* ---- device threads */

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
	if (start.index == 0)
		/* The first thread opens pages: idle.c. */
		slot->short_slices = device_thread_take_short_slices();
	while (!atomic_load_explicit(&start.lanes->stop, memory_order_relaxed)) {
		turn_begin(slot);
		if (lane_turn(start.lanes, slot) != 0)
			idle = 0;
		else
			idle = lane_idle(start.lanes, slot, idle);
	}
	return NULL;
}

static int
lane_start(struct softhca_lanes *lanes, unsigned int index)
{
	struct lane_start *start = malloc(sizeof(*start));
	int err;

	if (start == NULL)
		return -ENOMEM;
	*start = (struct lane_start){.lanes = lanes, .index = index};
	err = device_thread(&lanes->threads[index], "softhca", lane_main, start);
	if (err != 0)
		free(start);
	return err;
}

/* ---- start and end */

int
softhca_lanes_init(struct softhca_dev *dev)
{
	struct softhca_lanes *lanes = aligned_alloc(CACHE_LINE, sizeof(*lanes));
	int err = 0;

	if (lanes == NULL)
		return -ENOMEM;
	memset(lanes, 0, sizeof(*lanes));
	lanes->dev = dev;
	if (dev->cfg->wire != SOFTHCA_WIRE_OFF) {
		lanes->wire = wire_create(dev);
		if (lanes->wire == NULL) {
			free(lanes);
			return -ENOMEM;
		}
	}
	lanes->call_fd = lanes->sleep_fd = -1;
	fault_init(dev->cfg);
	pthread_mutex_init(&lanes->sets_lock, NULL);
	pthread_mutex_init(&lanes->kept_lock, NULL);
	table_init(&lanes->keys);
	table_init(&lanes->psvs);
	table_init(&lanes->deks);
	if (lanes->wire != NULL)
		table_init_blocks(&lanes->qps, wire_claim, lanes->wire);
	else
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
	lanes_wake(lanes);
	for (unsigned int i = 0; i < lanes->n_threads; i++)
		pthread_join(lanes->threads[i], NULL);
	__atomic_store_n(&dev->lanes, NULL, __ATOMIC_RELEASE);
	kept_fini(lanes);
	table_fini(&lanes->keys);
	table_fini(&lanes->psvs);
	table_fini(&lanes->deks);
	table_fini(&lanes->qps);
	wire_destroy(lanes->wire);
	table_fini(&lanes->cqs);
	table_fini(&lanes->srqs);
	pthread_mutex_destroy(&lanes->sets_lock);
	free(atomic_load(&lanes->clocks));
	free(atomic_load(&lanes->uars));
	for (unsigned int i = 0; i < LANE_SLOTS; i++)
		retire_fini(&lanes->slots[i]);
	free(lanes);
}

void
softhca_lanes_user_changed(struct softhca_dev *dev)
{
	struct softhca_lanes *lanes = dev_lanes(dev);

	if (lanes != NULL && lanes->wire != NULL)
		wire_user_changed(lanes->wire);
}

/* ---- the pump */

/*
 * A turn of a thread of the program. The thread may not call again, so sleeping threads of the
 * adapter are woken if records are left.
 */
static unsigned int
pump(struct softhca_lanes *lanes)
{
	const unsigned int work = lane_turn(lanes, turn_claim(lanes));

	if (lanes->wire != NULL && atomic_load(&lanes->asleep) != 0 && !exchange_is_at_rest(lanes))
		lanes_wake(lanes);
	return work;
}

unsigned int
softhca_pump(void)
{
	unsigned int n, work = 0;
	struct softhca_dev *devs = softhca_devices(&n);

	for (unsigned int d = 0; d < n; d++) {
		struct softhca_lanes *lanes = dev_lanes(&devs[d]);

		if (lanes != NULL)
			work += pump(lanes);
	}
	return work;
}

#define SETTLE_TURNS 1024 /* limited, because other queues may continue to ring */

void
softhca_settle(struct softhca_dev *dev)
{
	for (unsigned int turns = 0; turns < SETTLE_TURNS && softhca_pump() != 0; turns++)
		;
	softhca_quiesce();
}

/*
 * Two turns are needed. The first turn may leave out a page that another lane is serving, and that
 * lane may have looked at the page's doorbells before the last doorbell rang. The second turn
 * serves that doorbell, unless another lane is already serving it.
 */
void
softhca_catch_up(struct softhca_dev *dev)
{
	struct softhca_lanes *lanes = dev_lanes(dev);

	for (unsigned int turns = 0; turns < 2; turns++) {
		atomic_store(&lanes->look, true);
		(void)pump(lanes);
		softhca_quiesce();
	}
}
