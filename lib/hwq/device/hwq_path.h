/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Paths: by which port a queue pair reaches others, and how it behaves when nobody answers.
 *
 * A path is part of hwq_qp_conf. It holds for the life of the queue pair, resets included. 0 in a field
 * is the default; where 0 is a value of its own, the field counts if `mask` has its bit. A queue pair
 * does not use what its type has no attribute for (ibv_modify_qp(3)).
 */
#ifndef HWQ_PATH_H
#define HWQ_PATH_H

#include <stdint.h>

#define HWQ_PATH_MAX_TIMEOUT   31
#define HWQ_PATH_MAX_RETRIES   7
#define HWQ_PATH_MAX_RNR_TIMER 31

/** Attributes of ibv_modify_qp(3) that a caller may choose. */
struct hwq_path {
	uint32_t mask;         /**< HWQ_PATH_*: which fields below count although they may be 0 */
	uint16_t gid_index;    /**< in the port's GID table; default: the best one */
	uint8_t port;          /**< port number; 0: the device's */
	uint8_t traffic_class; /**< of RoCE packets; must be 0 on InfiniBand */
	uint8_t mtu; /**< enum ibv_mtu, the most; 0: the port's. The smaller one of both ends counts */
	/** A request is sent again after 4.096 us << timeout; 0: never. Default: 14 */
	uint8_t timeout;
	uint8_t retries; /**< how often, before the queue pair fails; default: 7 */
	/** How often a message is sent again without a receive there; 7: without end. Default: 7 */
	uint8_t rnr_retries;
	uint8_t min_rnr_timer; /**< what a sender waits for a receive here: an IB code; default: 12 */
};

#define HWQ_PATH_GID_INDEX     (1u << 0) /**< hwq_path::gid_index */
#define HWQ_PATH_TIMEOUT       (1u << 2) /**< hwq_path::timeout */
#define HWQ_PATH_RETRIES       (1u << 3) /**< hwq_path::retries */
#define HWQ_PATH_RNR_RETRIES   (1u << 4) /**< hwq_path::rnr_retries */
#define HWQ_PATH_MIN_RNR_TIMER (1u << 5) /**< hwq_path::min_rnr_timer */

#endif
