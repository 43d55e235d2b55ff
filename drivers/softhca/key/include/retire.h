/* SPDX-License-Identifier: BSD-3-Clause */
/* Freeing keys that a work request replaced, while other lanes may still look at them. */
#ifndef SOFTHCA_RETIRE_H
#define SOFTHCA_RETIRE_H

#include "key.h"

/* Before a key is replaced: makes sure that retire_key() will have memory. False: it has none. */
bool retire_reserve(void);
/* The key is replaced: it is freed when no turn can see it. Inside a turn. */
void retire_key(struct key *key);
/* Frees everything that a lane has not freed yet. The lane is over. */
void retire_fini(struct lane_slot *slot);

#endif
