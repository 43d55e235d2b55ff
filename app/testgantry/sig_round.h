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

/** Reads the files' blocks one after the other. */
struct sig_reader {
	const struct options *opt;
	const struct file_set *set;
	size_t file;       /**< the next byte lies in this file */
	uint64_t offset;   /**< and there */
	uint64_t bytes;    /**< that have been read */
	uint64_t n_blocks; /**< that have been read */
};

/** Blocks that are stored and fetched together. */
struct sig_round {
	uint8_t *
		/** room for SIG_ROUND_LEN bytes of data, with the signatures that the wire has */
		source;
	uint8_t *disk; /**< the same, as it must be on the target's disk */
	/**
	 * How far it is: bytes of data that are read, whole blocks; nothing is left to read; blocks
	 * that round_expect() has computed.
	 */
	size_t len;
	bool is_read;
	uint32_t n_expected;
	/** Of a round that is read. */
	uint32_t n_blocks;
	uint32_t first_block; /**< its number */
	uint64_t bytes;       /**< of the files, up to this round's end */
	size_t files;         /**< that end in this round or before */
};

/** How long one CPU takes for one pass over some bytes, in ns. */
struct sig_passes {
	uint64_t copy, crc, compare;
};

/** The round is to be read from the beginning. */
void round_reset(struct sig_round *round);

/**
 * Reads more blocks of a round, about `most` bytes, and notes if it is read. One without blocks
 * then: all files are read. 0, or -1 with the error printed.
 */
int round_read(struct sig_reader *r, struct sig_round *round, size_t most);

/**
 * Computes what must be on the disk, of `n` blocks behind those that are computed, or of all that
 * are left. key: of --encrypt, else NULL. 0, or -1 with the error printed.
 */
int round_expect(const struct options *o, struct sig_round *round, const struct sig_key *key,
	uint32_t n);

/**
 * Measures passes over a round's blocks, and adds them up: memcpy(3) to `to`; sig_compute_crc() of
 * each block, once for the disk and once for the wire, if these have signatures; memcmp(3).
 */
void round_measure(const struct options *o, const struct sig_round *round, uint8_t *to,
	struct sig_passes *passes);

#endif
