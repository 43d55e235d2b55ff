/* SPDX-License-Identifier: BSD-3-Clause */
/* Translates a key, an address and a length to a list of memory. */
#ifndef SOFTHCA_GATHER_H
#define SOFTHCA_GATHER_H

#include "key.h"
#include "sg.h"

/*
 * Remembers one plain region of an adapter, which was found earlier in this turn (turns.h) by the
 * number of its key and a PD. If all bytes of the structure are 0, it remembers no region. Only
 * control calls change plain regions, and control calls wait for the turn to end. So the structure
 * is right until the turn ends, and must be cleared then.
 */
struct key_seen {
	uint64_t name; /* key_name() */
	const struct key *key;
};

/* Combines the number of a key and a PD to one value, which is never 0. */
static inline uint64_t
key_name(uint32_t number, uint32_t pdn)
{
	return ((uint64_t)pdn + 1) << 32 | number;
}

/*
 * Returns the memory of [va, va+len) of a key, if the key is the plain region in *seen. If it
 * returns NULL, call key_gather(). need: IBV_ACCESS_* bits, or 0 for a local read.
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

/*
 * As key_gather(), for every kind of key: checks each rule, and sets use->vendor to the rule that
 * forbids the access.
 */
bool key_gather_any(struct key_use *use, struct key_seen *seen, struct softhca_lanes *lanes,
	uint32_t number, uint32_t pdn, uint32_t need, uint64_t va, uint64_t len, struct sg *sg);

/*
 * Appends the memory of [va, va+len) of a key to the list. The pieces are valid while the WQE runs.
 * A plain region is stored in *seen. need: IBV_ACCESS_* bits; with a remote right, use->peer_qpn is
 * the QP that answers the request. For SOFTHCA_DUMP_FILL_KEY, appends SINK. Returns false if a rule
 * forbids the access: use->vendor is the rule.
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
