/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the signatures with which tests check transactions (txn/reference.h) with published
 * values and another library: the check values of the CRC catalogue (the guard of "123456789"), the
 * test cases of SBC-3 (table of CRC test cases), RFC 3720 (B.4), RFC 1071 (3), the NVM command set
 * specification (64-bit guards), Linux's crypto/testmgr.h, and ISA-L.
 */
#include <string.h>

#include <isa-l.h>

#include "check.h"
#include "txn/reference.h"

static const uint8_t digits[] = "123456789";

/*
 * The inputs of the standards' examples: bytes that are all equal, or that count up or down from
 * the first byte.
 */
static const uint8_t *
bytes(uint8_t first, int step, size_t len)
{
	static uint8_t buf[4096];
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = (uint8_t)(first + (int)i * step);
	return buf;
}

static void
expect(enum ref_kind kind, const uint8_t *p, size_t len, uint64_t guard)
{
	CHECK_EQ(ref_guard(kind, kind != REF_DIF_CRC, p, len), guard);
}

static void
case_crc16(void)
{
	uint8_t two_ones[32] = {0xff, 0xff};

	expect(REF_DIF_CRC, digits, 9, 0xd0db);
	expect(REF_DIF_CRC, (const uint8_t *)"abc", 3, 0x443b);
	expect(REF_DIF_CRC, bytes(0, 0, 32), 32, 0);
	expect(REF_DIF_CRC, bytes(0xff, 0, 32), 32, 0xa293);
	expect(REF_DIF_CRC, bytes(0, 1, 32), 32, 0x0224);
	expect(REF_DIF_CRC, two_ones, 32, 0x21b8);
	expect(REF_DIF_CRC, bytes(0xff, -1, 32), 32, 0xa0b7);
}

static void
case_crc32(void)
{
	expect(REF_CRC32, digits, 9, 0xcbf43926);
}

static void
case_crc32c(void)
{
	/* The iSCSI READ (10) command of RFC 3720. */
	static const uint8_t pdu[48] = {0x01,
		0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02};

	expect(REF_CRC32C, digits, 9, 0xe3069283);
	expect(REF_CRC32C, bytes(0, 0, 32), 32, 0x8a9136aa);
	expect(REF_CRC32C, bytes(0xff, 0, 32), 32, 0x62a8ab43);
	expect(REF_CRC32C, bytes(0, 1, 32), 32, 0x46dd794e);
	expect(REF_CRC32C, bytes(0x1f, -1, 32), 32, 0x113fdb5c);
	expect(REF_CRC32C, pdu, 48, 0xd9963a56);
}

static void
case_crc64(void)
{
	expect(REF_CRC64, digits, 9, 0xae8b14860a799888);
	expect(REF_CRC64, bytes(0, 0, 4096), 4096, 0x6482d367eb22b64e);
	expect(REF_CRC64, bytes(0xff, 0, 4096), 4096, 0xc0ddba7302eca3ac);
	expect(REF_CRC64, bytes(0, 1, 4096), 4096, 0x3e729f5f6750449c);
	expect(REF_CRC64, bytes(0xff, -1, 4096), 4096, 0x9a2df64b8e9e517e);
}

/* The words of the example in RFC 1071 add up to ddf2. */
static void
case_checksum(void)
{
	static const uint8_t words[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};

	expect(REF_DIF_CSUM, words, sizeof(words), 0x220d);
	CHECK_EQ(ref_guard(REF_DIF_CSUM, false, words, sizeof(words)), 0x220d);
	/*
	 * Ones' complement has two zeros, 0 and ffff. A sum that begins with ffff never becomes 0.
	 */
	CHECK_EQ(ref_guard(REF_DIF_CSUM, false, bytes(0, 0, 32), 32), 0xffff);
	CHECK_EQ(ref_guard(REF_DIF_CSUM, true, bytes(0, 0, 32), 32), 0);
}

/* Tests both seeds and several block lengths. */
static void
case_isal(void)
{
	static const size_t lens[] = {1, 2, 15, 512, 520, 4048, 4096, 4160};
	uint8_t p[4160];
	uint64_t random = 1;
	size_t i, k;

	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = lens[i];

		for (k = 0; k < len; k++)
			p[k] = (uint8_t)check_random(&random);
		CHECK_EQ(ref_guard(REF_DIF_CRC, false, p, len), crc16_t10dif(0, p, len));
		CHECK_EQ(ref_guard(REF_DIF_CRC, true, p, len), crc16_t10dif(0xffff, p, len));
		CHECK_EQ(ref_guard(REF_CRC32, true, p, len), crc32_gzip_refl(0, p, len));
		CHECK_EQ(ref_guard(REF_CRC32, false, p, len), crc32_gzip_refl(UINT32_MAX, p, len));
		CHECK_EQ(ref_guard(REF_CRC32C, true, p, len),
			~crc32_iscsi(p, (int)len, UINT32_MAX));
#if ISAL_VERSION >= ISAL_MAKE_VERSION(2, 31, 0)
		CHECK_EQ(ref_guard(REF_CRC64, true, p, len), crc64_rocksoft_refl(0, p, len));
#endif
		CHECK_EQ(ref_guard(REF_CRC32C, false, p, len), ~crc32_iscsi(p, (int)len, 0));
	}
}

