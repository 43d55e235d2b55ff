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
 * The registered region that covers its bytes decides about a local address, and the remote key
 * about an address at the peer. 0 is an address like any other: the first byte of device memory is
 * 0 for a peer (gantry_mem_remote_addr()). Only a list, a WQE or a transaction cannot be at 0.
 *
 * Fields that an operation does not use must be zero; the engine refuses other values with
 * GANTRY_BAD_FIELD. So later versions can give them a meaning. If len is 0, the message has no
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
 * Copies run in any order, among each other and with other operations, whatever carries them. A
 * descriptor that depends on earlier ones needs a fence (GANTRY_DESC_FENCE). The fence orders its
 * descriptor behind all earlier descriptors. It does not order later descriptors: one that depends
 * on a fenced descriptor needs a fence too. This holds for every operation. Only completions come
 * in the order of submission.
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
	 * GANTRY_SGE_MAX. The lengths of each list add up to len. A length may be 0; then its
	 * address is not used. No source may overlap a destination. If destinations overlap, their
	 * common bytes are undefined.
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
	 * A WRITE that also takes the peer's oldest receive. The receive completes with imm when
	 * all bytes are in place. While the peer has no receive, the descriptor waits.
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
	 * times DS. The engine sets the WQE's index, its QPN, and whether it makes a CQE. peer: a
	 * connection, or GANTRY_PEER_OWN. Nothing else is checked: a wrong WQE fails in the
	 * hardware, and a WQE that names wrong memory reads or writes it. To a DC peer, the engine
	 * also writes the peer's address to units 1 to 3 of a SEND, RDMA or atomic; such a WQE with
	 * less than four units is refused with GANTRY_BAD_LENGTH.
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
 * The descriptor starts only when all earlier descriptors of this queue are done and their bytes
 * are in place. Unlike IBV_SEND_FENCE of ibv_wr_post(3), the fence counts for all connections of
 * the queue. Later descriptors may run before the fenced one or at the same time.
 */
#define GANTRY_DESC_FENCE (1u << 0)

/**
 * The peer's completion of the receive raises an event there, if the peer asked for events of
 * solicited messages only. For WRITE_IMM, SEND, SEND_IMM and SEND_INV.
 */
#define GANTRY_DESC_SOLICITED (1u << 1)

/*
 * The carrier of a COPY, COPY_SG or FILL; at most one of these flags. Without a flag, the queue's
 * policy decides (gantry_policy_set()). A carrier that gantry_info::carriers lacks is refused with
 * GANTRY_BAD_CARRIER.
 *
 * RDMA always copies device memory (gantry_mem_alloc_dm()), whatever the policy says. BY_RDMA is
 * possible there even if gantry_info::carriers lacks RDMA; BY_CPU and BY_MMO are refused with
 * GANTRY_BAD_CARRIER. The same holds for memory that only gantry_mem_register_any() covers, and for
 * a COPY_SG with a buffer in memory of either kind. If gantry_info::carriers lacks RDMA, MMO copies
 * between the other buffers of this COPY_SG.
 *
 * The CPU copies on the thread that calls gantry_submit() or gantry_poll(), at most 64 KiB in a
 * call: a longer copy, and all descriptors behind it, wait for the next gantry_poll(). A copy by
 * the CPU needs registered memory, waits for its turn and its fence, and completes in order, as
 * other copies do. It needs no connection, so it goes on when the connection for copies is lost.
 * When the device has failed, it completes with GANTRY_DEVICE_LOST.
 */
#define GANTRY_DESC_BY_CPU  (1u << 2) /**< the CPU, by memcpy(3) */
#define GANTRY_DESC_BY_MMO  (1u << 3) /**< DMA MMO */
#define GANTRY_DESC_BY_RDMA (1u << 4) /**< RDMA write of the queue's connection to itself */

/** The most entries of each list of a GANTRY_OP_COPY_SG. */
#define GANTRY_SGE_MAX 256

/** One buffer of a list. */
struct gantry_sge {
	uint64_t addr; /**< of the first byte */
	uint64_t len;  /**< bytes */
};

