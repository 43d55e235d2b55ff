/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of firmware commands by bit offset and width: big endian, bit 0 is the first sent. */
#ifndef SOFTHCA_DEVX_H
#define SOFTHCA_DEVX_H

#include <stdint.h>

/* width <= 32, and the field does not cross a 32-bit word: none of the tables here has such. */
static inline uint32_t
devx_get(const uint8_t *buf, uint32_t bit, uint32_t width)
{
	const uint8_t *p = buf + bit / 32 * 4;
	uint32_t word = (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
	uint32_t shift = 32 - bit % 32 - width;

	return word >> shift & (uint32_t)(((uint64_t)1 << width) - 1);
}

static inline void
devx_set(uint8_t *buf, uint32_t bit, uint32_t width, uint32_t value)
{
	uint8_t *p = buf + bit / 32 * 4;
	uint32_t shift = 32 - bit % 32 - width;
	uint32_t mask = (uint32_t)(((uint64_t)1 << width) - 1) << shift;
	uint32_t word = (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];

	word = (word & ~mask) | (value << shift & mask);
	p[0] = word >> 24;
	p[1] = word >> 16;
	p[2] = word >> 8;
	p[3] = word;
}

#endif
