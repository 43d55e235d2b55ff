/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of firmware commands (DEVX): big-endian bit fields, by their offset and width in bits. */
#ifndef DEVX_BITS_H
#define DEVX_BITS_H

#include <stdint.h>

static inline void
devx_put(uint8_t *buf, unsigned int bit, unsigned int width, uint32_t value)
{
	for (unsigned int i = 0; i < width; i++) {
		unsigned int at = bit + width - 1 - i;
		uint8_t mask = (uint8_t)(0x80 >> at % 8);

		buf[at / 8] = (uint8_t)((buf[at / 8] & ~mask) | (value >> i & 1 ? mask : 0));
	}
}

static inline uint32_t
devx_get(const uint8_t *buf, unsigned int bit, unsigned int width)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < width; i++)
		value = value << 1 | (buf[(bit + i) / 8] >> (7 - (bit + i) % 8) & 1);
	return value;
}

/* QUERY_QP of a QP, by its number. The other bytes of the 16-byte command are 0. */
static inline void
devx_put_query_qp(uint8_t in[16], uint32_t qpn)
{
	devx_put(in, 0, 16, 0x50b);
	devx_put(in, 0x48, 24, qpn);
}

#endif
