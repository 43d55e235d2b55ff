/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A phase of --mode sig: the two ends store or fetch blocks.
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

/** Bytes of data in a full round. The longest transaction is not longer. */
#define SIG_ROUND_LEN (8u << 20)

struct sig_ends;

/** The result of a request. */
struct sig_result {
	atomic_bool answered; /**< written by the initiator's lcore, after `good` and `ns` */
	bool good;            /**< the response is good */
	uint64_t ns;          /**< time from submitting the request to its response */
	/* Fields from the target's completion. */
	uint8_t status; /**< enum gantry_status */
	struct gantry_sig_error error;
	/* Fields for the main lcore. */
	bool right; /**< the arrived bytes are the expected bytes */
};

/**
 * Requests that run together. The blocks of a request directly follow those of the previous
 * request.
 */
struct sig_phase {
	enum gantry_txn_mode mode;
	bool store;
	const struct sig_key *key; /**< key of the blocks on the disk; NULL: no encryption */
	uint32_t n_blocks;
	/**
	 * The number of the first block, which is also its reference tag: a multiple of the number
	 * of blocks in SIG_ROUND_LEN
	 */
	uint32_t first_block;
	uint8_t *source;           /**< the blocks in the initiator's memory */
	struct sig_result *result; /**< [n_requests]: result of each request; the lcores write it */
	uint32_t n_requests;       /**< written by ends_begin() */
	/** used by the main lcore: number of requests whose blocks were compared */
	uint32_t n_compared;
	uint64_t ns; /**< time until the last response; written by the initiator's lcore */
};

/** Starts a phase on the two lcores. They poll their queues until ends_end(). */
void ends_begin(struct sig_ends *ends, struct sig_phase *phase);

/**
 * Lets the target end the phase. Call this when the initiator in another process has all responses.
 */
void ends_all_answered(struct sig_ends *ends);

/** Ends the phase early, because the other process has ended. */
void ends_give_up(struct sig_ends *ends);

/**
 * Returns true while the phase has unanswered requests. Returns false if all are answered, or if
 * the phase ends early. *answered: number of answered requests.
 */
bool ends_busy(const struct sig_ends *ends, uint32_t *answered);

/**
 * Sleeps for `us` microseconds, or until the phase is no longer busy, or until a signal comes. May
 * return early.
 */
void ends_nap(struct sig_ends *ends, uint32_t us);

/**
 * Returns true if a request has been answered. If the response is good, its blocks have arrived.
 */
static inline bool
result_answered(const struct sig_result *r)
{
	/* Pairs with take_response(). */
	return atomic_load_explicit(&r->answered, memory_order_acquire);
}

/**
 * Waits until the phase has ended. Returns 0, or -1 if the phase ended early. The error is then
 * printed, unless a signal came.
 */
int ends_end(struct sig_ends *ends);

#endif
