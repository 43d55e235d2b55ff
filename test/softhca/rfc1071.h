/* SPDX-License-Identifier: BSD-3-Clause */
/* The checksum of RFC 1071, with which tests compute expected values. */
#ifndef RFC1071_H
#define RFC1071_H

#include <stddef.h>
#include <stdint.h>

/*
 * Adds the 16-bit words of p to sum, in ones' complement. If the number of bytes is odd, the last
 * byte is the high byte of a word.
 */
static inline uint32_t
sum16(uint32_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

#endif
