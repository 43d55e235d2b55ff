/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the two ends of --mode sig do together: blocks are stored, or fetched.
 *
 *     initiator                          target
 *     SEND struct sig_request      -->   a transaction: store: RDMA READ, fetch: RDMA WRITE. The
 *                                        device checks the signatures that come in, and generates
 *                                        those that go out
 *     receives struct sig_response <--   its good or its bad response
 */
#ifndef TESTGANTRY_SIG_PHASE_H
#define TESTGANTRY_SIG_PHASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gantry.h"
#include "sig_keys.h"

/** Bytes of data that are stored and fetched in one go. The longest transaction fits. */
#define SIG_ROUND_LEN (8u << 20)

struct sig_ends;

/** What became of a request. */
struct sig_result {
	atomic_bool answered; /**< written by the initiator's lcore, behind `good` and `ns` */
	bool good;            /**< the response */
	uint64_t ns;          /**< from handing over the request to its response */
	/* Of the target's completion. */
	uint8_t status; /**< enum gantry_status */
	struct gantry_sig_error error;
	/* Of the main lcore. */
	bool right; /**< what has arrived is what was expected */
};

/** Requests that are carried out together, each for the blocks behind those of the one before. */
struct sig_phase {
	enum gantry_txn_mode mode;
	bool store;
	const struct sig_key *key; /**< of the blocks on the disk; NULL: they are not encrypted */
	uint32_t n_blocks;
	/**
	 * The number of the first block, which is its reference tag: a multiple of the blocks of
	 * SIG_ROUND_LEN
	 */
	uint32_t first_block;
	uint8_t *source;           /**< the blocks in the initiator's memory */
	struct sig_result *result; /**< of each request; written by the lcores */
	uint32_t n_requests;       /**< written by ends_begin() */
	uint32_t n_compared;       /**< of the main lcore: requests whose blocks were compared */
	uint64_t ns;               /**< until the last response; written by the initiator's lcore */
};

/** Begins a phase on the two lcores. They poll their queues until ends_end(). */
void ends_begin(struct sig_ends *ends, struct sig_phase *phase);

/**
 * False: all requests of the phase that was begun have been answered, or it ends early. *answered:
 * how many have.
 */
bool ends_busy(const struct sig_ends *ends, uint32_t *answered);

/**
 * Sleeps for so long, or until the phase is no longer busy, or a signal comes. May return early.
 */
void ends_nap(struct sig_ends *ends, uint32_t us);

/** True if a request has been answered: what it asked for has arrived, if the response is good. */
static inline bool
result_answered(const struct sig_result *r)
{
	/* Pairs with take_response(). */
	return atomic_load_explicit(&r->answered, memory_order_acquire);
}

/**
 * Waits until the phase that was begun has ended. -1: it was left early; if no signal came, the
 * error is printed.
 */
int ends_end(struct sig_ends *ends);

#endif
