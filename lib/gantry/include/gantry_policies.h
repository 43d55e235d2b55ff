/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Policies: rules that choose the carrier of a copy by its length and by the descriptors in flight.
 */
#ifndef GANTRY_POLICIES_H
#define GANTRY_POLICIES_H

#include <stddef.h>
#include <stdint.h>

#include "gantry_api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gantry_queue;

/** The carrier of a COPY, COPY_SG or FILL. */
enum gantry_carrier {
	GANTRY_CARRIER_USUAL = 0, /**< the carrier in gantry_info::copy_path */
	GANTRY_CARRIER_CPU,       /**< the queue's owner thread: GANTRY_DESC_BY_CPU */
	GANTRY_CARRIER_MMO,
	GANTRY_CARRIER_RDMA,
};

/** Greater than every carrier of these headers. */
#define GANTRY_CARRIER_MAX (GANTRY_CARRIER_RDMA + 1)

#define GANTRY_POLICY_MAX 32 /**< most rules of one policy */

/**
 * A rule. It applies to copies of at most max_len bytes while at most max_in_flight descriptors are
 * in flight.
 */
struct gantry_policy_rule {
	uint64_t max_len; /**< bytes; UINT64_MAX: any length */
	/**
	 * Descriptors of the queue that are in flight when the copy is handed to its carrier: the
	 * copy, earlier descriptors, and later descriptors of the same call. In an unordered queue,
	 * only descriptors of its connection to itself count. UINT32_MAX: any number
	 */
	uint32_t max_in_flight;
	enum gantry_carrier carrier; /**< carrier of the copy */
};

/**
 * A policy gives each copy a carrier: the carrier of the first rule that applies, or
 * GANTRY_CARRIER_USUAL if no rule applies.
 */
struct gantry_policy {
	uint32_t n; /**< number of rules; 0: GANTRY_CARRIER_USUAL for all copies */
	struct gantry_policy_rule
		rule[GANTRY_POLICY_MAX]; /**< rules, in the order in which they are tried */
	uint64_t reserved[4];            /**< must be 0 */
};

/**
 * Sets the policy of a queue for copies that are handed to their carriers from now on. Owner
 * thread; for a worker's queue the control thread, also while the worker runs.
 *
 * `testgantry --measure-policy FILE` measures a policy on the machine at hand. A copy with a
 * GANTRY_DESC_BY_ flag ignores the policy. So does a copy of device memory, which RDMA carries.
 *
 * @param q
 *   The queue.
 * @param policy
 *   The policy, read during the call; NULL: no rules.
 * @return
 *   0 on success. After an error the policy has not changed, and a line of the log says more:
 * @retval -EINVAL
 *   There are more than GANTRY_POLICY_MAX rules, a carrier is no enum value, or reserved bytes are
 *   not 0.
 * @retval -EOPNOTSUPP
 *   A rule has a carrier that is not in gantry_info::carriers. The log says how to get this
 *   carrier.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 */
GANTRY_API int gantry_policy_set(struct gantry_queue *q, const struct gantry_policy *policy);

/**
 * Copies the policy of a queue. Threads: as for gantry_policy_set().
 *
 * @param q
 *   The queue.
 * @param policy
 *   Is written as a whole.
 */
GANTRY_API void gantry_policy_get(const struct gantry_queue *q, struct gantry_policy *policy);

/**
 * Reads a policy from text. Any thread. Experimental.
 *
 * Each line is a rule, `IN-FLIGHT LENGTH CARRIER`, separated by blanks. Numbers are decimal, or
 * `any`. CARRIER is `cpu`, `mmo`, `rdma` or `usual`. Empty lines are skipped. In each line, a `#`
 * and all text behind it are skipped. A line has at most 255 characters before its `#`.
 *
 * @param text
 *   The text, with a 0 at its end.
 * @param policy
 *   Written on success only.
 * @return
 *   0 on success. Otherwise the log names the line:
 * @retval -EINVAL
 *   A line is no rule.
 * @retval -E2BIG
 *   There are more than GANTRY_POLICY_MAX rules.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_policy_parse(const char *text,
	struct gantry_policy *policy);

/**
 * Writes a policy as text that gantry_policy_parse() reads. Any thread. Experimental.
 *
 * @param policy
 *   The policy.
 * @param text
 *   Gets at most `size` bytes, with the 0 at the end; may be NULL if size is 0.
 * @param size
 *   Bytes at `text`.
 * @return
 *   The length of the whole text without the 0, as snprintf(3). If it is `size` or more, the text
 *   was cut.
 * @retval -EINVAL
 *   The policy is not possible.
 */
GANTRY_EXPERIMENTAL GANTRY_API int gantry_policy_print(const struct gantry_policy *policy,
	char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
