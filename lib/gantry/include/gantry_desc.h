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
 * ## Fields
 *
 *   operation     src     dst     len          peer  remote_key  imm        arg[0]   arg[1]
 *   NOP
 *   COPY          local   local   1..
 *   WRITE         local   remote  1..          yes   of dst
 *   READ          remote  local   1..          yes   of src
 *   COPY_SG       a list  a list  1..                                       counts
 *   FILL                  local   1..                                       pattern
 *   GATHER        local*  local   1..layout
 *   SCATTER       local   local*  1..layout
 *   WRITE_IMM     local   remote  0..          yes   of dst      data
 *   SEND          local           0..message   yes
 *   SEND_IMM      local           0..message   yes               data
 *   SEND_INV      local           0..message   yes               key
 *   COMPARE_SWAP          remote  8            yes   of dst                 compare  swap
 *   FETCH_ADD             remote  8            yes   of dst                 add
 *   RAW           a WQE           16..1008     yes
 *   TXN           a transaction   1..1 MiB     yes
 *
 * local*: the base address of the layout that `layout` names, gantry_layout_create(). WRITE,
 * WRITE_IMM and SENDs of data may have a layout for their src, READ for its dst; 0 is none. len is
 * at most the length of the layout, and counts its bytes from the first on. All of the layout's
 * memory must be registered: each block in one region; with all its rounds, if blocks * rounds is
 * more than 52.
 *
 * A local address is judged by the registered region that covers its bytes, one at the peer by the
 * remote key. 0 is an address like any other: the first byte of device memory is 0 for a peer
 * (gantry_mem_remote_addr()). Only a list or a WQE cannot be at 0.
 *
 * Fields that an operation does not use must be zero; the engine refuses other values with
 * GANTRY_BAD_FIELD. Later versions may so give them a meaning. Where len is 0, the message has no
 * data: src, dst and remote_key are not used. "message": gantry_info::max_msg_len.
 */
#ifndef GANTRY_DESC_H
#define GANTRY_DESC_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "gantry_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The operation. 0 is none: a descriptor of zeros is refused.
 *
 * ## Order
 * Copies are unordered against each other and against RDMA placement, whatever carries them:
 * dependence needs the fence. A fence (GANTRY_DESC_FENCE) orders its descriptor behind everything
 * before it. It orders nothing behind the descriptor: one that depends on a fenced descriptor
 * carries a fence too. The same is true of every operation. Completions alone come in the order of
 * submission.
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
	/**
	 * Copies the bytes of a list of buffers to another list. src and dst point at arrays of
	 * struct gantry_sge, aligned to 8 bytes, which stay as they are until completion. arg[0] is
	 * the number of sources, plus the number of destinations << 32; each is 1 to
	 * GANTRY_SGE_MAX. The lengths of each list add up to len; a length may be 0, and its
	 * address is not used then. No source may overlap a destination. If destinations overlap,
	 * their common bytes are undefined.
	 */
	GANTRY_OP_COPY_SG,
	/** Writes arg[0] again and again: byte i of dst is byte i % 8 of arg[0] in memory. */
	GANTRY_OP_FILL,
	/** Copies the first len bytes of a layout, which lies at src, to dst in one piece. */
	GANTRY_OP_GATHER,
	/**
	 * Copies len bytes from src in one piece to the first bytes of a layout, which lies at dst.
	 */
	GANTRY_OP_SCATTER,
	/**
	 * WRITE, then takes the peer's oldest receive, which completes with imm when all bytes are
	 * in place. A peer without a receive makes it wait.
	 */
	GANTRY_OP_WRITE_IMM = 9,
	/**
	 * Sends len bytes from src, registered here, to the memory of the peer's oldest receive.
	 */
	GANTRY_OP_SEND,
	/** SEND; the receive completes with imm. */
	GANTRY_OP_SEND_IMM,
	/** SEND; imm is a key of the peer, which is invalidated before the receive completes. */
	GANTRY_OP_SEND_INV,
	/**
	 * If the 8 bytes at dst at the peer are arg[0], they become arg[1], in one step among all
	 * atomics of the peer's device. gantry_comp::result has the bytes as they were. dst is a
	 * multiple of 8; numbers are in the byte order of the CPU.
	 */
	GANTRY_OP_COMPARE_SWAP,
	/** Adds arg[0] to the 8 bytes at dst at the peer; all else as COMPARE_SWAP. */
	GANTRY_OP_FETCH_ADD,
	/**
	 * Posts the WQE at src, in memory of the CPU that stays as it is until completion. The
	 * control segment's opcode, opmod, DS, fence and solicited bits are the caller's; len is 16
	 * times DS. The engine sets the WQE's index, its QPN, and whether it makes a CQE. peer:
	 * a connection, or GANTRY_PEER_OWN. Nothing else is checked: a wrong WQE fails in the
	 * hardware, and one that names wrong memory moves it. To a DC peer, the engine also writes
	 * the peer's address to units 1 to 3 of a SEND, RDMA or atomic; such a WQE with less than
	 * four units is refused with GANTRY_BAD_LENGTH.
	 */
	GANTRY_OP_RAW,
	/**
	 * The transaction at src, a struct gantry_txn: gantry_txn.h. len is its bytes of data,
	 * without signatures: 1 to GANTRY_TXN_MAX_LEN. peer: a connection that was opened for
	 * transactions, or GANTRY_PEER_OWN for one that moves data in this process, or checks them.
	 */
	GANTRY_OP_TXN,
};

