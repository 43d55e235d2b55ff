/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What hwq_wr.h keeps of a send queue from one batch to the next. hwq_wqe.h and hwq_burst.h keep nothing
 * here: a burst's state is a struct hwq_burst of the caller's.
 */
#ifndef HWQ_SQ_WR_H
#define HWQ_SQ_WR_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>

/** What lies behind the control segment of WQEs that take data: it depends on the type of QP. */
enum hwq_transport {
	HWQ_TRANSPORT_NONE, /**< RC, UC: nothing */
	HWQ_TRANSPORT_UD,   /**< an address vector */
	HWQ_TRANSPORT_XRC,  /**< the number of an SRQ */
	HWQ_TRANSPORT_DC,   /**< an address vector */
	HWQ_TRANSPORT_ETH,  /**< RAW_PACKET: checksums and headers */
};

/* hwq_sq_wr.start of a queue in RTS, whose at, limit and index_qpn are valid. */
#define HWQ_SQ_START(transport, fm_cache) htole32((uint32_t)(transport) << 8 | (fm_cache))

/** State between batches, and the limits that only hwq_wr.h checks. */
struct hwq_sq_wr {
	/** What hwq_wr_start() checks, by one comparison in the common case. */
	union {
		uint32_t start;
		__extension__ struct {
			uint8_t fm_cache;  /**< fence that the next WQE carries */
			uint8_t transport; /**< enum hwq_transport */
			bool not_rts;      /**< hwq_wr_complete() says -EINVAL, as libmlx5's */
			bool moved;        /**< others moved pi: at, limit, index_qpn are stale */
		};
	};
	uint32_t max_umr_ds;     /**< units of layout and BSF of one UMR */
	uint8_t *at;             /**< the next WQE; NULL: others wrote WQEs without a doorbell */
	uint8_t *limit;          /**< end of the room behind at that is known to be free */
	uint64_t index_qpn;      /**< pi and QPN: hwq_index_qpn() */
	uintptr_t wr_id_bias;    /**< the wr_id of the WQE at x is at x / 8 + wr_id_bias */
	uint64_t *wr_ids;        /**< of each WQEBB where a WQE starts */
	uint16_t max_tso_header; /**< RAW_PACKET: bytes of a TSO WQE's headers */
	uint8_t eth_inline;      /**< RAW_PACKET: bytes of each frame that must be inline */
	bool ip_csum;            /**< RAW_PACKET: the port computes checksums */
};

#endif
