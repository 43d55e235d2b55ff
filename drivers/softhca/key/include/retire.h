/* SPDX-License-Identifier: BSD-3-Clause */
/* Frees keys that a work request has replaced, when other lanes no longer use them. */
#ifndef SOFTHCA_RETIRE_H
#define SOFTHCA_RETIRE_H

#include "key.h"

/* Call before a key is replaced: reserves the memory for retire_key(). False: no memory. */
bool retire_reserve(void);
/* Call when the key has been replaced: frees it when no turn can see it. Call inside a turn. */
void retire_key(struct key *key);
/* Frees all retired keys of a lane that has ended. */
void retire_fini(struct lane_slot *slot);

#endif
