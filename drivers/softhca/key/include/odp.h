/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving data that may lie in memory on demand, which may not be there. */
#ifndef SOFTHCA_ODP_H
#define SOFTHCA_ODP_H

#include "sg.h"

struct softhca_dev;

/* How a copy ended. Without memory at one end, what lies before the missing page has moved. */
enum sg_end {
	SG_MOVED,
	SG_NO_SRC,
	SG_NO_DST
};

/* sg_copy() where a list is on demand. Unless SG_MOVED, use->vendor says why. */
enum sg_end odp_move(struct key_use *use, const struct sg *dst, const struct sg *src);
/*
 * 8 bytes on demand; odp_store() also needs the value that odp_load() gave. lanes->odp_lock, held
 * over both, makes them atomic.
 */
bool odp_load(struct key_use *use, const void *p, uint64_t *value);
bool odp_store(void *p, uint64_t old, uint64_t value);
/* Returns when every lane knows that there are keys on demand. Not inside a turn. */
void odp_begin(struct softhca_dev *dev);

#endif
