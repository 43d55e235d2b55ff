/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Paths: the port by which a QP reaches its peers, its timeouts and its retries.
 *
 * A path is part of hwq_qp_conf. It is valid for the life of the queue pair, resets included. A
 * field that is 0 means the default. Some fields have a bit in `mask`: if the bit is set, the value
 * 0 is used as it is. A field is ignored if the queue pair's type has no such attribute
 * (ibv_modify_qp(3)).
 */
#ifndef HWQ_PATH_H
#define HWQ_PATH_H

#include <stdint.h>

#define HWQ_PATH_MAX_TIMEOUT   31 /**< largest hwq_path::timeout */
#define HWQ_PATH_MAX_RETRIES   7  /**< largest hwq_path::retries and hwq_path::rnr_retries */
#define HWQ_PATH_MAX_RNR_TIMER 31 /**< largest hwq_path::min_rnr_timer */

/** Attributes of ibv_modify_qp(3) that the caller may set. */
struct hwq_path {
	/** HWQ_PATH_* bits of fields whose value is used even if it is 0 */
	uint32_t mask;
	/** index in the port's GID table; default: the best GID of the port */
	uint16_t gid_index;
	uint8_t port;          /**< port number; 0: the device's port */
	uint8_t traffic_class; /**< traffic class of RoCE packets; must be 0 on InfiniBand */
	/**
	 * Largest MTU, enum ibv_mtu; 0: the port's MTU. The two ends use the smaller of their MTUs.
	 */
	uint8_t mtu;
	/**
	 * A request is sent again after 4.096 us << timeout; 0: it is never sent again. Default: 14
	 */
	uint8_t timeout;
	/** Number of times that a request is sent again before the QP fails; default: 7. */
	uint8_t retries;
	/**
	 * Number of times that a message is sent again if the peer has no receive; 7: without
	 * limit. Default: 7.
	 */
	uint8_t rnr_retries;
	/** Time that a sender waits for a receive of this QP, in the IB encoding; default: 12. */
	uint8_t min_rnr_timer;
};

#define HWQ_PATH_GID_INDEX     (1u << 0) /**< bit of hwq_path::gid_index */
#define HWQ_PATH_TIMEOUT       (1u << 2) /**< bit of hwq_path::timeout */
#define HWQ_PATH_RETRIES       (1u << 3) /**< bit of hwq_path::retries */
#define HWQ_PATH_RNR_RETRIES   (1u << 4) /**< bit of hwq_path::rnr_retries */
#define HWQ_PATH_MIN_RNR_TIMER (1u << 5) /**< bit of hwq_path::min_rnr_timer */

#endif
