/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Paths: by which port a queue pair reaches others, and how it behaves when nobody answers.
 *
 * A path is part of hwq_qp_conf. It holds for the life of the queue pair, resets included. A field of 0 is
 * the default. Fields that a type of queue pair has no attribute for are not used (ibv_modify_qp(3)).
 */
#ifndef HWQ_PATH_H
#define HWQ_PATH_H

#include <stdint.h>

#define HWQ_PATH_MAX_TIMEOUT   31
#define HWQ_PATH_MAX_RETRIES   8
#define HWQ_PATH_MAX_RNR_TIMER 31

/** Attributes of ibv_modify_qp(3) that a caller may choose. */
struct hwq_path {
	uint8_t port;          /**< port number; 0: the device's */
	uint16_t gid_index;    /**< 1 + the index in the port's GID table; 0: the best one */
	uint8_t traffic_class; /**< of RoCE packets; must be 0 on InfiniBand */
	uint8_t mtu;         /**< enum ibv_mtu, the most; 0: the port's. The smaller of both ends */
	uint8_t timeout;     /**< a request is sent again after 4.096 us << timeout; 0: 14 */
	uint8_t retries;     /**< 1 + how often, before the queue pair fails; 0: 7 times */
	uint8_t rnr_retries; /**< 1 + how often without a receive there; 8, or 0: for ever */
	uint8_t min_rnr_timer; /**< what a sender waits for a receive here: an IB code; 0: 12 */
};

#endif
