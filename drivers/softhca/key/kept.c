/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of deregistered regions, which are kept for later regions. mlx5_ib keeps a stack of such
 * keys for each power of two of pages (Linux, drivers/infiniband/hw/mlx5/mr.c:
 * cache_ent_find_and_store(), pop_mkey_locked()). Confirmed: mr-key-again.
 */
#include "kept.h"

#include <stdlib.h>

struct key key_kept;

static struct softhca_mkey **
stack_of(struct softhca_lanes *lanes, uint64_t room)
{
	return &lanes->kept[__builtin_ctzll(room)];
}

void
kept_put(struct softhca_mkey *mkey)
{
	struct softhca_lanes *lanes = mkey->dev->lanes;
	struct softhca_mkey **top = stack_of(lanes, mkey->room);

	pthread_mutex_lock(&lanes->kept_lock);
	mkey->next = *top;
	*top = mkey;
	pthread_mutex_unlock(&lanes->kept_lock);
}

struct softhca_mkey *
kept_take(struct softhca_lanes *lanes, uint64_t room)
{
	struct softhca_mkey **top = stack_of(lanes, room), *mkey;

	pthread_mutex_lock(&lanes->kept_lock);
	mkey = *top;
	if (mkey != NULL)
		*top = mkey->next;
	pthread_mutex_unlock(&lanes->kept_lock);
	return mkey;
}

void
kept_fini(struct softhca_lanes *lanes)
{
	for (unsigned int i = 0; i < LANES_KEPT; i++)
		while (lanes->kept[i] != NULL) {
			struct softhca_mkey *mkey = lanes->kept[i];

			lanes->kept[i] = mkey->next;
			free(mkey);
		}
	pthread_mutex_destroy(&lanes->kept_lock);
}
