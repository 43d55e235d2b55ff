/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the cipher function of the emulated adapter with NIST's XTS vectors, whose files are in
 * python3-cryptography-vectors. Only vectors that are a whole number of bytes are used. Their data
 * units are shorter than the smallest data unit that a key can have.
 *
 *     test_softhca_xts FOLDER     with XTSGenAES128.rsp and XTSGenAES256.rsp
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "xts.h"

#define MAX_LEN 64

struct vector {
	bool encrypt;
	unsigned int bits; /* length of the data unit in bits */
	size_t key_len, tweak_len, pt_len, ct_len;
	uint8_t key[MAX_LEN], tweak[MAX_LEN], pt[MAX_LEN], ct[MAX_LEN];
};

static size_t
hex(const char *text, uint8_t out[MAX_LEN])
{
	size_t n = 0;
	unsigned int byte;

	for (; n < MAX_LEN && sscanf(text + 2 * n, "%2x", &byte) == 1; n++)
		out[n] = (uint8_t)byte;
	return n;
}

static void
check_vector(const struct vector *v)
{
	const uint8_t *in = v->encrypt ? v->pt : v->ct, *want = v->encrypt ? v->ct : v->pt;
	uint8_t out[MAX_LEN], same[MAX_LEN];
	struct xts *xts;

	CHECK(v->tweak_len == XTS_TWEAK_LEN && v->pt_len * 8 == v->bits && v->ct_len == v->pt_len);
	CHECK_EQ(xts_create(v->key, v->key_len, &xts), 0);
	CHECK(xts_cipher(xts, v->encrypt, v->tweak, 512, in, out, v->pt_len));
	CHECK(memcmp(out, want, v->pt_len) == 0);
	/* Encrypts in place, and with the context of the previous call. */
	memcpy(same, in, v->pt_len);
	CHECK(xts_cipher(xts, v->encrypt, v->tweak, 512, same, same, v->pt_len));
	CHECK(memcmp(same, want, v->pt_len) == 0);
	xts_destroy(xts);
}

/* Returns the number of vectors in the file that are a whole number of bytes. */
static unsigned int
check_file(const char *folder, const char *name, size_t key_len)
{
	struct vector v = {.encrypt = true};
	char path[512], line[512];
	unsigned int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "r");
	if (f == NULL) {
		printf("skipped: %s: %s; the Debian package python3-cryptography-vectors has it\n",
			path, strerror(errno));
		exit(CHECK_SKIP);
	}
	while (fgets(line, sizeof(line), f) != NULL) {
		char *value = strchr(line, '=');

		if (strncmp(line, "[ENCRYPT]", 9) == 0 || strncmp(line, "[DECRYPT]", 9) == 0)
			v.encrypt = line[1] == 'E';
		if (value == NULL)
			continue;
		value += 2;
		if (strncmp(line, "DataUnitLen ", 12) == 0)
			v.bits = (unsigned int)strtoul(value, NULL, 10);
		else if (strncmp(line, "Key ", 4) == 0)
			v.key_len = hex(value, v.key);
		else if (strncmp(line, "i ", 2) == 0)
			v.tweak_len = hex(value, v.tweak);
		else if (strncmp(line, "PT ", 3) == 0)
			v.pt_len = hex(value, v.pt);
		else if (strncmp(line, "CT ", 3) == 0)
			v.ct_len = hex(value, v.ct);
		else
			continue;
		/* The last line of a vector is the expected result. */
		if (strncmp(line, v.encrypt ? "CT " : "PT ", 3) != 0 || v.bits % 8 != 0)
			continue;
		CHECK_EQ(v.key_len, key_len);
		check_vector(&v);
		n++;
	}
	fclose(f);
	return n;
}

/*
 * A key whose two halves are equal is not allowed for XTS (IEEE Std 1619; NIST SP 800-38E by FIPS
 * 140-3).
 */
static void
check_refused(void)
{
	uint8_t key[64];
	struct xts *xts;

	memset(key, 0x5a, sizeof(key));
	CHECK_EQ(xts_create(key, 32, &xts), -EINVAL);
	CHECK_EQ(xts_create(key, 64, &xts), -EINVAL);
}

static void
check_tweak(void)
{
	uint8_t tweak[XTS_TWEAK_LEN], want[XTS_TWEAK_LEN] = {0};

	memset(tweak, 0xff, sizeof(tweak));
	xts_tweak_add(tweak, 1);
	CHECK(memcmp(tweak, want, sizeof(want)) == 0);
	xts_tweak_add(tweak, 5); /* the addition has no carry */
	want[0] = 5;
	CHECK(memcmp(tweak, want, sizeof(want)) == 0);
	tweak[0] = 0xfe;
	memset(tweak + 1, 0xff, 7);
	xts_tweak_add(tweak, 0x103);
	want[0] = 0x01;
	want[1] = 0x01;
	want[8] = 1;
	CHECK(memcmp(tweak, want, sizeof(want)) == 0);
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	check_refused();
	check_tweak();
	CHECK_EQ(check_file(argv[1], "XTSGenAES128.rsp", 32), 800);
	CHECK_EQ(check_file(argv[1], "XTSGenAES256.rsp", 64), 600);
	return check_failures == 0 ? 0 : 1;
}
