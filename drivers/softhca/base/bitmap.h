/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of small numbers: a bitmap with one bit for each number. The caller holds a lock. */
#ifndef SOFTHCA_BITMAP_H
#define SOFTHCA_BITMAP_H

#include <stdbool.h>
#include <stdint.h>

static inline bool
bitmap_has(const uint8_t *map, uint32_t i)
{
	return (map[i / 8] >> (i % 8)) & 1;
}

static inline void
bitmap_add(uint8_t *map, uint32_t i)
{
	map[i / 8] |= 1U << (i % 8);
}

static inline void
bitmap_remove(uint8_t *map, uint32_t i)
{
	map[i / 8] &= ~(1U << (i % 8));
}

#endif
