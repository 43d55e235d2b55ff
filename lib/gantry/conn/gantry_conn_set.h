/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of connections, by index: an array of words of bits, and a summary word whose bit n is set
 * if word n is not 0. The time of a call does not depend on the number of connections.
 */
#ifndef GANTRY_CONN_SET_H
#define GANTRY_CONN_SET_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_bitops.h>
#include <rte_common.h>

/* All indices are less than this number. */
#define GANTRY_CONN_SET_MAX (64 * 64)

struct gantry_conn_set {
	uint64_t any; /* bit n is set if word[n] is not 0 */
	uint64_t word[GANTRY_CONN_SET_MAX / 64];
};

static inline bool
gantry_conn_set_is_empty(const struct gantry_conn_set *s)
{
	return s->any == 0;
}

/*
 * Adds the indices that are set in `bits`: bit n is index word * 64 + n. At least one bit is set.
 */
static inline void
gantry_conn_set_add_some(struct gantry_conn_set *s, uint32_t word, uint64_t bits)
{
	s->word[word] |= bits;
	s->any |= RTE_BIT64(word);
}

/*
 * The bits of an index, which are the same in every set. Callers that add an index often keep them.
 */
struct gantry_conn_place {
	uint64_t bit; /* the bit of the index in word[word] */
	uint64_t any; /* the bit of word[word] in `any` */
	uint32_t word;
};

static inline struct gantry_conn_place
gantry_conn_place_of(uint32_t i)
{
	return (struct gantry_conn_place){.bit = RTE_BIT64(i % 64),
		.any = RTE_BIT64(i / 64),
		.word = i / 64};
}

static inline void
gantry_conn_set_add_at(struct gantry_conn_set *s, const struct gantry_conn_place *place)
{
	s->word[place->word] |= place->bit;
	s->any |= place->any;
}

static inline void
gantry_conn_set_add(struct gantry_conn_set *s, uint32_t i)
{
	gantry_conn_set_add_some(s, i / 64, RTE_BIT64(i % 64));
}

/* Removes the indices that are set in `bits`: bit n is index word * 64 + n. */
static inline void
gantry_conn_set_remove_some(struct gantry_conn_set *s, uint32_t word, uint64_t bits)
{
	s->word[word] &= ~bits;
	if (s->word[word] == 0)
		s->any &= ~RTE_BIT64(word);
}

static inline void
gantry_conn_set_remove(struct gantry_conn_set *s, uint32_t i)
{
	gantry_conn_set_remove_some(s, i / 64, RTE_BIT64(i % 64));
}

/*
 * Moves the indices of the lowest word that is not empty to another set. Returns these indices: bit
 * n is index *first + n. Returns 0 if the set is empty.
 */
static inline uint64_t
gantry_conn_set_move(struct gantry_conn_set *s, struct gantry_conn_set *to, uint32_t *first)
{
	uint64_t bits;
	uint32_t word;

	if (s->any == 0)
		return 0;
	word = rte_bsf64(s->any);
	bits = s->word[word];
	s->word[word] = 0;
	s->any &= s->any - 1;
	gantry_conn_set_add_some(to, word, bits);
	*first = word * 64;
	return bits;
}

/*
 * Returns the lowest index in the set that is at least `from`, or GANTRY_CONN_SET_MAX if there is
 * none.
 */
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
