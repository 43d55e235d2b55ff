/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of pages that lanes read without a lock. A published set never changes, except for its
 * marks. To add or remove a page, page_set_replace() publishes a changed copy. It frees the old set
 * when all turns (turns.h) that may still read this set have ended.
 */
#ifndef SOFTHCA_PAGES_H
#define SOFTHCA_PAGES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct page_set {
	unsigned int n;
	/* One bit for each page, which users of the set read and write. It is 1 for a new page. */
	_Atomic uint64_t *marks;
	void *v[];
};

static inline bool
page_is_marked(const struct page_set *set, unsigned int i)
{
	return atomic_load_explicit(&set->marks[i / 64], memory_order_relaxed) >> i % 64 & 1;
}

void page_mark(struct page_set *set, unsigned int i, bool mark);

/*
 * Publishes at *where a copy of the set, with the page `add` and without the page `drop`. Each of
 * the two may be NULL. `lock` serializes callers. Waits in softhca_quiesce(), so it must not be
 * called inside a turn. Returns 0 or -ENOMEM.
 */
int page_set_replace(struct page_set *_Atomic *where, pthread_mutex_t *lock, void *add, void *drop);

#endif
