/* SPDX-License-Identifier: BSD-3-Clause */
/* The Internet checksum: RFC 1071. */
#ifndef SOFTHCA_CHECKSUM_H
#define SOFTHCA_CHECKSUM_H

#include <stdint.h>

#include "wire.h"

/*
 * Sums big-endian 16-bit words. An odd last byte is the high half of a word. The caller may add the
 * sums of several ranges.
 */
static inline uint32_t
checksum_add(const uint8_t *p, unsigned int len)
{
	uint32_t sum = 0;

	for (; len >= 2; p += 2, len -= 2)
		sum += get_be16(p);
	return len != 0 ? sum + ((uint32_t)*p << 8) : sum;
}

/* Folds a sum to 16 bits and returns its complement, the checksum. */
static inline uint32_t
checksum_end(uint32_t sum)
{
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

#endif
