/* SPDX-License-Identifier: BSD-3-Clause */
/* From a key, an address and a length to memory. */
#ifndef SOFTHCA_GATHER_H
#define SOFTHCA_GATHER_H

#include "key.h"
#include "sg.h"

/*
 * A plain region that was found before in this turn, by its number in a PD; zeros: none yet. Of one
 * adapter. Only control calls change plain regions, and they wait for the turn to end. So what is
 * remembered stays right for as long as it may be kept, which is until the turn ends.
 */
struct key_seen {
	uint64_t name; /* key_name() */
	const struct key *key;
};

/* A number in a PD; never 0. */
static inline uint64_t
key_name(uint32_t number, uint32_t pdn)
{
	return ((uint64_t)pdn + 1) << 32 | number;
}

/*
 * The memory behind [va, va+len) of a key, if it is the plain region that was found last. NULL:
 * key_gather() has to look. need: IBV_ACCESS_* bits, 0 for a local read.
 */
static inline void *
key_seen_memory(const struct key_seen *seen, uint32_t number, uint32_t pdn, uint32_t need,
	uint64_t va, uint64_t len)
{
	const struct key *key = seen->key;
	uint64_t off;

	if (__builtin_expect(seen->name == key_name(number, pdn) && (key->access & need) == need &&
				     key_covers(key, va, len, &off),
		    1))
		return (void *)(uintptr_t)(key->addr + off);
	return NULL;
}

/* key_gather() for every kind of key: checks each rule, and says which one forbids the access. */
bool key_gather_any(struct key_use *use, struct key_seen *seen, struct softhca_lanes *lanes,
	uint32_t number, uint32_t pdn, uint32_t need, uint64_t va, uint64_t len, struct sg *sg);

/*
 * Appends to the list the memory behind [va, va+len) of a key. A plain region is remembered in
 * *seen. need: with a remote right in it, the request is one that use->peer_qpn answers.
 * SOFTHCA_DUMP_FILL_KEY gives SINK. False: use->vendor has the rule that forbids it. The pieces
 * stay valid while the WQE runs.
 */
static inline bool
key_gather(struct key_use *use, struct key_seen *seen, struct softhca_lanes *lanes, uint32_t number,
	uint32_t pdn, uint32_t need, uint64_t va, uint64_t len, struct sg *sg)
{
	void *p = key_seen_memory(seen, number, pdn, need, va, len);

	if (__builtin_expect(p != NULL, 1))
		return sg_push(use, sg, p, len);
	return key_gather_any(use, seen, lanes, number, pdn, need, va, len, sg);
}

#endif
