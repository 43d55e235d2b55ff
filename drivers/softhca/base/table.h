/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables that map 24-bit numbers to objects. Lanes look numbers up without a lock. Control calls
 * put and remove objects under the table's lock.
 */
#ifndef SOFTHCA_TABLE_H
#define SOFTHCA_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_LEAF_LOG 12
#define TABLE_LEAF     (1u << TABLE_LEAF_LOG)
#define TABLE_TOP      (1u << (24 - TABLE_LEAF_LOG))
#define TABLE_FIRST    0x40u /* all smaller numbers are reserved: QP0, QP1, special keys */
/*
 * In a table of blocks, a number that became free is given again only after TABLE_REST other
 * numbers.
 */
#define TABLE_REST 4096u

/*
 * Gets a block of TABLE_LEAF numbers that no other table uses. *block: the first number of the
 * block, divided by TABLE_LEAF. The block must have no reserved number. Called with the table's
 * lock held. Returns 0 or -errno.
 */
typedef int table_claim(void *arg, uint32_t *block);

struct table {
	_Atomic(void *) *_Atomic top[TABLE_TOP];
	pthread_mutex_t lock; /* held while an object is put or removed */
	uint32_t base, used;
	/* changed only under the lock; next: offset at which the search for a free number begins */
	_Atomic uint32_t next, window;
	/* for table_init_blocks(); offset i of the window is in block blocks[i / TABLE_LEAF] */
	table_claim *claim; /* NULL: the numbers of the window follow each other */
	void *claim_arg;
	uint16_t *blocks;
	uint32_t given; /* TABLE_REST and the count of all numbers that were given */
};

/* The table takes its numbers from one window, which begins at a random number. */
void table_init(struct table *t);
/*
 * The table takes its numbers from blocks. It claims the first block when the first object is put,
 * and another block when no number has been free long enough (TABLE_REST). It begins at a random
 * number of each block.
 */
void table_init_blocks(struct table *t, table_claim *claim, void *arg);
/* Frees the table's memory, but does not give blocks back. */
void table_fini(struct table *t);
/*
 * Publishes the object under a number that was not used lately. Returns 0, -ENOMEM, or the error of
 * the claim.
 */
int table_put(struct table *t, void *obj, uint32_t *number);
/*
 * Publishes one object under n consecutive numbers; the first number is a multiple of n. In a table
 * of blocks, n is a power of two of at most TABLE_LEAF. Returns 0, -ENOSPC, -ENOMEM, or the error
 * of the claim.
 */
int table_put_range(struct table *t, void *obj, uint32_t n, uint32_t *first);
/* Replaces the object of a number that is in use. */
void table_set(struct table *t, uint32_t number, void *obj);
/*
 * Removes the object. A lane that has found the object may still use it: call softhca_quiesce()
 * before the object is freed.
 */
void table_remove(struct table *t, uint32_t number);
/*
 * True if the number has been given to an object, also if this object has been removed. For lanes:
 * takes no lock.
 */
bool table_has_given(struct table *t, uint32_t number);
/*
 * As table_set(), but for lanes: takes no lock. Returns false if the number no longer refers to
 * `old`.
 */
bool table_replace(struct table *t, uint32_t number, void *old, void *obj);

/*
 * Returns the object, or NULL. Call this inside a turn (turns.h): the object is valid until the
 * turn ends.
 */
static inline void *
table_get(struct table *t, uint32_t number)
{
	_Atomic(void *) *leaf = atomic_load_explicit(&t->top[(number & 0xffffff) >> TABLE_LEAF_LOG],
		memory_order_acquire);

	if (leaf == NULL)
		return NULL;
	return atomic_load_explicit(&leaf[number & (TABLE_LEAF - 1)], memory_order_acquire);
}

/*
 * True if no object was ever given a number of this number's leaf (TABLE_LEAF consecutive numbers).
 */
static inline bool
table_leaf_is_absent(struct table *t, uint32_t number)
{
	return atomic_load_explicit(&t->top[number >> TABLE_LEAF_LOG], memory_order_relaxed) ==
	       NULL;
}

#endif
