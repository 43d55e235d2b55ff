/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Computes guards by their definitions, and writes signatures.
 */
#include "sig_guard.h"

#include <string.h>

#include <rte_byteorder.h>

/* In a register of 64 bits. The reflected ones take the lowest bit of a byte first, and are inverted at the end. */
static const struct crc {
	uint64_t polynomial;
	bool reflected;
} crcs[GANTRY_SIG_KIND_MAX] = {
	[GANTRY_SIG_T10DIF_CRC] = {UINT64_C(0x8bb7) << 48, false},
	[GANTRY_SIG_CRC32] = {0xedb88320, true},
	[GANTRY_SIG_CRC32C] = {0x82f63b78, true},
	[GANTRY_SIG_CRC64_XP10] = {UINT64_C(0x9a6c9329ac4bc9b5), true},
};

static uint64_t
divide(const struct crc *c, uint8_t byte)
{
	uint64_t value = c->reflected ? byte : (uint64_t)byte << 56;

	for (int i = 0; i < 8; i++)
		if (c->reflected)
			value = value >> 1 ^ (value & 1 ? c->polynomial : 0);
		else
			value = value << 1 ^ (value >> 63 ? c->polynomial : 0);
	return value;
}

static uint64_t
guard_crc(enum gantry_sig_kind kind, const uint8_t *p, uint32_t len)
{
	static uint64_t tables[GANTRY_SIG_KIND_MAX][256];
	const struct crc *c = &crcs[kind];
	uint64_t *table = tables[kind], value = 0;

	for (uint32_t i = 0; i < 256 && table[255] == 0; i++)
		table[i] = divide(c, i);
	for (uint32_t i = 0; i < len; i++)
		value = c->reflected ? value >> 8 ^ table[(value ^ p[i]) & 0xff]
				     : value << 8 ^ table[value >> 56 ^ p[i]];
	return c->reflected ? ~value : value >> 48;
}

/* RFC 1071, of a length that is even. */
static uint16_t
guard_checksum(const uint8_t *p, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i += 2)
		sum += p[i] << 8 | p[i + 1];
	while (sum > UINT16_MAX)
		sum = (sum & UINT16_MAX) + (sum >> 16);
	return ~sum;
}

bool
sig_has_tags(enum gantry_sig_kind kind)
{
	return kind == GANTRY_SIG_T10DIF_CRC || kind == GANTRY_SIG_T10DIF_CSUM;
}

uint32_t
sig_len(enum gantry_sig_kind kind)
{
	if (kind == GANTRY_SIG_NONE)
		return 0;
	return sig_has_tags(kind) || kind == GANTRY_SIG_CRC64_XP10 ? 8 : 4;
}

void
sig_write(enum gantry_sig_kind kind, const uint8_t *data, uint32_t len, uint32_t block,
	uint8_t *out)
{
	uint64_t bytes; /* the first one is the lowest */

	if (kind == GANTRY_SIG_NONE)
		return;
	bytes = kind == GANTRY_SIG_T10DIF_CSUM ? guard_checksum(data, len)
					       : guard_crc(kind, data, len);
	bytes = sig_has_tags(kind)
			? rte_cpu_to_be_64(bytes << 48 | (uint64_t)SIG_APP_TAG << 32 | block)
			: rte_cpu_to_le_64(bytes);
	memcpy(out, &bytes, sig_len(kind));
}
