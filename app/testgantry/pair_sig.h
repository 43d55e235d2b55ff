/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * --mode sig between two processes: the frames between initiator (--connect) and target (--listen).
 * Requests, responses and blocks go by RDMA, as in one process: sig_phase.h.
 *
 *     initiator                                  target
 *     TALK_MODE, for each mode          <-->     TALK_MODE         addresses
 *     TALK_PHASE                         -->     renews its key, corrupts its disk
 *                                        <--     TALK_READY
 *     requests                           ==>     transactions
 *     TALK_PHASE_DONE, with the digest   -->     checks its disk
 *     judges all responses               <--     TALK_RESULTS ..., TALK_JUDGED
 *
 * The target checks its disk with the CPU: it decrypts each block, computes its signature, and
 * compares the SHA-256 of all data with that of the initiator's files. The key never leaves it.
 */
#ifndef TESTGANTRY_PAIR_SIG_H
#define TESTGANTRY_PAIR_SIG_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "gantry.h"
#include "pair_digest.h"

/** The content of a TALK_MODE: one end of the connection for a mode. */
struct pair_mode {
	struct gantry_addr addr;
	uint32_t have; /**< 0: this device lacks the mode, and there is no address */
	uint32_t zero;
};

/** The content of a TALK_PHASE: the fields of struct sig_phase. */
struct pair_phase {
	uint32_t mode;
	uint32_t store;
	uint32_t damaged; /**< store: the initiator sends corrupted blocks */
	uint32_t new_key; /**< the disk gets a new key */
	uint32_t first_block;
	uint32_t n_blocks;
};

/** The content of a TALK_PHASE_DONE. */
struct pair_plain {
	uint8_t digest[DIGEST_LEN]; /**< digest of the data of all blocks of the round */
};

/**
 * The target's result of a request. The content of a TALK_RESULTS is at most PAIR_RESULTS of these
 * structs.
 */
struct pair_result {
	uint8_t status;  /**< enum gantry_status of the transaction */
	uint8_t part;    /**< gantry_sig_error::part */
	uint8_t on_wire; /**< gantry_sig_error::on_wire */
	uint8_t right;   /**< the blocks on the disk are right */
	uint32_t block;  /**< gantry_sig_error::block */
};

#define PAIR_RESULTS 1024

/** The content of a TALK_JUDGED: the target's counters of transactions, as in gantry_stats. */
struct pair_judged {
	uint64_t opened, done, stops, cancelled;
};

static_assert(sizeof(struct pair_mode) == 72 && sizeof(struct pair_phase) == 24 &&
		      sizeof(struct pair_plain) == 32 && sizeof(struct pair_result) == 8 &&
		      sizeof(struct pair_judged) == 32,
	"two processes agree on the bytes");

#endif
