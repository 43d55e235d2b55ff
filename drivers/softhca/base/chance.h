/* SPDX-License-Identifier: BSD-3-Clause */
/* Chance by a seed, for settings that are seeds: a program that does the same meets the same. */
#ifndef SOFTHCA_CHANCE_H
#define SOFTHCA_CHANCE_H

#include <stdint.h>

/* What the first draw begins with. Pages differ, so that their queues do not all do the same. */
static inline uint64_t
chance_first(uint32_t seed, uint32_t page)
{
	const uint64_t both = seed | (uint64_t)page << 32;

	return (both ^ both >> 29) * UINT64_C(0xbf58476d1ce4e5b9) | 1;
}

/* Below n. Xorshift; the low bits of the product with an odd number are left out. */
static inline unsigned int
chance_draw(uint64_t *chance, unsigned int n)
{
	*chance ^= *chance << 13;
	*chance ^= *chance >> 7;
	*chance ^= *chance << 17;
	return (unsigned int)((*chance * UINT64_C(0x9e3779b97f4a7c15)) >> 33) % n;
}

#endif
