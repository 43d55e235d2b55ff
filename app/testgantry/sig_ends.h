/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The two ends of --mode sig: an initiator that asks for blocks to be stored or fetched, and a target with a disk
 * in memory. Each is driven by an lcore of its own, and has memory and a queue of its own.
 *
 *     initiator                          target
 *     SEND struct sig_request      -->   a transaction: store: RDMA READ, the device generates the signatures
 *                                                       fetch: RDMA WRITE, the device checks and strips them
 *     receives struct sig_response <--   its good or its bad response
 *
 *     ends_open -> (ends_phase)* -> ends_close
 *
 * Main lcore. Functions that return int print the error when they return -1.
 */
#ifndef TESTGANTRY_SIG_ENDS_H
#define TESTGANTRY_SIG_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry.h"
#include "options.h"

#define SIG_SIGNATURE_LEN 8
/** Bytes of blocks that are stored and fetched in one go. The longest transaction fits. */
#define SIG_ROUND_LEN (8u << 20)

/** What the initiator sends. */
struct sig_request {
	uint64_t addr; /**< of the blocks in the initiator's memory */
	uint32_t remote_key;
	uint32_t number; /**< of the request, in its phase */
	uint32_t block;  /**< number of the first block */
	uint16_t n;      /**< blocks */
	bool store;      /**< else fetch */
};

/** What the target answers. */
struct sig_response {
	uint32_t number; /**< of the request */
	bool good;
};

/** What became of a request. */
struct sig_result {
	bool answered;
	bool good;      /**< the response */
	uint8_t status; /**< the target's completion: enum gantry_status */
	struct gantry_sig_error error;
	uint64_t ns; /**< from handing over the request to its response */
};

/** Requests that are carried out together, each for the blocks behind those of the one before. */
struct sig_phase {
	enum gantry_txn_mode mode;
	bool store;
	uint32_t n_blocks;
	/** The number of the first block, which is its reference tag: a multiple of the blocks of SIG_ROUND_LEN */
	uint32_t first_block;
	struct sig_result *result; /**< of each request; written by ends_phase() */
	uint32_t n_requests;       /**< written by ends_phase() */
	uint64_t ns;               /**< written by ends_phase() */
};

struct sig_ends;

/** Opens the device, and both ends with a connection for each mode. On failure there is nothing to close. */
int ends_open(const struct options *o, struct sig_ends **ends);

/** The connections of this mode are there: the device has what it takes. */
bool ends_have(const struct sig_ends *ends, enum gantry_txn_mode mode);

/** The name of the device, and the lcores of initiator and target. */
void ends_say(const struct sig_ends *ends);

/** Memory of SIG_ROUND_LEN bytes: what is stored. */
uint8_t *ends_source(const struct sig_ends *ends);

/** As much: what was fetched. */
uint8_t *ends_fetched(const struct sig_ends *ends);

/** The target's disk: blocks, each with its signature behind it. */
uint8_t *ends_disk(const struct sig_ends *ends);

/** Carries out a phase on the two lcores. -1: it did not end; if no signal came, the error is printed. */
int ends_phase(struct sig_ends *ends, struct sig_phase *phase);

/** Closes all. -1: the engine was still in use. */
int ends_close(struct sig_ends *ends);

#endif