/** One operation. Fields that it does not use must be zero: see the head of this file. */
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
static_assert(offsetof(struct gantry_desc, remote_key) == 40,
	"fields are at the offsets that the head of this file shows");

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
	/**
	 * More than one GANTRY_DESC_BY_ flag, or a carrier that is not possible
	 * (GANTRY_DESC_BY_CPU).
	 */
	GANTRY_BAD_CARRIER,
	/** There is no such layout, or the send queue is too short for the WQE that prepares it. */
	GANTRY_BAD_LAYOUT,
	/** There is no such profile. */
	GANTRY_BAD_PROFILE,
	/** For a transaction that encrypts: there is no such DEK, or it is retired. */
	GANTRY_BAD_DEK,
	/**
	 * The operation does not take this len (the table above), or address + len overflows. RAW:
	 * len is not 16 times DS, or the send queue holds less than two such WQEs. COPY_SG: a list
	 * has no entry, too many entries, or not len bytes. TXN: there are too many buffers or
	 * parts; or buffers, signatures or parts do not have the number of bytes, whole blocks or
	 * whole data units that the profile and len require.
	 */
	GANTRY_BAD_LENGTH,
	/**
	 * dst of an atomic, or the address of a list or transaction, is not a multiple of 8; or a
	 * list, a WQE or a transaction is at 0.
	 */
	GANTRY_BAD_ADDRESS,
	GANTRY_OVERLAP, /**< source and destination of a copy overlap */
	/**
	 * Local memory is not in one registered region; or a part of a local transaction is in a
	 * region that was registered without the right for it.
	 */
	GANTRY_NOT_REGISTERED,
	/**
	 * There was no memory for objects that the queue's first FILL, or its first descriptor with
	 * a layout, creates. The log says why.
	 */
	GANTRY_NO_RESOURCES,
	GANTRY_READ_ONLY, /**< the destination is registered with GANTRY_MEM_READ_ONLY */
	/**
	 * The queue has no such connection, or the connection is not connected or is down; or it
	 * carries transactions only, or all operations but transactions.
	 */
	GANTRY_BAD_PEER,
	/**
	 * A signature of a transaction was wrong. gantry_txn::error says which; the bad response
	 * was sent.
	 */
	GANTRY_SIG_ERROR,
	/*
	 * Failed in the hardware. Some bytes at dst may be written. A connection to a peer is down
	 * then: gantry.h, Errors, says what to do.
	 */
	/**
	 * Local protection, length or operation error: see syndrome. It is 0 if a layout failed, or
	 * if memory of a COPY_SG was unregistered after some of its bytes had been copied.
	 */
	GANTRY_LOCAL_ERROR,
	GANTRY_REMOTE_ACCESS, /**< the peer does not allow it: key, bounds or access rights */
	GANTRY_REMOTE_ERROR,  /**< the peer failed to carry it out */
	GANTRY_UNREACHABLE,   /**< the peer did not answer after all retries */
	GANTRY_CANCELLED,     /**< gantry_cancel() took it back before the hardware saw it */
	/* Perhaps not carried out, or only in part, because something else failed. */
	GANTRY_FLUSHED,   /**< an earlier operation on the connection failed: gantry.h, Errors */
	GANTRY_TIMED_OUT, /**< not done within gantry_queue_conf::deadline_ms */
	/** the connection failed by an event of the device, not by an operation */
	GANTRY_QP_EVENT,
	/**
	 * The device has failed; or it refuses to set up again the connection for copies, or the DC
	 * initiator. Destroy the queue.
	 */
	GANTRY_DEVICE_LOST,
};

#define GANTRY_STATUS_MAX (GANTRY_DEVICE_LOST + 1) /**< above every status of these headers */

/**
 * The side whose memory made a descriptor fail: gantry_comp::result of the failure. It is known for
 * GANTRY_READ_ONLY; for GANTRY_NOT_REGISTERED, unless the descriptor has a layout; and for
 * GANTRY_LOCAL_ERROR, if the opcode of the failed WQE and the syndrome tell it. It is not known for
 * a memcpy WQE of DMA MMO, for RAW and for TXN.
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
	/**
	 * Of an atomic that succeeded: the old value. Of a failure: enum gantry_side. Otherwise 0
	 */
	uint64_t result;
};

static_assert(sizeof(struct gantry_comp) == 32, "two completions share a cache line");

/**
 * A receive: memory for one SEND of a peer, or a place for the immediate data of one WRITE_IMM.
 *
 * A receive is refused like a descriptor. GANTRY_BAD_FIELD: zero is not 0, or len is 0 and addr is
 * not. GANTRY_BAD_LENGTH: len is more than gantry_info::max_msg_len, or addr + len overflows.
 * GANTRY_NOT_REGISTERED, GANTRY_READ_ONLY: of the memory. GANTRY_BAD_PEER: the connection is down.
 */
struct gantry_recv {
	uint64_t cookie; /**< any value; the completion has it again */
	uint64_t addr;   /**< registered here */
	uint64_t len;    /**< bytes; 0: for messages without data, and for any WRITE_IMM */
	uint64_t zero;   /**< unused */
};

/**
 * The completion of a receive. GANTRY_LOCAL_ERROR: for example, the message is longer than len.
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
