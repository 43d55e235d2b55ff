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

/*
 * The first number is random. So if a program by mistake uses a number of another process or of an
 * earlier run, most likely no object of this process has this number.
 */
static uint32_t
random_below(uint32_t n)
{
	uint32_t seed = 0;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uint32_t)device_clock() * 2654435761u;
	return (seed >> 8) % n;
}

void
table_init(struct table *t)
{
	pthread_mutex_init(&t->lock, NULL);
	t->window = TABLE_WINDOW;
	t->base = TABLE_FIRST + random_below(TABLE_SPAN);
	t->next = 0;
	t->used = 0;
	t->claim = NULL;
	t->blocks = NULL;
}

void
table_init_blocks(struct table *t, table_claim *claim, void *arg)
{
	table_init(t);
	t->window = 0;
	t->claim = claim;
	t->claim_arg = arg;
	t->given = TABLE_REST;
}

void
table_fini(struct table *t)
{
	for (uint32_t i = 0; i < TABLE_TOP; i++)
		free((void *)atomic_load_explicit(&t->top[i], memory_order_relaxed));
	free(t->blocks);
	pthread_mutex_destroy(&t->lock);
}

/*
 * In a table of blocks, the slots of a leaf are followed by a word for each number: the value of
 * t->given when the number last became free, or 0.
 */
static _Atomic uint32_t *
freed_at(_Atomic(void *) *leaf, uint32_t number)
{
	return (_Atomic uint32_t *)(leaf + TABLE_LEAF) + (number & (TABLE_LEAF - 1));
}

static _Atomic(void *) *
leaf_alloc(const struct table *t)
{
	return calloc(TABLE_LEAF,
		sizeof(_Atomic(void *)) + (t->claim != NULL ? sizeof(_Atomic uint32_t) : 0));
}

static _Atomic(void *) *
table_slot(struct table *t, uint32_t number)
{
	_Atomic(void *) *leaf =
		atomic_load_explicit(&t->top[number >> TABLE_LEAF_LOG], memory_order_acquire);

	if (leaf == NULL) {
		leaf = leaf_alloc(t);
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

/* ---- tables of blocks */

/* True if all n numbers from `first` on are free, and have been free long enough (TABLE_REST). */
static bool
have_rested(struct table *t, uint32_t first, uint32_t n)
{
	_Atomic(void *) *leaf =
		atomic_load_explicit(&t->top[first >> TABLE_LEAF_LOG], memory_order_relaxed);

	for (uint32_t i = first; i < first + n; i++)
		if (atomic_load_explicit(&leaf[i & (TABLE_LEAF - 1)], memory_order_relaxed) !=
				NULL ||
			t->given - atomic_load_explicit(freed_at(leaf, i), memory_order_relaxed) <
				TABLE_REST)
			return false;
	return true;
}

/*
 * Finds n consecutive numbers that may be given. The first number is a multiple of n. Returns false
 * if there are no such numbers.
 */
static bool
find_rested(struct table *t, uint32_t n, uint32_t *first)
{
	uint32_t at = (t->next + n - 1) / n * n;

	for (uint32_t tries = 0; tries < t->window; tries += n, at += n) {
		if (at >= t->window)
			at = 0;
		*first = (uint32_t)t->blocks[at >> TABLE_LEAF_LOG] << TABLE_LEAF_LOG |
			 (at & (TABLE_LEAF - 1));
		if (!have_rested(t, *first, n))
			continue;
		t->next = at + n;
		return true;
	}
	return false;
}

static int
add_block(struct table *t)
{
	const uint32_t n = t->window >> TABLE_LEAF_LOG;
	uint16_t *blocks = realloc(t->blocks, (n + 1) * sizeof(*blocks));
	_Atomic(void *) *leaf;
	uint32_t block;
	int err;

	if (blocks == NULL)
		return -ENOMEM;
	t->blocks = blocks;
	leaf = leaf_alloc(t);
	if (leaf == NULL)
		return -ENOMEM;
	err = t->claim(t->claim_arg, &block);
	if (err != 0) {
		free((void *)leaf);
		return err;
	}
	atomic_store_explicit(&t->top[block], leaf, memory_order_release);
	blocks[n] = (uint16_t)block;
	t->next = t->window + random_below(TABLE_LEAF);
	t->window += TABLE_LEAF;
	return 0;
}

static int
put_in_blocks(struct table *t, void *obj, uint32_t n, uint32_t *number)
{
	uint32_t first;

	while (!find_rested(t, n, &first)) {
		int err = add_block(t);

		if (err != 0)
			return err;
	}
	/* As in table_put_locked(), the number is written first. */
	*number = first;
	for (uint32_t i = first; i < first + n; i++)
		atomic_store_explicit(table_slot(t, i), obj, memory_order_seq_cst);
	t->used += n;
	t->given += n;
	return 0;
}

/* ---- all tables */

int
table_put(struct table *t, void *obj, uint32_t *number)
{
	int err;

	pthread_mutex_lock(&t->lock);
	err = t->claim != NULL ? put_in_blocks(t, obj, 1, number)
			       : table_put_locked(t, obj, number);
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
	err = t->claim != NULL ? put_in_blocks(t, obj, n, first)
			       : table_put_range_locked(t, obj, n, first);
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
	/*
	 * This store comes before the slot becomes empty: table_has_given() relies on this order.
	 */
	if (t->claim != NULL)
		atomic_store_explicit(freed_at(t->top[number >> TABLE_LEAF_LOG], number), t->given,
			memory_order_relaxed);
	atomic_store_explicit(table_slot(t, number), NULL, memory_order_seq_cst);
	t->used--;
	pthread_mutex_unlock(&t->lock);
}

bool
table_has_given(struct table *t, uint32_t number)
{
	uint32_t at = (number + TABLE_SPAN - t->base) % TABLE_SPAN;
	_Atomic(void *) *leaf;

	if (t->claim != NULL) {
		leaf = atomic_load_explicit(&t->top[(number & 0xffffff) >> TABLE_LEAF_LOG],
			memory_order_acquire);
		/*
		 * table_remove() writes freed_at() before it empties the slot. So a removed object
		 * is noticed.
		 */
		return leaf != NULL && (atomic_load(&leaf[number & (TABLE_LEAF - 1)]) != NULL ||
					       atomic_load(freed_at(leaf, number)) != 0);
	}
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
