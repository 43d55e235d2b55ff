/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The blocks of a round of --mode sig: read from files, with the signatures and the ciphertext that
 * the CPU computes.
 */
#ifndef TESTGANTRY_SIG_ROUND_H
#define TESTGANTRY_SIG_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files.h"
#include "options.h"
#include "sig_keys.h"

/** Reads the blocks of the files, one file after the other. */
struct sig_reader {
	const struct options *opt;
	const struct file_set *set;
	size_t file;       /**< the file of the next byte */
	uint64_t offset;   /**< offset of the next byte */
	uint64_t bytes;    /**< bytes read so far */
	uint64_t n_blocks; /**< blocks read so far */
};

/** Blocks that are stored and fetched together. */
struct sig_round {
	uint8_t *
		/** room for SIG_ROUND_LEN bytes of data, with the wire's signatures */
		source;
	uint8_t *disk; /**< the blocks as they must be on the target's disk */
	/**
	 * Progress. len: bytes of data that are read, whole blocks. is_read: the round is complete.
	 * n_expected: blocks that round_expect() has computed.
	 */
	size_t len;
	bool is_read;
	uint32_t n_expected;
	/** Valid when the round is read. */
	uint32_t n_blocks;
	uint32_t first_block; /**< number of the first block */
	uint64_t bytes;       /**< bytes of the files, up to the end of this round */
	size_t files;         /**< files that end in this round or earlier */
};

/** The time that one CPU needs for one pass over some bytes, in ns. */
struct sig_passes {
	uint64_t copy, crc, compare;
};

/** Prepares a round for reading from its beginning. */
void round_reset(struct sig_round *round);

/**
 * Reads more blocks of a round, about `most` bytes. Notes if the round is complete. If it then has
 * no blocks, all files are read. 0, or -1 with the error printed.
 */
int round_read(struct sig_reader *r, struct sig_round *round, size_t most);

/**
 * Computes the expected disk for the next `n` blocks, or for all remaining ones if fewer are left.
 * key: with --encrypt, else NULL. 0, or -1 with the error printed.
 */
int round_expect(const struct options *o, struct sig_round *round, const struct sig_key *key,
	uint32_t n);

/**
 * Measures passes over a round's blocks, and adds their times up: memcpy(3) to `to`;
 * sig_compute_crc() of each block, once for the disk and once for the wire, if they have
 * signatures; memcmp(3).
 */
void round_measure(const struct options *o, const struct sig_round *round, uint8_t *to,
	struct sig_passes *passes);

#endif
