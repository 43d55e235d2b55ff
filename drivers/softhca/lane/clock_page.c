/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device's running clock in the program's memory: 8 bytes, big endian, one page for each
 * context (ibv_query_rt_values_ex(3)).
 *
 * On a card this counter is a register. Here a lane writes the counter to memory in each turn
 * (turns.h). So while a device thread is idle, the clock may be late by the time for which the
 * thread sleeps. While no thread runs the adapter, the clock does not change.
 */
#include "clock_page.h"

#include <endian.h>

#include "clock.h"
#include "hca.h"
#include "lanes.h"
#include "wake.h"

static void
clock_write(_Atomic uint64_t *word, uint64_t now)
{
	atomic_store_explicit(word, htobe64(now), memory_order_relaxed);
}

void
clock_tick(void *page)
{
	clock_write(page, device_clock());
}

void
clocks_tick(struct softhca_lanes *lanes)
{
	struct page_set *set = atomic_load_explicit(&lanes->clocks, memory_order_acquire);
	uint64_t now;

	if (set == NULL || set->n == 0)
		return;
	now = device_clock();
	for (unsigned int i = 0; i < set->n; i++)
		clock_write(set->v[i], now);
}

int
softhca_clock_add(struct softhca_dev *dev, void *page)
{
	struct softhca_lanes *lanes = dev->lanes;

	int err;

	clock_tick(page);
	err = page_set_replace(&lanes->clocks, &lanes->sets_lock, page, NULL);
	lanes_wake(lanes); /* the new page is not watched yet */
	return err;
}

int
softhca_clock_remove(struct softhca_dev *dev, void *page)
{
	struct softhca_lanes *lanes = dev->lanes;

	return page_set_replace(&lanes->clocks, &lanes->sets_lock, NULL, page);
}
