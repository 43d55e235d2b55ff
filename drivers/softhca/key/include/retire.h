/* SPDX-License-Identifier: BSD-3-Clause */
/* Frees keys that a work request has replaced, after other lanes no longer use them. */
#ifndef SOFTHCA_RETIRE_H
#define SOFTHCA_RETIRE_H

#include "key.h"

/*
 * Call this before a key is replaced: reserves the memory for retire_key(). Returns false if memory
 * is short.
 */
bool retire_reserve(void);
/*
 * Call this inside a turn (turns.h), when the key has been replaced: frees the key as soon as no
 * turn can see it.
 */
void retire_key(struct key *key);
/* Frees all retired keys of a lane that has ended. */
void retire_fini(struct lane_slot *slot);

#endif
