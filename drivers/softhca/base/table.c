/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables that map 24-bit numbers to objects: allocation of numbers. */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "clock.h"

#define TABLE_WINDOW (1u << 16)
#define TABLE_END    0xffffffu
#define TABLE_SPAN   (TABLE_END - TABLE_FIRST)

void
table_init(struct table *t)
{
	uint32_t seed = 0;

	/*
	 * Each table starts at a random number. Each process has adapters of its own. So if a
	 * program by mistake uses a number from another process, most likely no object of this
	 * process has that number.
	 */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint32_t)device_clock() * 2654435761u;
	pthread_mutex_init(&t->lock, NULL);
	t->window = TABLE_WINDOW;
	t->base = TABLE_FIRST + (seed >> 8) % TABLE_SPAN;
	t->next = 0;
	t->used = 0;
}

void
table_fini(struct table *t)
{
	for (uint32_t i = 0; i < TABLE_TOP; i++)
		free((void *)atomic_load_explicit(&t->top[i], memory_order_relaxed));
	pthread_mutex_destroy(&t->lock);
}

static _Atomic(void *) *
table_slot(struct table *t, uint32_t number)
{
	_Atomic(void *) *leaf =
		atomic_load_explicit(&t->top[number >> TABLE_LEAF_LOG], memory_order_acquire);

	if (leaf == NULL) {
		leaf = calloc(TABLE_LEAF, sizeof(*leaf));
		if (leaf == NULL)
			return NULL;
		atomic_store_explicit(&t->top[number >> TABLE_LEAF_LOG], leaf,
			memory_order_release);
	}
	return &leaf[number & (TABLE_LEAF - 1)];
}

/*
 * Numbers are taken in rising order from a window of t->window numbers. So a freed number is reused
 * only after all other numbers of the window. Until then, the use of the stale number is detected.
 */
static int
table_put_locked(struct table *t, void *obj, uint32_t *number)
{
	if (t->used > t->window / 2 && t->window < TABLE_SPAN / 2)
		t->window *= 2;
	for (uint32_t tries = 0; tries < t->window; tries++) {
		uint32_t at = t->next++ % t->window;
		uint32_t n = TABLE_FIRST + (t->base - TABLE_FIRST + at) % TABLE_SPAN;
		_Atomic(void *) *slot = table_slot(t, n);

		if (slot == NULL)
			return -ENOMEM;
		if (atomic_load_explicit(slot, memory_order_relaxed) != NULL)
			continue;
		/*
		 * The number is part of the object, so it must be written before lanes can see the
		 * object.
		 */
		*number = n;
		atomic_store_explicit(slot, obj, memory_order_seq_cst);
		t->used++;
		return 0;
	}
	return -ENOMEM;
}

int
table_put(struct table *t, void *obj, uint32_t *number)
{
	int err;

	pthread_mutex_lock(&t->lock);
	err = table_put_locked(t, obj, number);
	pthread_mutex_unlock(&t->lock);
	return err;
}

/* Returns 1 if all n numbers from `first` on are free, 0 if one of them is in use, or -ENOMEM. */
static int
range_is_free(struct table *t, uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		_Atomic(void *) *slot = table_slot(t, first + i);

		if (slot == NULL)
			return -ENOMEM;
		if (atomic_load_explicit(slot, memory_order_relaxed) != NULL)
			return false;
	}
	return true;
}

static int
table_put_range_locked(struct table *t, void *obj, uint32_t n, uint32_t *first)
{
	for (uint32_t tries = 0; tries < TABLE_END / n; tries++) {
		uint32_t at = (t->base + t->next) % TABLE_END / n * n;
		int is_free;

		t->next += n;
		if (at < TABLE_FIRST || at + n > TABLE_END)
			continue;
		is_free = range_is_free(t, at, n);
		if (is_free < 0)
			return is_free;
		if (!is_free)
			continue;
		for (uint32_t i = 0; i < n; i++)
			atomic_store_explicit(table_slot(t, at + i), obj, memory_order_seq_cst);
		t->used += n;
		*first = at;
		return 0;
	}
	return -ENOSPC;
}

int
table_put_range(struct table *t, void *obj, uint32_t n, uint32_t *first)
{
	int err;

	pthread_mutex_lock(&t->lock);
	err = table_put_range_locked(t, obj, n, first);
	pthread_mutex_unlock(&t->lock);
	return err;
}

void
table_set(struct table *t, uint32_t number, void *obj)
{
	pthread_mutex_lock(&t->lock);
	atomic_store_explicit(table_slot(t, number), obj, memory_order_seq_cst);
	pthread_mutex_unlock(&t->lock);
}

void
table_remove(struct table *t, uint32_t number)
{
	pthread_mutex_lock(&t->lock);
	atomic_store_explicit(table_slot(t, number), NULL, memory_order_seq_cst);
	t->used--;
	pthread_mutex_unlock(&t->lock);
}

bool
table_has_given(struct table *t, uint32_t number)
{
	uint32_t at = (number + TABLE_SPAN - t->base) % TABLE_SPAN;

	return number >= TABLE_FIRST && number < TABLE_END &&
	       at < atomic_load_explicit(&t->next, memory_order_relaxed) &&
	       at < atomic_load_explicit(&t->window, memory_order_relaxed);
}

bool
table_replace(struct table *t, uint32_t number, void *old, void *obj)
{
	return atomic_compare_exchange_strong_explicit(table_slot(t, number), &old, obj,
		memory_order_seq_cst, memory_order_relaxed);
}
