/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What rides the rings: the 64-byte descriptor that asks, and the 32-byte completion that answers.
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
 * Both are copied by value: once an enqueue or submit call has accepted a descriptor, the caller may
 * reuse its memory. The buffers it names stay untouched until its completion has been received.
 *
 * A field that an operation does not use must be zero, and is checked: so operations to come can
 * give it a meaning without surprising anyone. Where each is going:
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

/** What to do. 0 is not an operation, so that cleared memory is an error and not a success. */
enum gantry_op {
	/**
	 * Nothing, in its turn: completes after everything submitted before it. Uses no field but
	 * cookie and flags, and no hardware.
	 */
	GANTRY_OP_NOP = 1,
	/** Copies len bytes from src to dst, both registered memory of this process. */
	GANTRY_OP_COPY,
	/** Writes len bytes from src, here, to dst at the peer, under remote_key. */
	GANTRY_OP_WRITE,
	/** Reads len bytes from src at the peer, under remote_key, to dst, here. */
	GANTRY_OP_READ,
	GANTRY_OP_MAX,
};

/**
 * Starts only when everything submitted before it on this queue has been done and placed
 * (IBV_SEND_FENCE of ibv_wr_post(3), held across the connections of the queue).
 * Without it, operations may be carried out in any order and at the same time; only their
 * completions come in the order of submission.
 */
#define GANTRY_DESC_FENCE (1u << 0)

/** One operation. See the file's head for unused fields. */
struct gantry_desc {
	uint8_t op; /**< enum gantry_op */
	uint8_t zero;
	uint16_t flags; /**< GANTRY_DESC_* */
	uint16_t peer;  /**< WRITE, READ: the connection, from gantry_peer_open() */
	uint16_t layout;
	uint64_t cookie;     /**< comes back in the completion, untouched */
	uint64_t src;        /**< address of the first byte to take */
	uint64_t dst;        /**< address of the first byte to set */
	uint64_t len;        /**< bytes; not 0 */
	uint32_t remote_key; /**< WRITE, READ: from gantry_mem_remote_key() at the peer */
	uint32_t imm;
	uint64_t arg[2];
} __attribute__((aligned(64)));

static_assert(sizeof(struct gantry_desc) == 64, "a descriptor is one cache line");
static_assert(offsetof(struct gantry_desc, remote_key) == 40, "the picture above");

/** What became of a descriptor. */
enum gantry_status {
	GANTRY_OK = 0,
	/* Refused before the hardware saw it. Nothing was moved: mend the descriptor, submit again. */
	GANTRY_BAD_OP,         /**< op is not an operation */
	GANTRY_BAD_FIELD,      /**< a field that this operation does not use is not zero */
	GANTRY_BAD_LENGTH,     /**< len is 0, or address + len overflows */
	GANTRY_BAD_ADDRESS,    /**< src or dst is 0 */
	GANTRY_NOT_REGISTERED, /**< local memory that no gantry_mem_register() covers in one piece */
	GANTRY_BAD_PEER,       /**< no such connection on this queue, or not connected */
	/* Refused by the hardware. The memory at dst may be partly written. */
	GANTRY_LOCAL_ERROR,   /**< local protection, length or operation error: see syndrome */
	GANTRY_REMOTE_ACCESS, /**< the peer does not allow it: key, bounds or access rights */
	GANTRY_REMOTE_ERROR,  /**< the peer could not carry it out */
	GANTRY_UNREACHABLE,   /**< the peer did not answer, retries used up: reconnect */
	/* Not carried out because of another. May have run in part: see gantry.h, Errors. */
	GANTRY_FLUSHED,     /**< an earlier operation on the same connection failed */
	GANTRY_DEVICE_LOST, /**< the device is gone: stop and destroy the engine */
	GANTRY_STATUS_MAX,
};

/** One completion: exactly one for each accepted descriptor, in the order of submission. */
struct gantry_comp {
	uint64_t cookie;         /**< of the descriptor */
	uint8_t status;          /**< enum gantry_status */
	uint8_t op;              /**< of the descriptor */
	uint8_t syndrome;        /**< of the failed CQE, else 0 */
	uint8_t vendor_syndrome; /**< of the failed CQE, else 0 */
	uint32_t zero;
	uint64_t len;    /**< bytes the descriptor asked for */
	uint64_t result; /**< 0 for the operations of today */
};

static_assert(sizeof(struct gantry_comp) == 32, "two completions share a cache line");

#ifdef __cplusplus
}
#endif
#endif
