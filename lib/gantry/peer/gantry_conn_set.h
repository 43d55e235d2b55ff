/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of connections, by index: bits, and a word of bits that says which words are not empty. All
 * calls take the same time, however many connections a queue has.
 */
#ifndef GANTRY_CONN_SET_H
#define GANTRY_CONN_SET_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_bitops.h>
#include <rte_common.h>

/* Indices are less than this. */
#define GANTRY_CONN_SET_MAX (64 * 64)

struct gantry_conn_set {
	uint64_t any; /* bit n: word n is not 0 */
	uint64_t word[GANTRY_CONN_SET_MAX / 64];
};

static inline bool
gantry_conn_set_is_empty(const struct gantry_conn_set *s)
{
	return s->any == 0;
}

static inline void
gantry_conn_set_add(struct gantry_conn_set *s, uint32_t i)
{
	s->word[i / 64] |= RTE_BIT64(i % 64);
	s->any |= RTE_BIT64(i / 64);
}

static inline void
gantry_conn_set_remove(struct gantry_conn_set *s, uint32_t i)
{
	s->word[i / 64] &= ~RTE_BIT64(i % 64);
	if (s->word[i / 64] == 0)
		s->any &= ~RTE_BIT64(i / 64);
}

/*
 * Takes the lowest 64 indices that are not all missing out of the set: bit n stands for *first + n. Returns
 * them; 0: the set is empty.
 */
static inline uint64_t
gantry_conn_set_take(struct gantry_conn_set *s, uint32_t *first)
{
	uint64_t bits;

	if (s->any == 0)
		return 0;
	*first = rte_bsf64(s->any) * 64;
	bits = s->word[*first / 64];
	s->word[*first / 64] = 0;
	s->any &= s->any - 1;
	return bits;
}

/* The lowest index of the set that is `from` or more; GANTRY_CONN_SET_MAX: there is none. */
static inline uint32_t
gantry_conn_set_next(const struct gantry_conn_set *s, uint32_t from)
{
	uint32_t w = from / 64;
	uint64_t bits;

	if (from >= GANTRY_CONN_SET_MAX)
		return GANTRY_CONN_SET_MAX;
	bits = s->word[w] & (UINT64_MAX << from % 64);
	if (bits == 0) {
		uint64_t words = w == 63 ? 0 : s->any & (UINT64_MAX << (w + 1));

		if (words == 0)
			return GANTRY_CONN_SET_MAX;
		w = rte_bsf64(words);
		bits = s->word[w];
	}
	return w * 64 + rte_bsf64(bits);
}

#endif
