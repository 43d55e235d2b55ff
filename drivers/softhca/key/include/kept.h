/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of deregistered regions, kept for later regions. */
#ifndef SOFTHCA_KEPT_H
#define SOFTHCA_KEPT_H

#include "key.h"

/*
 * Keeps the key of a deregistered region of mkey->room pages. The key is no longer visible to
 * lanes.
 */
void kept_put(struct softhca_mkey *mkey);
/*
 * Takes the key that was kept last of all keys with this mkey->room, or returns NULL if there is
 * none.
 */
struct softhca_mkey *kept_take(struct softhca_lanes *lanes, uint64_t room);
/* Frees all kept keys. Call this after the lanes have ended. */
void kept_fini(struct softhca_lanes *lanes);

#endif
