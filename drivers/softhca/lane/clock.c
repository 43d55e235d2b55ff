/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device's running clock, as programs map it: 8 bytes, big endian, one page for each context
 * (ibv_query_rt_values_ex(3)).
 *
 * A card's counter is a register. Here whoever runs the adapter writes it in every turn, so it lags
 * by as long as an idle device thread sleeps, and stands where nobody pumps.
 */
#include <errno.h>
#include <stdlib.h>

#include "data.h"

/* Never changed once published, as the set of UAR pages. */
struct clock_set {
	unsigned int n;
	_Atomic uint64_t *v[];
};

static void
clock_write(_Atomic uint64_t *word, uint64_t now)
{
	atomic_store_explicit(word, htobe64(now), memory_order_relaxed);
}

void
clocks_tick(struct softhca_lanes *lanes)
{
	struct clock_set *set = atomic_load_explicit(&lanes->clocks, memory_order_acquire);
	uint64_t now;

	if (set == NULL || set->n == 0)
		return;
	now = device_clock();
	for (unsigned int i = 0; i < set->n; i++)
		clock_write(set->v[i], now);
}

static struct clock_set *
clock_set_change(const struct clock_set *old, _Atomic uint64_t *add, _Atomic uint64_t *drop)
{
	unsigned int n = old == NULL ? 0 : old->n;
	struct clock_set *set = malloc(sizeof(*set) + (n + 1) * sizeof(set->v[0]));

	if (set == NULL)
		return NULL;
	set->n = 0;
	for (unsigned int i = 0; i < n; i++)
		if (old->v[i] != drop)
			set->v[set->n++] = old->v[i];
	if (add != NULL)
		set->v[set->n++] = add;
	return set;
}

static int
clock_set_replace(struct softhca_lanes *lanes, _Atomic uint64_t *add, _Atomic uint64_t *drop)
{
	struct clock_set *old, *set;

	pthread_mutex_lock(&lanes->uar_lock);
	old = atomic_load(&lanes->clocks);
	set = clock_set_change(old, add, drop);
	if (set != NULL)
		atomic_store(&lanes->clocks, set);
	pthread_mutex_unlock(&lanes->uar_lock);
	if (set == NULL)
		return -ENOMEM;
	softhca_quiesce(lanes->dev);
	free(old);
	return 0;
}

int
softhca_clock_add(struct softhca_dev *dev, void *page)
{
	clock_write(page, device_clock());
	return clock_set_replace(dev->lanes, page, NULL);
}

int
softhca_clock_remove(struct softhca_dev *dev, void *page)
{
	return clock_set_replace(dev->lanes, NULL, page);
}
