/* SPDX-License-Identifier: BSD-3-Clause */
/* Block signatures written from their definitions: see reference.h. */
#include "reference.h"

#include <string.h>

#include "check.h"

/* ------------------------------------------------------------------ guards */

/* A CRC, described as in the catalogue: https://reveng.sourceforge.io/crc-catalogue/ */
struct crc {
	unsigned int width;
	uint64_t polynomial; /* of a reflected CRC: with its bits in reverse order */
	bool reflected;      /* the least significant bit of each byte comes first */
	bool inverted;       /* the register is inverted at the end */
};

static const struct crc crcs[REF_KINDS] = {
	[REF_DIF_CRC] = {16, 0x8bb7, false, false},            /* CRC-16/T10-DIF, SBC-3 */
	[REF_CRC32] = {32, 0xedb88320, true, true},            /* CRC-32/ISO-HDLC, FC-PH */
	[REF_CRC32C] = {32, 0x82f63b78, true, true},           /* CRC-32/ISCSI, RFC 3720 */
	[REF_CRC64] = {64, 0x9a6c9329ac4bc9b5ull, true, true}, /* CRC-64/NVME */
};

/*
 * Returns the register after eight zero bits, for a register of which only the highest byte is not
 * 0. `leaves` is this byte, which is shifted out.
 */
static uint64_t
divide(const struct crc *c, uint64_t leaves)
{
	const uint64_t out = c->reflected ? 1 : 1ull << (c->width - 1);
	uint64_t value = c->reflected ? leaves : leaves << (c->width - 8);
	unsigned int i;

	for (i = 0; i < 8; i++) {
		bool subtract = (value & out) != 0;

		value = c->reflected ? value >> 1 : (value & ~out) << 1;
		value ^= subtract ? c->polynomial : 0;
	}
	return value;
}

static uint64_t
crc(const struct crc *c, bool ones, const uint8_t *p, size_t len)
{
	const uint64_t all = UINT64_MAX >> (64 - c->width);
	static uint64_t tables[REF_KINDS][256];
	uint64_t *table = tables[c - crcs], value = ones ? all : 0;
	size_t i;

	for (i = 0; i < 256 && table[255] == 0; i++)
		table[i] = divide(c, i);
	for (i = 0; i < len; i++)
		value = c->reflected ? value >> 8 ^ table[(value ^ p[i]) & 0xff]
				     : (value << 8 & all) ^ table[value >> (c->width - 8) ^ p[i]];
	return c->inverted ? ~value & all : value;
}

/* RFC 1071: the complement of the ones' complement sum of 16-bit words in network order. */
static uint64_t
checksum(bool ones, const uint8_t *p, size_t len)
{
	uint32_t sum = ones ? 0xffff : 0;
	size_t i;

	for (i = 0; i < len; i++) {
		sum += i % 2 == 0 ? p[i] << 8 : p[i];
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return ~sum & 0xffff;
}

uint64_t
ref_guard(enum ref_kind kind, bool ones, const uint8_t *p, size_t len)
{
	return kind == REF_DIF_CSUM ? checksum(ones, p, len) : crc(&crcs[kind], ones, p, len);
}

/* ------------------------------------------------------------------ signatures */

static bool
is_dif(enum ref_kind kind)
{
	return kind == REF_DIF_CRC || kind == REF_DIF_CSUM;
}

uint32_t
ref_len(enum ref_kind kind)
{
	static const uint32_t lens[REF_KINDS] = {[REF_DIF_CRC] = 8,
		[REF_DIF_CSUM] = 8,
		[REF_CRC32] = 4,
		[REF_CRC32C] = 4,
		[REF_CRC64] = 8};

	return lens[kind];
}

uint32_t
ref_unit(const struct ref_sig *sig)
{
	return sig->block + ref_len(sig->kind);
}

static void
put_be(uint8_t *out, uint64_t value, unsigned int n)
{
	while (n-- != 0)
		*out++ = (uint8_t)(value >> 8 * n);
}

static void
put_le(uint8_t *out, uint64_t value, unsigned int n)
{
	for (; n != 0; n--, value >>= 8)
		*out++ = (uint8_t)value;
}

static uint64_t
get_be(const uint8_t *p, unsigned int n)
{
	uint64_t value = 0;

	while (n-- != 0)
		value = value << 8 | *p++;
	return value;
}

static uint64_t
get_le(const uint8_t *p, unsigned int n)
{
	uint64_t value = 0;

	while (n-- != 0)
		value = value << 8 | p[n];
	return value;
}

void
ref_sign(const struct ref_sig *sig, const uint8_t *data, uint32_t i, uint8_t *out)
{
	uint64_t guard;

	if (sig->kind == REF_NONE)
		return;
	guard = ref_guard(sig->kind, sig->ones, data, sig->block);
	if (!is_dif(sig->kind)) {
		put_le(out, guard, ref_len(sig->kind));
		return;
	}
	put_be(out, guard, 2);
	put_be(out + 2, sig->app, 2);
	put_be(out + 4, sig->ref + (sig->count ? i : 0), 4);
}

void
ref_lay(const struct ref_sig *sig, const uint8_t *data, uint32_t n, uint8_t *out)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		memcpy(out, data, sig->block);
		ref_sign(sig, data, i, out + sig->block);
		data += sig->block;
		out += ref_unit(sig);
	}
}

