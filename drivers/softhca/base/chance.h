/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pseudo-random numbers for settings that are seeds: runs with the same seed get the same numbers.
 */
#ifndef SOFTHCA_CHANCE_H
#define SOFTHCA_CHANCE_H

#include <stdint.h>

/*
 * Returns the initial state for the queues of a UAR page. It depends on the page's id, so that
 * queues of different pages get different numbers.
 */
static inline uint64_t
chance_first(uint32_t seed, uint32_t page)
{
	const uint64_t both = seed | (uint64_t)page << 32;

	return (both ^ both >> 29) * UINT64_C(0xbf58476d1ce4e5b9) | 1;
}

/*
 * Advances the state *chance by xorshift, and returns a number below n. The low bits of a product
 * with an odd number are weak, so only the high bits are used.
 */
static inline unsigned int
chance_draw(uint64_t *chance, unsigned int n)
{
	*chance ^= *chance << 13;
	*chance ^= *chance >> 7;
	*chance ^= *chance << 17;
	return (unsigned int)((*chance * UINT64_C(0x9e3779b97f4a7c15)) >> 33) % n;
}

#endif
