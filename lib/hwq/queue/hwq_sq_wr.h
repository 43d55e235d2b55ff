/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * State of a send queue that hwq_wr.h keeps between batches. hwq_wqe.h and hwq_burst.h do not use
 * this state: the state of a burst is in the caller's struct hwq_burst.
 */
#ifndef HWQ_SQ_WR_H
#define HWQ_SQ_WR_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>

/** The segment that follows the control segment of WQEs with data. It depends on the type of QP. */
enum hwq_transport {
	HWQ_TRANSPORT_NONE, /**< no such segment: RC, UC */
	HWQ_TRANSPORT_UD,   /**< an address vector */
	HWQ_TRANSPORT_XRC,  /**< the number of an SRQ */
	HWQ_TRANSPORT_DC,   /**< an address vector */
	HWQ_TRANSPORT_ETH,  /**< RAW_PACKET: an Ethernet segment */
};

/** The value of hwq_sq_wr.start for a queue in RTS whose at, limit and index_qpn are valid. */
#define HWQ_SQ_START(transport, fm_cache) htole32((uint32_t)(transport) << 8 | (fm_cache))

/** State between batches, and limits that only hwq_wr.h checks. */
struct hwq_sq_wr {
	/** The fields that hwq_wr_start() checks, by one comparison in the common case. */
	union {
		uint32_t start; /**< the four fields below as one word */
		__extension__ struct {
			uint8_t fm_cache;  /**< the fence that the next WQE must have */
			uint8_t transport; /**< enum hwq_transport */
			/**
			 * The QP is not in RTS: hwq_wr_complete() returns -EINVAL, as in libmlx5.
			 */
			bool not_rts;
			/**
			 * Another builder has moved pi: at, limit and index_qpn are out of date.
			 */
			bool moved;
		};
	};
	uint32_t max_umr_ds; /**< most units of layout and BSF in one UMR */
	/**
	 * Address at which the next WQE starts. NULL: another builder has written WQEs without a
	 * doorbell.
	 */
	uint8_t *at;
	uint8_t *limit;     /**< end of the WQEBBs after `at` that are known to be free */
	uint64_t index_qpn; /**< index and QPN for the next WQE: hwq_index_qpn() */
	/** The wr_id of the WQE at address x is at x / 8 + wr_id_bias. */
	uintptr_t wr_id_bias;
	/** [WQEBBs of the ring]: wr_id of the WQE that starts at the WQEBB */
	uint64_t *wr_ids;
	uint16_t max_tso_header; /**< RAW_PACKET: most bytes of headers in a TSO WQE */
	uint8_t eth_inline;      /**< RAW_PACKET: bytes of each frame that must be inline */
	bool ip_csum;            /**< RAW_PACKET: the port computes checksums */
};

#endif
