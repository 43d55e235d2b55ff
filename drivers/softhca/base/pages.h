/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of pages that lanes go through without a lock. A published set never changes, except for its
 * marks: adding or removing a page publishes a changed copy and frees the old set when no turn can
 * still see it.
 */
#ifndef SOFTHCA_PAGES_H
#define SOFTHCA_PAGES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct page_set {
	unsigned int n;
	_Atomic uint64_t *marks; /* a bit for each page, for the set's users; set for a new page */
	void *v[];
};

static inline bool
page_is_marked(const struct page_set *set, unsigned int i)
{
	return atomic_load_explicit(&set->marks[i / 64], memory_order_relaxed) >> i % 64 & 1;
}

void page_mark(struct page_set *set, unsigned int i, bool mark);

/*
 * Publishes at *where a copy of the set there, with `add` in it and `drop` not (each may be NULL).
 * `lock` orders callers. Waits in softhca_quiesce(): not inside a turn. -ENOMEM.
 */
int page_set_replace(struct page_set *_Atomic *where, pthread_mutex_t *lock, void *add, void *drop);

#endif
