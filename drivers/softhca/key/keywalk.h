/* SPDX-License-Identifier: BSD-3-Clause */
/* From the layout of an indirect key to memory. */
#ifndef SOFTHCA_KEYWALK_H
#define SOFTHCA_KEYWALK_H

#include "key.h"
#include "sg.h"

/*
 * Appends the memory of [off, off+len) of a key's layout to the list. need: ACC_LOCAL_WRITE or 0;
 * it applies to the keys in the layout. The caller checks the key's own rights and signature.
 * False: use->vendor is the reason.
 */
bool layout_gather(struct key_use *use, struct softhca_lanes *lanes, const struct key *key,
	uint32_t need, uint64_t off, uint64_t len, struct sg *sg);

#endif
