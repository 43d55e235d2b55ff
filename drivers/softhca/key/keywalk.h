/* SPDX-License-Identifier: BSD-3-Clause */
/* Through the layout of an indirect key to memory. */
#ifndef SOFTHCA_KEYWALK_H
#define SOFTHCA_KEYWALK_H

#include "key.h"
#include "sg.h"

/*
 * Appends to the list the memory behind [off, off+len) of a key's layout. need: ACC_LOCAL_WRITE or
 * 0, of the keys that the layout names. The caller judges the key's own rights and signature.
 * False: use->vendor says why.
 */
bool layout_gather(struct key_use *use, struct softhca_lanes *lanes, const struct key *key,
	uint32_t need, uint64_t off, uint64_t len, struct sg *sg);

#endif
