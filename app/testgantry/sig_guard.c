/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Computes guards, and writes signatures.
 */
#include "sig_guard.h"

#include <string.h>

#include <isa-l/crc.h>

#include <rte_byteorder.h>

/* CRC-64/NVME. ISA-L has this CRC since version 2.31; Debian 12 has an older version. */
static uint64_t
crc64(const uint8_t *p, uint32_t len)
{
	static uint64_t table[256];
	uint64_t value;

	for (uint32_t i = 0; i < 256 && table[255] == 0; i++) {
		value = i;
		for (int bit = 0; bit < 8; bit++)
			value = value >> 1 ^ (value & 1 ? UINT64_C(0x9a6c9329ac4bc9b5) : 0);
		table[i] = value;
	}
	value = 0;
	for (uint32_t i = 0; i < len; i++)
		value = value >> 8 ^ table[(value ^ p[i]) & 0xff];
	return ~value;
}

/*
 * mlx5's CRCs start with 0, and invert the result at the end, except for T10-DIF. ISA-L's CRC32
 * inverts its register at the start and at the end.
 */
static uint64_t
guard_crc(enum gantry_sig_kind kind, const uint8_t *p, uint32_t len)
{
	switch (kind) {
	case GANTRY_SIG_T10DIF_CRC:
		return crc16_t10dif(0, p, len);
	case GANTRY_SIG_CRC32:
		return crc32_gzip_refl(UINT32_MAX, p, len);
	case GANTRY_SIG_CRC32C:
		return (uint32_t)~crc32_iscsi((uint8_t *)(uintptr_t)p, (int)len, 0);
	default:
		return crc64(p, len);
	}
}

/* The checksum of RFC 1071, for an even length. */
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
	uint64_t bytes; /* the first byte of the signature is the lowest byte */

	if (kind == GANTRY_SIG_NONE)
		return;
	bytes = kind == GANTRY_SIG_T10DIF_CSUM ? guard_checksum(data, len)
					       : guard_crc(kind, data, len);
	bytes = sig_has_tags(kind)
			? rte_cpu_to_be_64(bytes << 48 | (uint64_t)SIG_APP_TAG << 32 | block)
			: rte_cpu_to_le_64(bytes);
	memcpy(out, &bytes, sig_len(kind));
}

uint16_t
sig_compute_crc(const uint8_t *data, uint32_t len)
{
	return crc16_t10dif(0, data, len);
}
