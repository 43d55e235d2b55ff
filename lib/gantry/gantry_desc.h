/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The 64-byte descriptor asks for one operation; the 32-byte completion answers it.
 *
 *   gantry_desc, one cache line                         gantry_comp, half a line
 *    0 op | 1 zero | 2 flags | 4 peer | 6 layout         0 cookie
 *    8 cookie                                            8 status | op | syndrome | vendor
 *   16 src                                              12 zero
 *   24 dst                                              16 len
 *   32 len                                              24 result
 *   40 remote_key | 44 imm
 *   48 arg[0]
 *   56 arg[1]
 *
 * Calls copy both. The caller may reuse the memory of a descriptor as soon as a call has accepted
 * it. The buffers that it names belong to the engine until its completion has been received: do not
 * write to src, and neither read nor write dst.
 *
 * Fields that an operation does not use must be zero; the engine refuses other values. Later
 * versions may so give them a meaning. Planned are:
 *  - lists of sources and destinations: src and dst point at the caller's arrays (valid until
 *    completion), arg[0] carries the two counts;
 *  - lists and strides prepared once and named by id: layout;
 *  - signature and encryption profiles prepared once and named by id: arg[0];
 *  - fill: the pattern in arg[0]; atomics: compare and swap, or add, in arg[0] and arg[1];
 *  - immediate data, or a key to invalidate: imm;
 *  - a transaction, or a ready-made WQE: src points at the caller's object, valid until completion.
 */
#ifndef GANTRY_DESC_H
#define GANTRY_DESC_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The operation. 0 is none: a descriptor of zeros is refused.
 *
 * ## Order
 * Copies are unordered against each other and against RDMA placement, whatever carries them:
 * dependence needs the fence. A fence (GANTRY_DESC_FENCE) orders a descriptor behind everything
 * before it, and nothing behind the descriptor; whoever depends on a fenced one carries a fence too.
 * The same is true of every other operation. Only completions come in the order of submission.
 */
enum gantry_op {
	/**
	 * Does nothing, and needs no hardware. Like every descriptor it completes after all that
	 * were submitted before it. Uses cookie and flags only.
	 */
	GANTRY_OP_NOP = 1,
	/**
	 * Copies len bytes from src to dst, both registered memory of this process. Ranges that
	 * overlap are refused with GANTRY_OVERLAP: no device copies like memmove(3).
	 */
	GANTRY_OP_COPY,
	/** Writes len bytes from src, registered here, to dst at the peer, under remote_key. */
	GANTRY_OP_WRITE,
	/** Reads len bytes from src at the peer, under remote_key, to dst, registered here. */
	GANTRY_OP_READ,
	GANTRY_OP_MAX,
};

/**
 * Starts only when everything that was submitted before it on this queue is done and its bytes are
 * in place. Unlike IBV_SEND_FENCE of ibv_wr_post(3), it counts for all connections of the queue.
 * What is submitted after it may run before it or at the same time.
 */
#define GANTRY_DESC_FENCE (1u << 0)

/** One operation. The head of this file says what unused fields must be. */
struct gantry_desc {
	uint8_t op;          /**< enum gantry_op */
	uint8_t zero;        /**< unused */
	uint16_t flags;      /**< GANTRY_DESC_* */
	uint16_t peer;       /**< WRITE, READ: the connection, from gantry_peer_open() */
	uint16_t layout;     /**< unused */
	uint64_t cookie;     /**< any value; the completion has it again */
	uint64_t src;        /**< address of the first byte to read */
	uint64_t dst;        /**< address of the first byte to write */
	uint64_t len;        /**< bytes; not 0 */
	uint32_t remote_key; /**< WRITE, READ: from gantry_mem_remote_key() at the peer */
	uint32_t imm;        /**< unused */
	uint64_t arg[2];     /**< unused */
} __attribute__((aligned(64)));

static_assert(sizeof(struct gantry_desc) == 64, "a descriptor is one cache line");
static_assert(offsetof(struct gantry_desc, remote_key) == 40, "the picture above");

/** The result of a descriptor. */
enum gantry_status {
	GANTRY_OK = 0, /**< done, and the bytes are in place */
	/*
	 * Refused before the hardware saw it, and nothing was moved. Correct the descriptor, or
	 * what it names, and submit it again.
	 */
	GANTRY_BAD_OP,         /**< op is not an operation */
	GANTRY_BAD_FIELD,      /**< a field that this operation does not use is not zero */
	GANTRY_BAD_LENGTH,     /**< len is 0, or address + len overflows */
	GANTRY_BAD_ADDRESS,    /**< src or dst is 0 */
	GANTRY_OVERLAP,        /**< source and destination of a copy overlap */
	GANTRY_NOT_REGISTERED, /**< local memory that is not in one registered region */
	GANTRY_BAD_PEER, /**< no such connection on this queue, or it is not connected or down */
	/*
	 * Failed in the hardware. Some bytes at dst may be written. Of WRITE and READ the
	 * connection is down: gantry.h, Errors, says what to do.
	 */
	GANTRY_LOCAL_ERROR,   /**< local protection, length or operation error: see syndrome */
	GANTRY_REMOTE_ACCESS, /**< the peer does not allow it: key, bounds or access rights */
	GANTRY_REMOTE_ERROR,  /**< the peer failed to carry it out */
	GANTRY_UNREACHABLE,   /**< the peer did not answer after all retries */
	/* Perhaps not carried out, or only in part, because something else failed. */
	GANTRY_FLUSHED,     /**< an earlier operation on the connection failed: gantry.h, Errors */
	GANTRY_DEVICE_LOST, /**< the queue's connection to itself is lost: destroy the queue */
	GANTRY_STATUS_MAX,
};

/** One completion: exactly one for each accepted descriptor, in the order of submission. */
struct gantry_comp {
	uint64_t cookie;         /**< of the descriptor */
	uint8_t status;          /**< enum gantry_status */
	uint8_t op;              /**< of the descriptor */
	uint8_t syndrome;        /**< of the error CQE (MLX5_CQE_SYNDROME_* of mlx5dv.h), else 0 */
	uint8_t vendor_syndrome; /**< of the error CQE, else 0 */
	uint32_t zero;           /**< 0 */
	uint64_t len;            /**< of the descriptor */
	uint64_t result;         /**< 0: no operation of today has a result */
};

static_assert(sizeof(struct gantry_comp) == 32, "two completions share a cache line");

#ifdef __cplusplus
}
#endif
#endif