/* The signature bytes of two blocks, written by hand. */
static void
case_bytes(void)
{
	static const uint8_t first[] = {0xd0, 0xdb, 0xab, 0xcd, 0xff, 0xff, 0xff, 0xff};
	static const uint8_t second[] = {0xd0, 0xdb, 0xab, 0xcd, 0x00, 0x00, 0x00, 0x00};
	static const uint8_t crc32c[] = {0x83, 0x92, 0x06, 0xe3};
	const struct ref_sig dif = {REF_DIF_CRC, .block = 9, .app = 0xabcd, .ref = UINT32_MAX,
		.count = true};
	const struct ref_sig crc = {REF_CRC32C, .block = 9, .ones = true};
	uint8_t data[18], out[2 * (9 + 8)];

	memcpy(data, digits, 9);
	memcpy(data + 9, digits, 9);
	ref_lay(&dif, data, 2, out);
	check_bytes(out, digits, 9, "the first block");
	check_bytes(out + 9, first, 8, "its signature");
	check_bytes(out + 17, digits, 9, "the second block");
	check_bytes(out + 26, second, 8, "its signature");
	ref_lay(&crc, data, 2, out);
	check_bytes(out + 9 + 4 + 9, crc32c, 4, "a CRC");
}

/*
 * A wrong bit in a byte of the signature must be found if the mask has this byte's bit, and must
 * not be found otherwise. A block with an escape must not be checked.
 */
static void
case_checks(void)
{
	const struct ref_sig dif = {REF_DIF_CRC, .block = 9, .app = 0xabcd, .ref = 7,
		.count = true};
	struct ref_sig escape = dif;
	uint8_t data[18], units[2 * 17];
	struct ref_error error;

	memcpy(data, digits, 9);
	memcpy(data + 9, digits, 9);
	ref_lay(&dif, data, 2, units);
	CHECK_EQ(ref_check(&dif, 0xff, units, 2).part, REF_RIGHT);
	units[33] ^= 1;
	error = ref_check(&dif, 0xff, units, 2);
	CHECK(error.part == REF_REF && error.block == 1 && error.found == 9 && error.right == 8);
	CHECK_EQ(ref_check(&dif, 0x01, units, 2).part, REF_REF);
	CHECK_EQ(ref_check(&dif, 0xfe, units, 2).part, REF_RIGHT);
	units[28] ^= 0x80;
	error = ref_check(&dif, 0xff, units, 2);
	CHECK(error.part == REF_APP && error.found == 0x2bcd && error.right == 0xabcd);
	CHECK_EQ(ref_check(&dif, 0x20, units, 2).part, REF_APP);
	units[17] ^= 0x10;
	error = ref_check(&dif, 0xff, units, 2);
	CHECK(error.part == REF_GUARD && error.found == 0xd0db && error.right != 0xd0db);
	CHECK_EQ(ref_check(&dif, 0x30, units, 2).part, REF_APP);
	memset(units + 28, 0xff, 2);
	escape.app_ref_escape = true;
	CHECK_EQ(ref_check(&escape, 0xff, units, 2).part, REF_GUARD);
	memset(units + 28, 0xff, 6);
	CHECK_EQ(ref_check(&escape, 0xff, units, 2).part, REF_RIGHT);
	CHECK_EQ(ref_check(&dif, 0xff, units, 2).part, REF_GUARD);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"CRC-16 of T10-DIF has the values of SBC-3 and Linux", case_crc16},
		{"CRC-32 has the value of the catalogue", case_crc32},
		{"CRC-32C has the values of RFC 3720", case_crc32c},
		{"the 64-bit guard has the values of the NVM command set", case_crc64},
		{"the checksum has the value of RFC 1071", case_checksum},
		{"ISA-L computes the same for blocks of every size", case_isal},
		{"a signature's bytes lie where the standards put them", case_bytes},
		{"a mask says which bytes are checked; with an escape none is", case_checks},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
