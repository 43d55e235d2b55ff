/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of deregistered regions, kept for the next ones. */
#ifndef SOFTHCA_KEPT_H
#define SOFTHCA_KEPT_H

#include "key.h"

/* The key of a region that is deregistered, with mkey->room pages: no lane looks at it. */
void kept_put(struct softhca_mkey *mkey);
/* The one that was kept last of those with this room, or NULL. */
struct softhca_mkey *kept_take(struct softhca_lanes *lanes, uint64_t room);
/* The lanes are over. */
void kept_fini(struct softhca_lanes *lanes);

#endif
