/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that a work request has replaced: they are freed when no lane can see them any more.
 *
 * Each lane has two lists of the keys that it has replaced; only this lane uses the lists, so they
 * need no lock. A newly replaced key joins the young list. When the young list has GRAVES_BATCH
 * keys, and the turns (turns.h) noted for the old list have ended, the keys of the old list are
 * freed. The young list then becomes the old list, and the turns that run at this time are noted
 * for it. Once these turns have ended, no lane has a pointer to a key of the old list.
 */
#include "retire.h"

#include <stdlib.h>

#define GRAVES_BATCH 64

struct graves {
	struct key *young, *old;
	unsigned int n_young;
	struct turns_seen seen; /* turns that may still see keys of the old list */
};

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
	struct lane_slot *slot = turn_slot();

	if (slot->graves == NULL)
		slot->graves = calloc(1, sizeof(*slot->graves));
	return slot->graves != NULL;
}

void
retire_key(struct key *key)
{
	struct lane_slot *own = turn_slot();
	struct graves *g = own->graves;

	key->next = g->young;
	g->young = key;
	if (++g->n_young < GRAVES_BATCH || (g->old != NULL && !turns_are_over(&g->seen)))
		return;
	free_list(g->old);
	g->old = g->young;
	g->young = NULL;
	g->n_young = 0;
	turns_note(&g->seen, own);
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