#define GANTRY_OP_MAX (GANTRY_OP_TXN + 1) /**< above every operation of these headers */

/** gantry_desc::peer of GANTRY_OP_RAW and GANTRY_OP_TXN: the queue's connection to itself. */
#define GANTRY_PEER_OWN UINT16_C(0xffff)

/**
 * Starts only when everything that was submitted before it on this queue is done and its bytes are
 * in place. Unlike IBV_SEND_FENCE of ibv_wr_post(3), it counts for all connections of the queue.
 * What is submitted after it may run before it or at the same time.
 */
#define GANTRY_DESC_FENCE (1u << 0)

/**
 * The peer's completion of the receive raises an event there, if the peer asked for events of
 * solicited messages only. WRITE_IMM, SEND, SEND_IMM, SEND_INV.
 */
#define GANTRY_DESC_SOLICITED (1u << 1)

/*
 * Who carries a COPY, COPY_SG or FILL; at most one of them. Without one, the queue's policy decides
 * (gantry_policy_set()). What gantry_info::carriers does not have is refused with
 * GANTRY_BAD_CARRIER.
 *
 * Device memory (gantry_mem_alloc_dm()) is always copied by RDMA. The policy is not asked. BY_RDMA
 * is possible also where gantry_info::carriers does not have it; BY_CPU and BY_MMO are refused with
 * GANTRY_BAD_CARRIER. The same is true of memory that only gantry_mem_register_any() covers. A
 * COPY_SG is such a copy if one of its buffers is such memory; where gantry_info::carriers does not
 * have RDMA, MMO copies what goes from other host memory to other host memory.
 *
 * The CPU copies on the thread that calls gantry_submit() or gantry_poll(), at most 64 KiB in a
 * call: a longer copy, and what is behind it, waits for the next gantry_poll(). It copies
 * registered memory only, in its turn, behind its fence, and completes in order like any other. It
 * needs no connection: it goes on when that for copies is lost. When the device has failed, it
 * completes with GANTRY_DEVICE_LOST.
 */
#define GANTRY_DESC_BY_CPU  (1u << 2) /**< the CPU, by memcpy(3) */
#define GANTRY_DESC_BY_MMO  (1u << 3) /**< DMA MMO */
#define GANTRY_DESC_BY_RDMA (1u << 4) /**< RDMA write of the queue's connection to itself */

/** Entries of each list of a GANTRY_OP_COPY_SG, at most. */
#define GANTRY_SGE_MAX 256

/** One buffer of a list. */
struct gantry_sge {
	uint64_t addr; /**< of the first byte */
	uint64_t len;  /**< bytes */
};

