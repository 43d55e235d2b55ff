/* SPDX-License-Identifier: BSD-3-Clause */
/* From a key, an address and a length to memory. */
#ifndef SOFTHCA_GATHER_H
#define SOFTHCA_GATHER_H

#include "key.h"
#include "sg.h"

/* key_gather() for every kind of key: checks each rule, and says which one forbids the access. */
bool key_gather_any(struct key_use *use, struct softhca_lanes *lanes, uint32_t number, uint32_t pdn,
	uint32_t need, uint64_t va, uint64_t len, struct sg *sg);

/*
 * Appends to the list the memory behind [va, va+len) of a key. need: IBV_ACCESS_* bits, 0 for a
 * local read; with a remote right in it, the request is one that use->peer_qpn answers.
 * SOFTHCA_DUMP_FILL_KEY gives SINK. False: use->vendor has the rule that forbids it. The pieces
 * stay valid while the WQE runs.
 */
static inline bool
key_gather(struct key_use *use, struct softhca_lanes *lanes, uint32_t number, uint32_t pdn,
	uint32_t need, uint64_t va, uint64_t len, struct sg *sg)
{
	const struct key *key = table_get(&lanes->keys, number >> 8);
	uint64_t off;

	/* Plain regions are the common case. */
	if (__builtin_expect(key != NULL && key->plain == key_plain_id(pdn, (uint8_t)number) &&
				     (key->access & need) == need && key_covers(key, va, len, &off),
		    1))
		return sg_push(use, sg, (void *)(uintptr_t)(key->addr + off), len);
	return key_gather_any(use, lanes, number, pdn, need, va, len, sg);
}

#endif