/* ------------------------------------------------------------------ checks */

unsigned int
ref_mask_bit(enum ref_kind kind, uint32_t byte)
{
	if (is_dif(kind))
		return 7 - byte;
	return ref_len(kind) == 8 ? byte : 4 + byte;
}

static bool
differs(const struct ref_sig *sig, uint8_t mask, const uint8_t *a, const uint8_t *b, uint32_t from,
	uint32_t to)
{
	for (; from < to; from++)
		if ((mask >> ref_mask_bit(sig->kind, from) & 1) != 0 && a[from] != b[from])
			return true;
	return false;
}

static bool
escapes(const struct ref_sig *sig, const uint8_t *found)
{
	if (!is_dif(sig->kind) || get_be(found + 2, 2) != 0xffff)
		return false;
	return sig->app_escape || (sig->app_ref_escape && get_be(found + 4, 4) == UINT32_MAX);
}

/* Returns the error of one block by comparison with its correct signature. */
static struct ref_error
compare(const struct ref_sig *sig, uint8_t mask, const uint8_t *found, const uint8_t *right)
{
	uint32_t len = ref_len(sig->kind);

	if (escapes(sig, found))
		return (struct ref_error){0};
	if (!is_dif(sig->kind))
		return differs(sig, mask, found, right, 0, len)
			       ? (struct ref_error){REF_GUARD, 0, get_le(found, len),
					 get_le(right, len)}
			       : (struct ref_error){0};
	if (differs(sig, mask, found, right, 0, 2))
		return (struct ref_error){REF_GUARD, 0, get_be(found, 2), get_be(right, 2)};
	if (differs(sig, mask, found, right, 2, 4))
		return (struct ref_error){REF_APP, 0, get_be(found + 2, 2), get_be(right + 2, 2)};
	if (differs(sig, mask, found, right, 4, 8))
		return (struct ref_error){REF_REF, 0, get_be(found + 4, 4), get_be(right + 4, 4)};
	return (struct ref_error){0};
}

struct ref_error
ref_check(const struct ref_sig *sig, uint8_t mask, const uint8_t *units, uint32_t n)
{
	uint8_t right[REF_MAX_LEN];
	struct ref_error error = {0};
	uint32_t i;

	for (i = 0; i < n && sig->kind != REF_NONE && error.part == REF_RIGHT; i++) {
		ref_sign(sig, units, i, right);
		error = compare(sig, mask, units + sig->block, right);
		error.block = i;
		units += ref_unit(sig);
	}
	return error.part == REF_RIGHT ? (struct ref_error){0} : error;
}
