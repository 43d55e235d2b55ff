/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Checks a disk of --mode sig whose initiator is in another process. This process does not have the
 * files. So the CPU decrypts each block, checks its signature, and computes the digest of all data.
 */
#ifndef TESTGANTRY_SIG_DISK_H
#define TESTGANTRY_SIG_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "pair_digest.h"
#include "sig_keys.h"

/** A run of blocks of a disk. */
struct sig_disk {
	const uint8_t *blocks;
	uint32_t first_block, n_blocks;
	const struct sig_key *key; /**< NULL: not encrypted */
};

/**
 * Checks the signatures of n blocks, from block `first` of the run on. *right: all signatures are
 * right. digest: the data of the blocks are added; may be NULL. @return 0, or -1 with the error
 * printed.
 */
int sig_disk_check(const struct options *o, const struct sig_disk *disk, uint32_t first, uint32_t n,
	bool *right, struct digest *digest);

#endif
