/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that a work request replaced: freed when no lane can look at them any more.
 *
 * Each lane keeps its own, without a lock: the younger ones gather; when there are enough, and the
 * older ones have been freed, they become the older ones, and it is noted which lanes are in a turn.
 * Once each of these has left that turn, nobody holds a pointer that it took before.
 */
#include <stdlib.h>

#include "data.h"

#define GRAVES_BATCH 64

struct graves {
	struct key *young, *old;
	unsigned int n_young;
	unsigned int n_seen;
	unsigned int
		seen[SOFTHCA_MAX_DEVICES * LANE_SLOTS]; /* epochs when the old ones became old */
};

/* A connection may lead from one adapter to another, so the lanes of each may look at a key. */
static struct lane_slot *
slot_of(unsigned int i)
{
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);
	struct softhca_lanes *lanes = i / LANE_SLOTS < n ? dev_lanes(&devs[i / LANE_SLOTS]) : NULL;

	return lanes == NULL ? NULL : &lanes->slots[i % LANE_SLOTS];
}

/* An epoch of 0 stands for a lane that need not be waited for. */
static void
note_turns(struct graves *g, const struct lane_slot *own)
{
	unsigned int n;

	softhca_devices(&n);
	g->n_seen = n * LANE_SLOTS;
	for (unsigned int i = 0; i < g->n_seen; i++) {
		struct lane_slot *slot = slot_of(i);
		unsigned int epoch = 0;

		if (slot != NULL && slot != own)
			epoch = atomic_load_explicit(&slot->epoch, memory_order_seq_cst);
		g->seen[i] = epoch & 1 ? epoch : 0;
	}
}

static bool
turns_are_over(const struct graves *g)
{
	for (unsigned int i = 0; i < g->n_seen; i++) {
		struct lane_slot *slot = g->seen[i] != 0 ? slot_of(i) : NULL;

		if (slot != NULL &&
			atomic_load_explicit(&slot->epoch, memory_order_acquire) == g->seen[i])
			return false;
	}
	return true;
}

static void
free_list(struct key *key)
{
	while (key != NULL) {
		struct key *next = key->next;

		free(key);
		key = next;
	}
}

bool
retire_reserve(void)
{
	struct lane_slot *slot = lane_slot_current();

	if (slot->graves == NULL)
		slot->graves = calloc(1, sizeof(*slot->graves));
	return slot->graves != NULL;
}

void
retire_key(struct key *key)
{
	struct lane_slot *own = lane_slot_current();
	struct graves *g = own->graves;

	key->next = g->young;
	g->young = key;
	if (++g->n_young < GRAVES_BATCH || (g->old != NULL && !turns_are_over(g)))
		return;
	free_list(g->old);
	g->old = g->young;
	g->young = NULL;
	g->n_young = 0;
	note_turns(g, own);
}

void
retire_fini(struct lane_slot *slot)
{
	if (slot->graves == NULL)
		return;
	free_list(slot->graves->young);
	free_list(slot->graves->old);
	free(slot->graves);
	slot->graves = NULL;
}
