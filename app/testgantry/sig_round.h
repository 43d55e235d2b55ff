/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The blocks of a round of --mode sig: read from files, together with the signatures and the
 * ciphertext that the CPU computes.
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
	size_t file;       /**< index of the file that contains the next byte */
	uint64_t offset;   /**< offset of the next byte */
	uint64_t bytes;    /**< bytes read so far */
	uint64_t n_blocks; /**< blocks read so far */
};

/** Blocks that are stored and fetched together. */
struct sig_round {
	uint8_t *
		/** buffer for SIG_ROUND_LEN bytes of data, with the signatures of the wire */
		source;
	uint8_t *disk; /**< the blocks as they must be on the target's disk */
	/**
	 * Progress. len: bytes of data that are read; always whole blocks. is_read: the round is
	 * complete. n_expected: blocks that round_expect() has computed.
	 */
	size_t len;
	bool is_read;
	uint32_t n_expected;
	/** These fields are valid when the round is read. */
	uint32_t n_blocks;
	uint32_t first_block; /**< number of the first block */
	/** bytes of the files, from the first file to the end of this round */
	uint64_t bytes;
	size_t files; /**< number of files that end in this round or in an earlier round */
};

/** The time, in ns, that one CPU needs for one pass over some bytes. */
struct sig_passes {
	uint64_t copy, crc, compare;
};

/** Prepares a round for reading, from its first block. */
void round_reset(struct sig_round *round);

/**
 * Reads more blocks of a round, about `most` bytes. Sets is_read if the round is complete. A
 * complete round without blocks means that all files have been read to their end. Returns 0, or -1
 * with the error printed.
 */
int round_read(struct sig_reader *r, struct sig_round *round, size_t most);

/**
 * Computes the expected disk for the next `n` blocks, or for all remaining blocks if there are
 * fewer. key: with --encrypt; otherwise NULL. Returns 0, or -1 with the error printed.
 */
int round_expect(const struct options *o, struct sig_round *round, const struct sig_key *key,
	uint32_t n);

/**
 * Measures passes over a round's blocks, and adds the times to the struct: memcpy(3) to `to`;
 * sig_compute_crc() of each block, once for the disk and once for the wire, if the disk or wire has
 * signatures; memcmp(3).
 */
void round_measure(const struct options *o, const struct sig_round *round, uint8_t *to,
	struct sig_passes *passes);

#endif
