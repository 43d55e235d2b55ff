/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that are no plain region: through layouts and signatures to memory. */
#ifndef SOFTHCA_WALK_H
#define SOFTHCA_WALK_H

#include "key.h"
#include "sg.h"

/* key_gather() for an indirect key or a window, which key_find() gave: keywalk.c. */
bool key_walk(struct key_use *use, struct softhca_lanes *lanes, const struct key *key, uint32_t need,
	uint64_t va, uint64_t len, struct sg *sg);
/* [off, off+len) of a key's layout, without the key's own rights and signature: keywalk.c. */
bool layout_gather(struct key_use *use, struct softhca_lanes *lanes, const struct key *key,
	uint32_t need, uint64_t off, uint64_t len, struct sg *sg);
/* key_walk() for a key with a signature, whose offset and length are checked here: keysig.c. */
bool sig_walk(struct key_use *use, struct softhca_lanes *lanes, const struct key *key, uint32_t need,
	uint64_t off, uint64_t len, struct sg *sg);

#endif
