/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the memory of an indirect key's layout. */
#ifndef SOFTHCA_KEYWALK_H
#define SOFTHCA_KEYWALK_H

#include "key.h"
#include "sg.h"

/*
 * Appends the memory of [off, off+len) of a key's layout to the list. need: ACC_LOCAL_WRITE or 0,
 * for the keys in the layout. The caller has checked the rights and the signature of the key
 * itself. Returns false on failure: use->vendor is the reason.
 */
bool layout_gather(struct key_use *use, struct softhca_lanes *lanes, const struct key *key,
	uint32_t need, uint64_t off, uint64_t len, struct sg *sg);

#endif
