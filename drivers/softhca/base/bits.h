/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes fields of firmware structures. A field is given by the offset of its first bit
 * and its width. The bytes are big endian; bit 0 is the most significant bit of byte 0.
 */
#ifndef SOFTHCA_BITS_H
#define SOFTHCA_BITS_H

#include <stdint.h>

/* width: at most 32. The field must be inside one aligned 32-bit word. */
static inline uint32_t
bits_get(const uint8_t *buf, uint32_t bit, uint32_t width)
{
	const uint8_t *p = buf + bit / 32 * 4;
	uint32_t word = (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
	uint32_t shift = 32 - bit % 32 - width;

	return word >> shift & (uint32_t)(((uint64_t)1 << width) - 1);
}

static inline uint64_t
bits_get64(const uint8_t *buf, uint32_t bit)
{
	return (uint64_t)bits_get(buf, bit, 32) << 32 | bits_get(buf, bit + 32, 32);
}

/* Bits of value above the width are dropped. */
static inline void
bits_set(uint8_t *buf, uint32_t bit, uint32_t width, uint32_t value)
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
