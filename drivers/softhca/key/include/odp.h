/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves data from and to memory on demand, whose pages may be missing. */
#ifndef SOFTHCA_ODP_H
#define SOFTHCA_ODP_H

#include "sg.h"

struct softhca_dev;

/*
 * The result of a copy. If memory is missing at one end, the bytes before the missing page have
 * moved.
 */
enum sg_end {
	SG_MOVED,
	SG_NO_SRC,
	SG_NO_DST
};

/*
 * As sg_copy(), for lists with memory on demand. If the result is not SG_MOVED, use->vendor is the
 * reason.
 */
enum sg_end odp_move(struct key_use *use, const struct sg *dst, const struct sg *src);
/*
 * Load and store 8 bytes on demand. odp_store() needs the value that odp_load() returned. The
 * caller holds lanes->odp_lock during both calls, which makes the pair atomic.
 */
bool odp_load(struct key_use *use, const void *p, uint64_t *value);
bool odp_store(void *p, uint64_t old, uint64_t value);
/*
 * Returns when every lane knows that keys on demand exist. Do not call this inside a turn
 * (turns.h).
 */
void odp_begin(struct softhca_dev *dev);

#endif
