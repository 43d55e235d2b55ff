/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Decrypts and checks blocks, one at a time.
 */
#include "sig_disk.h"

#include <string.h>

#include "sig_guard.h"
#include "sig_xts.h"

#define LONGEST (4096 + SIG_MAX_LEN) /* bytes of the longest block with its signature */

int
sig_disk_check(const struct options *o, const struct sig_disk *disk, uint32_t first, uint32_t n,
	bool *right, struct digest *digest)
{
	const uint32_t len = o->block_size, sig = sig_len(o->guard);
	uint8_t block[LONGEST], want[SIG_MAX_LEN];
	uint32_t number;

	*right = true;
	for (uint32_t i = first; i < first + n; i++) {
		number = disk->first_block + i;
		memcpy(block, disk->blocks + (size_t)i * (len + sig), len + sig);
		if (o->encrypt == ENCRYPT_ALL &&
			xts_crypt(false, disk->key->bytes, number, block, 1, len + sig, 0) != 0)
			return -1;
		sig_write(o->guard, block, len, number, want);
		*right &= memcmp(block + len, want, sig) == 0;
		if (o->encrypt == ENCRYPT_DATA &&
			xts_crypt(false, disk->key->bytes, number, block, 1, len, 0) != 0)
			return -1;
		if (digest != NULL && digest_add(digest, block, len) != 0)
			return -1;
	}
	return 0;
}