/** One operation. The head of this file says what unused fields must be. */
struct gantry_desc {
	uint8_t op;          /**< enum gantry_op */
	uint8_t zero;        /**< unused */
	uint16_t flags;      /**< GANTRY_DESC_* */
	uint16_t peer;       /**< the connection, from gantry_peer_open() */
	uint16_t layout;     /**< from gantry_layout_create() */
	uint64_t cookie;     /**< any value; the completion has it again */
	uint64_t src;        /**< address of the first byte to read */
	uint64_t dst;        /**< address of the first byte to write */
	uint64_t len;        /**< bytes */
	uint32_t remote_key; /**< from gantry_mem_remote_key() at the peer */
	uint32_t imm;        /**< immediate data, any value; or a key of the peer */
	uint64_t arg[2];     /**< operands: the table above */
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
	/** op is not an operation, or the device has no atomics; or it is TXN, and
	 * gantry_queue_conf::transactions is 0. */
	GANTRY_BAD_OP,
	GANTRY_BAD_FIELD, /**< a field that this operation does not use is not zero */
	/** More than one GANTRY_DESC_BY_, or one that is not possible here: see there. */
	GANTRY_BAD_CARRIER,
	/** There is no such layout, or its WQE is too long for the connection's send queue. */
	GANTRY_BAD_LAYOUT,
	/** There is no such profile. */
	GANTRY_BAD_PROFILE,
	/** Of a transaction that encrypts: there is no such DEK, or it is retired. */
	GANTRY_BAD_DEK,
	/**
	 * len is not one that the operation takes: the table above; or address + len overflows. Of
	 * RAW: len is not 16 times DS, or the send queue holds less than two such WQEs. Of COPY_SG:
	 * a list has no entry, too many, or not len bytes. Of TXN: buffers, signatures or parts
	 * have not the bytes, or not whole blocks or data units, that the profile and len ask for;
	 * or there are too many.
	 */
	GANTRY_BAD_LENGTH,
	/**
	 * dst of an atomic, or the address of a list or transaction, is not a multiple of 8; or a
	 * list, a WQE or a transaction is at 0.
	 */
	GANTRY_BAD_ADDRESS,
	GANTRY_OVERLAP, /**< source and destination of a copy overlap */
	/**
	 * Local memory that is not in one registered region; or a part of a local transaction whose
	 * region was registered without the right for it.
	 */
	GANTRY_NOT_REGISTERED,
	/**
	 * The queue's first FILL, or its first descriptor with a layout, found no memory for what
	 * it needs. The log says why.
	 */
	GANTRY_NO_RESOURCES,
	GANTRY_READ_ONLY, /**< the destination is registered with GANTRY_MEM_READ_ONLY */
	/**
	 * No such connection on this queue, or it is not connected or down; or transactions alone
	 * go there, or none do.
	 */
	GANTRY_BAD_PEER,
	/**
	 * Of a transaction: a signature was wrong. gantry_txn::error says which; the bad response
	 * was sent.
	 */
	GANTRY_SIG_ERROR,
	/*
	 * Failed in the hardware. Some bytes at dst may be written. A connection to a peer is down
	 * then: gantry.h, Errors, says what to do.
	 */
	/**
	 * Local protection, length or operation error: see syndrome, which is 0 if a layout failed,
	 * and if memory of a COPY_SG was unregistered when some of its bytes had been copied.
	 */
	GANTRY_LOCAL_ERROR,
	GANTRY_REMOTE_ACCESS, /**< the peer does not allow it: key, bounds or access rights */
	GANTRY_REMOTE_ERROR,  /**< the peer failed to carry it out */
	GANTRY_UNREACHABLE,   /**< the peer did not answer after all retries */
	GANTRY_CANCELLED,     /**< gantry_cancel() took it back before the hardware saw it */
	/* Perhaps not carried out, or only in part, because something else failed. */
	GANTRY_FLUSHED,   /**< an earlier operation on the connection failed: gantry.h, Errors */
	GANTRY_TIMED_OUT, /**< not done by gantry_queue_conf::deadline_ms; it was given up */
	/** the connection failed by an event of the device, not by an operation */
	GANTRY_QP_EVENT,
	/**
	 * The device has failed, or refuses to set up the connection for copies, or the DC
	 * initiator: destroy the queue.
	 */
	GANTRY_DEVICE_LOST,
};

#define GANTRY_STATUS_MAX (GANTRY_DEVICE_LOST + 1) /**< above every status of these headers */

/**
 * Whose memory a descriptor failed by, in gantry_comp::result. It is known of GANTRY_READ_ONLY; of
 * GANTRY_NOT_REGISTERED, except where the descriptor has a layout; and of GANTRY_LOCAL_ERROR, where
 * the opcode of the failed WQE and the syndrome tell it. That a memcpy WQE of DMA MMO failed does
 * not tell it. Nor is it known of RAW and TXN.
 */
enum gantry_side {
	GANTRY_SIDE_UNKNOWN = 0,
	GANTRY_SIDE_SRC, /**< the source, or one entry of a list of sources */
	GANTRY_SIDE_DST, /**< the destination, or one entry of a list of destinations */
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
	/** Of atomics that succeeded: the old value. Of failures: enum gantry_side. Else 0 */
	uint64_t result;
};

static_assert(sizeof(struct gantry_comp) == 32, "two completions share a cache line");

/**
 * A receive: memory for one SEND of a peer, or a place for the immediate data of one WRITE_IMM.
 *
 * Its rules are those of descriptors: BAD_FIELD, zero is not 0, or len is 0 and addr is not;
 * BAD_LENGTH, len is more than gantry_info::max_msg_len, or addr + len overflows; NOT_REGISTERED;
 * READ_ONLY; BAD_PEER, the connection is down.
 */
struct gantry_recv {
	uint64_t cookie; /**< any value; the completion has it again */
	uint64_t addr;   /**< registered here */
	uint64_t len;    /**< bytes; 0: for messages without data, and for any WRITE_IMM */
	uint64_t zero;   /**< unused */
};

/**
 * The completion of a receive. GANTRY_LOCAL_ERROR: for example, the message was longer than len.
 * GANTRY_FLUSHED: the connection failed or was closed; bytes at addr may be written.
 */
struct gantry_recv_comp {
	uint64_t cookie;  /**< of the receive */
	uint8_t status;   /**< enum gantry_status */
	uint8_t op;       /**< what the peer did: WRITE_IMM, SEND, SEND_IMM, SEND_INV; else 0 */
	uint8_t syndrome; /**< as in gantry_comp */
	uint8_t vendor_syndrome; /**< as in gantry_comp */
	uint32_t zero;           /**< 0 */
	uint64_t len;            /**< bytes that the peer sent, or wrote elsewhere by WRITE_IMM */
	uint32_t imm;   /**< of the peer's descriptor; of SEND_INV, the key that is invalid now */
	uint16_t peer;  /**< the connection, as gantry_recv_post() was given it */
	uint16_t zero2; /**< 0 */
};

static_assert(sizeof(struct gantry_recv) == 32, "plain numbers without padding");
static_assert(sizeof(struct gantry_recv_comp) == 32, "two completions share a cache line");

#ifdef __cplusplus
}
#endif
#endif
