/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishes changed copies of sets of pages. */
#include "pages.h"

#include <errno.h>
#include <stdlib.h>

#include "turns.h"

void
page_mark(struct page_set *set, unsigned int i, bool mark)
{
	const uint64_t bit = UINT64_C(1) << i % 64;

	if (mark)
		atomic_fetch_or_explicit(&set->marks[i / 64], bit, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&set->marks[i / 64], ~bit, memory_order_relaxed);
}

static struct page_set *
page_set_new(unsigned int max)
{
	size_t pages = sizeof(struct page_set) + max * sizeof(void *);
	struct page_set *set = calloc(1, pages + (max + 63) / 64 * sizeof(uint64_t));

	if (set != NULL)
		set->marks = (_Atomic uint64_t *)(void *)((char *)set + pages);
	return set;
}

static void
page_set_add(struct page_set *set, void *page, bool mark)
{
	page_mark(set, set->n, mark);
	set->v[set->n++] = page;
}

static struct page_set *
page_set_change(const struct page_set *old, void *add, void *drop)
{
	unsigned int n = old == NULL ? 0 : old->n;
	struct page_set *set = page_set_new(n + 1);

	if (set == NULL)
		return NULL;
	for (unsigned int i = 0; i < n; i++)
		if (old->v[i] != drop)
			page_set_add(set, old->v[i], page_is_marked(old, i));
	if (add != NULL)
		page_set_add(set, add, true);
	return set;
}

int
page_set_replace(struct page_set *_Atomic *where, pthread_mutex_t *lock, void *add, void *drop)
{
	struct page_set *old, *set;

	pthread_mutex_lock(lock);
	old = atomic_load(where);
	set = page_set_change(old, add, drop);
	if (set != NULL)
		atomic_store(where, set);
	pthread_mutex_unlock(lock);
	if (set == NULL)
		return -ENOMEM;
	softhca_quiesce();
	free(old);
	return 0;
}
