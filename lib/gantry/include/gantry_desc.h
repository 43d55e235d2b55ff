/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The 64-byte descriptor asks for one operation; the 32-byte completion reports its result.
 *
 *     gantry_desc, one cache line                         gantry_comp, half a line
 *      0 op | 1 zero | 2 flags | 4 peer | 6 layout         0 cookie
 *      8 cookie                                            8 status | op | syndrome | vendor
 *     16 src                                              12 zero
 *     24 dst                                              16 len
 *     32 len                                              24 result
 *     40 remote_key | 44 imm
 *     48 arg[0]
 *     56 arg[1]
 *
 * Calls copy descriptors and completions. The caller may reuse the memory of a descriptor as soon
 * as a call has accepted the descriptor. The buffers of a descriptor belong to the engine until its
 * completion has been received: do not write to src, and neither read nor write dst.
 *
 * ## Fields
 *
 *     operation     src     dst     len          peer  remote_key  imm        arg[0]   arg[1]
 *     NOP
 *     COPY          local   local   1..
 *     WRITE         local   remote  1..          yes   of dst
 *     READ          remote  local   1..          yes   of src
 *     COPY_SG       a list  a list  1..                                       counts
 *     FILL                  local   1..                                       pattern
 *     GATHER        local*  local   1..layout
 *     SCATTER       local   local*  1..layout
 *     WRITE_IMM     local   remote  0..          yes   of dst      data
 *     SEND          local           0..message   yes
 *     SEND_IMM      local           0..message   yes               data
 *     SEND_INV      local           0..message   yes               key
 *     COMPARE_SWAP          remote  8            yes   of dst                 compare  swap
 *     FETCH_ADD             remote  8            yes   of dst                 add
 *     RAW           a WQE           16..1008     yes
 *     TXN           a transaction   1..1 MiB     yes
 *
 * local*: the base address of the layout whose number is in `layout` (gantry_layout_create()).
 * WRITE, WRITE_IMM and SENDs of data may have a layout for their src, and READ for its dst. If
 * `layout` is 0, there is no layout. len is at most the length of the layout, and counts its bytes
 * from the first byte on. All memory of the layout must be registered. Each block must be in one
 * region. If blocks * rounds is more than 52, each block must be in one region together with all
 * its rounds.
 *
 * A local address is checked by the registered region that covers its bytes; an address at the peer
 * is checked by the remote key. 0 is an address like any other: the first byte of device memory has
 * address 0 for a peer (gantry_mem_remote_addr()). Only the address of a list, a WQE or a
 * transaction cannot be 0.
 *
 * Fields that an operation does not use must be zero; the engine refuses other values with
 * GANTRY_BAD_FIELD. So later versions can give these fields a meaning. If len is 0, the message has
 * no data: src, dst and remote_key are not used. "message" means gantry_info::max_msg_len.
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
 * The operation. 0 is no operation, so a descriptor of zeros is refused.
 *
 * ## Order
 * Copies run in any order, among each other and with other operations, whatever carries them. A
 * descriptor that depends on earlier descriptors needs a fence (GANTRY_DESC_FENCE). The fence
 * orders its descriptor behind all earlier descriptors. It does not order later descriptors: a
 * descriptor that depends on a fenced descriptor needs a fence, too. This holds for every
 * operation. Only completions come in the order of submission.
 */
enum gantry_op {
	/**
	 * Does nothing, and needs no hardware. Like every descriptor it completes after all
	 * descriptors that were submitted before it. It uses only cookie and flags.
	 */
	GANTRY_OP_NOP = 1,
	/**
	 * Copies len bytes from src to dst, both registered memory of this process. Ranges that
	 * overlap are refused with GANTRY_OVERLAP, because no device copies like memmove(3).
	 */
	GANTRY_OP_COPY,
	/** Writes len bytes from src, registered here, to dst at the peer, under remote_key. */
	GANTRY_OP_WRITE,
	/** Reads len bytes from src at the peer, under remote_key, to dst, registered here. */
	GANTRY_OP_READ,
	/**
	 * Copies the bytes of a list of buffers to another list. src and dst are the addresses of
	 * arrays of struct gantry_sge. The arrays are aligned to 8 bytes and must not change until
	 * completion. arg[0] is the number of sources, plus the number of destinations << 32; each
	 * is 1 to GANTRY_SGE_MAX. The lengths of each list add up to len. A length may be 0; then
	 * its address is not used. No source may overlap a destination. If destinations overlap,
	 * their common bytes are undefined.
	 */
	GANTRY_OP_COPY_SG,
	/**
	 * Fills dst with the pattern in arg[0]: byte i of dst becomes byte i % 8 of arg[0], as
	 * arg[0] is in memory.
	 */
	GANTRY_OP_FILL,
	/**
	 * Copies the first len bytes of a layout, whose base address is src, to dst in one piece.
	 */
	GANTRY_OP_GATHER,
	/**
	 * Copies len bytes from src in one piece to the first bytes of a layout, whose base address
	 * is dst.
	 */
	GANTRY_OP_SCATTER,
	/**
	 * As WRITE, and also uses the peer's oldest receive. The receive completes with imm when
	 * all bytes are written. While the peer has no receive, the descriptor waits.
	 */
	GANTRY_OP_WRITE_IMM = 9,
	/**
	 * Sends len bytes from src, registered here, to the memory of the peer's oldest receive.
	 */
	GANTRY_OP_SEND,
	/** As SEND; the receive completes with imm. */
	GANTRY_OP_SEND_IMM,
	/** As SEND; imm is a key of the peer, which is invalidated before the receive completes. */
	GANTRY_OP_SEND_INV,
	/**
	 * Compares the 8 bytes at dst at the peer with arg[0]. If they are equal, writes arg[1]
	 * there. This is one step among all atomics of the peer's device. gantry_comp::result gets
	 * the old bytes. dst is a multiple of 8; numbers are in the byte order of the CPU.
	 */
	GANTRY_OP_COMPARE_SWAP,
	/** Adds arg[0] to the 8 bytes at dst at the peer. Otherwise as COMPARE_SWAP. */
	GANTRY_OP_FETCH_ADD,
	/**
	 * Posts the WQE at src. This memory of the CPU must not change until completion. The caller
	 * sets the control segment's opcode, opmod, DS, fence and solicited bits; len is 16 times
	 * DS. The engine sets the WQE's index, its QPN, and whether it makes a CQE. peer: a
	 * connection, or GANTRY_PEER_OWN. The engine checks nothing else: a wrong WQE fails in the
	 * hardware, and a WQE with wrong addresses reads or writes the wrong memory. To a DC peer,
	 * the engine also writes the peer's address to the 16-byte units 1 to 3 of a SEND, RDMA
	 * operation or atomic. Such a WQE with less than four units is refused with
	 * GANTRY_BAD_LENGTH.
	 */
	GANTRY_OP_RAW,
	/**
	 * The transaction at src, a struct gantry_txn: gantry_txn.h. len is its bytes of data,
	 * without signatures: 1 to GANTRY_TXN_MAX_LEN. peer: a connection that was opened for
	 * transactions, or GANTRY_PEER_OWN for a transaction that moves or checks data in this
	 * process.
	 */
	GANTRY_OP_TXN,
};

#define GANTRY_OP_MAX (GANTRY_OP_TXN + 1) /**< greater than every operation of these headers */

/**
 * A value of gantry_desc::peer for GANTRY_OP_RAW and GANTRY_OP_TXN: the queue's connection to
 * itself.
 */
#define GANTRY_PEER_OWN UINT16_C(0xffff)

/**
 * The descriptor starts only when all earlier descriptors of this queue are done and their bytes
 * are written. Unlike IBV_SEND_FENCE of ibv_wr_post(3), the fence holds for all connections of the
 * queue. Later descriptors may run before the fenced descriptor, or at the same time.
 */
#define GANTRY_DESC_FENCE (1u << 0)

/**
 * The completion of the receive causes an event at the peer, if the peer asked for events of
 * solicited messages only. Possible for WRITE_IMM, SEND, SEND_IMM and SEND_INV.
 */
#define GANTRY_DESC_SOLICITED (1u << 1)

/*
 * The following flags choose the carrier of a COPY, COPY_SG or FILL; at most one of them is
 * possible. Without a flag, the queue's policy decides (gantry_policy_set()). A carrier that
 * gantry_info::carriers lacks is refused with GANTRY_BAD_CARRIER.
 *
 * RDMA always copies device memory (gantry_mem_alloc_dm()), whatever the policy says. For device
 * memory, BY_RDMA is possible even if gantry_info::carriers lacks RDMA; BY_CPU and BY_MMO are
 * refused with GANTRY_BAD_CARRIER. The same holds for memory that only gantry_mem_register_any()
 * covers, and for a COPY_SG with a buffer in memory of one of these two kinds. If
 * gantry_info::carriers lacks RDMA, MMO copies between the other buffers of this COPY_SG.
 *
 * The CPU copies on the thread that calls gantry_submit() or gantry_poll(), at most 64 KiB in a
 * call: a longer copy, and all descriptors behind it, wait for the next gantry_poll(). A copy by
 * the CPU needs registered memory, waits behind earlier descriptors and for its fence, and
 * completes in order, as other copies do. It needs no connection, so it is still carried out when
 * the connection for copies is lost. After the device has failed, it completes with
 * GANTRY_DEVICE_LOST.
 */
#define GANTRY_DESC_BY_CPU (1u << 2) /**< carried by the CPU, by memcpy(3) */
#define GANTRY_DESC_BY_MMO (1u << 3) /**< carried by DMA MMO */
/** Carried by an RDMA write of the queue's connection to itself. */
#define GANTRY_DESC_BY_RDMA (1u << 4)

/** The most entries of each list of a GANTRY_OP_COPY_SG. */
#define GANTRY_SGE_MAX 256

/** One buffer of a list. */
struct gantry_sge {
	uint64_t addr; /**< address of the first byte */
	uint64_t len;  /**< bytes */
};

/**
 * A descriptor: one operation. Fields that the operation does not use must be zero: see the head of
 * this file.
 */
struct gantry_desc {
	uint8_t op;          /**< enum gantry_op */
	uint8_t zero;        /**< unused; must be 0 */
	uint16_t flags;      /**< bits GANTRY_DESC_* */
	uint16_t peer;       /**< number of the connection, from gantry_peer_open() */
	uint16_t layout;     /**< number of the layout, from gantry_layout_create() */
	uint64_t cookie;     /**< any value; the completion has the same value */
	uint64_t src;        /**< address of the first byte to read */
	uint64_t dst;        /**< address of the first byte to write */
	uint64_t len;        /**< bytes */
	uint32_t remote_key; /**< key from gantry_mem_remote_key() at the peer */
	uint32_t imm;        /**< immediate data with any value; or a key of the peer */
	uint64_t arg[2];     /**< operands, as in the table at the head of gantry_desc.h */
} __attribute__((aligned(64)));

static_assert(sizeof(struct gantry_desc) == 64, "a descriptor is one cache line");
static_assert(offsetof(struct gantry_desc, remote_key) == 40,
	"fields are at the offsets that the head of this file shows");

/** The result of a descriptor. */
enum gantry_status {
	GANTRY_OK = 0, /**< done, and the bytes are written */
	/*
	 * The next statuses: the descriptor was refused before the hardware saw it, and nothing was
	 * moved. Correct the descriptor or the objects that it uses, and submit it again.
	 */
	/**
	 * op is not an operation; op is an atomic, and the device has no atomics; or op is TXN, and
	 * gantry_queue_conf::transactions is 0.
	 */
	GANTRY_BAD_OP,
	GANTRY_BAD_FIELD, /**< a field that this operation does not use is not zero */
	/**
	 * There is more than one GANTRY_DESC_BY_ flag, or the carrier is not possible
	 * (GANTRY_DESC_BY_CPU).
	 */
	GANTRY_BAD_CARRIER,
	/** There is no such layout, or the send queue is too short for the WQE that prepares it. */
	GANTRY_BAD_LAYOUT,
	/** There is no such profile. */
	GANTRY_BAD_PROFILE,
	/** For a transaction that encrypts: there is no such DEK, or the DEK is retired. */
	GANTRY_BAD_DEK,
	/**
	 * The operation does not take this len (the table at the head of gantry_desc.h), or address
	 * + len overflows. RAW: len is not 16 times DS, or the send queue is too short for two such
	 * WQEs. COPY_SG: a list has no entry, too many entries, or not len bytes. TXN: there are
	 * too many buffers or parts; or buffers, signatures or parts do not have the number of
	 * bytes, whole blocks or whole data units that the profile and len require.
	 */
	GANTRY_BAD_LENGTH,
	/**
	 * dst of an atomic, or the address of a list or transaction, is not a multiple of 8; or the
	 * address of a list, a WQE or a transaction is 0.
	 */
	GANTRY_BAD_ADDRESS,
	GANTRY_OVERLAP, /**< source and destination of a copy overlap */
	/**
	 * Local memory is not in one registered region; or it is imported, and the operation cannot
	 * use such memory (gantry_mem_import()); or a part of a local transaction is in a
	 * region that was registered without the right that the part needs (gantry_txn_part::addr).
	 */
	GANTRY_NOT_REGISTERED,
	/**
	 * Objects that the queue's first FILL or its first descriptor with a layout needs could not
	 * be created. The log says why.
	 */
	GANTRY_NO_RESOURCES,
	GANTRY_READ_ONLY, /**< the destination was registered with GANTRY_MEM_READ_ONLY */
	/**
	 * The queue has no such connection; the connection is not connected, or is down; the
	 * connection carries only transactions; or it carries no transactions.
	 */
	GANTRY_BAD_PEER,
	/**
	 * A signature of a transaction was wrong. gantry_txn::error says which signature; the bad
	 * response was sent.
	 */
	GANTRY_SIG_ERROR,
	/*
	 * The next statuses: the operation failed in the hardware. Some bytes at dst may be
	 * written. If the connection was to a peer, it is then down: gantry.h, Errors, says what to
	 * do.
	 */
	/**
	 * A local protection, length or operation error: see gantry_comp::syndrome. The syndrome is
	 * 0 if a layout failed, or if memory of a COPY_SG was unregistered after some bytes had
	 * been copied.
	 */
	GANTRY_LOCAL_ERROR,
	/** The peer does not permit the access: wrong key, bounds or rights. */
	GANTRY_REMOTE_ACCESS,
	GANTRY_REMOTE_ERROR, /**< the peer failed to carry out the operation */
	GANTRY_UNREACHABLE,  /**< the peer did not answer after all retries */
	/** gantry_cancel() cancelled the descriptor before the hardware saw it. */
	GANTRY_CANCELLED,
	/*
	 * The next statuses: the descriptor was perhaps not carried out, or only in part, because
	 * another operation or the device failed.
	 */
	GANTRY_FLUSHED,   /**< an earlier operation on the connection failed: gantry.h, Errors */
	GANTRY_TIMED_OUT, /**< not done within gantry_queue_conf::deadline_ms */
	/** the connection failed by an event of the device, not by an operation */
	GANTRY_QP_EVENT,
	/**
	 * The device has failed. The status also means: after an error, the device refused to set
	 * up the connection for copies, or the DC initiator, again. Destroy the queue.
	 */
	GANTRY_DEVICE_LOST,
};

/** Greater than every status of these headers. */
#define GANTRY_STATUS_MAX (GANTRY_DEVICE_LOST + 1)

/**
 * The side (source or destination) whose memory made a descriptor fail: the value of
 * gantry_comp::result after a failure. The side is known in these cases: GANTRY_READ_ONLY;
 * GANTRY_NOT_REGISTERED, unless the descriptor has a layout; and GANTRY_LOCAL_ERROR, if the side
 * follows from the opcode of the failed WQE and the syndrome. The side is never known for a memcpy
 * WQE of DMA MMO, for RAW and for TXN.
 */
enum gantry_side {
	GANTRY_SIDE_UNKNOWN = 0,
	GANTRY_SIDE_SRC, /**< the source, or one entry of a list of sources */
	GANTRY_SIDE_DST, /**< the destination, or one entry of a list of destinations */
};

/** A completion. There is exactly one for each accepted descriptor, in the order of submission. */
struct gantry_comp {
	uint64_t cookie; /**< cookie of the descriptor */
	uint8_t status;  /**< enum gantry_status */
	uint8_t op;      /**< op of the descriptor */
	/** Syndrome of the error CQE (MLX5_CQE_SYNDROME_* of mlx5dv.h), or 0. */
	uint8_t syndrome;
	uint8_t vendor_syndrome; /**< vendor syndrome of the error CQE, or 0 */
	uint32_t zero;           /**< always 0 */
	uint64_t len;            /**< len of the descriptor */
	/**
	 * For an atomic that succeeded: the old value. For a failure: enum gantry_side. Otherwise 0
	 */
	uint64_t result;
};

static_assert(sizeof(struct gantry_comp) == 32, "two completions share a cache line");

/**
 * A receive: memory for one SEND of a peer. A WRITE_IMM uses a receive for its immediate data only.
 *
 * A receive that breaks a rule completes with a status, as a descriptor does. GANTRY_BAD_FIELD:
 * `zero` is not 0, or len is 0 and addr is not 0. GANTRY_BAD_LENGTH: len is more than
 * gantry_info::max_msg_len, or addr + len overflows. GANTRY_NOT_REGISTERED, GANTRY_READ_ONLY: the
 * memory cannot be used. GANTRY_BAD_PEER: the connection is down.
 */
struct gantry_recv {
	uint64_t cookie; /**< any value; the completion has the same value */
	uint64_t addr;   /**< address of registered memory */
	/** Bytes; 0 is enough for messages without data, and for each WRITE_IMM. */
	uint64_t len;
	uint64_t zero; /**< unused; must be 0 */
};

/**
 * The completion of a receive. GANTRY_LOCAL_ERROR: for example, the message is longer than len.
 * GANTRY_FLUSHED: the connection failed or was closed; bytes at addr may be written.
 */
struct gantry_recv_comp {
	uint64_t cookie; /**< cookie of the receive */
	uint8_t status;  /**< enum gantry_status */
	/** Operation of the peer: WRITE_IMM, SEND, SEND_IMM or SEND_INV; otherwise 0. */
	uint8_t op;
	uint8_t syndrome;        /**< as in gantry_comp */
	uint8_t vendor_syndrome; /**< as in gantry_comp */
	uint32_t zero;           /**< always 0 */
	/** Bytes that the peer has sent, or written to its dst by WRITE_IMM. */
	uint64_t len;
	/** imm of the peer's descriptor; for SEND_INV, the key that is now invalid. */
	uint32_t imm;
	uint16_t peer;  /**< number of the connection, as given to gantry_recv_post() */
	uint16_t zero2; /**< always 0 */
};

static_assert(sizeof(struct gantry_recv) == 32, "plain numbers without padding");
static_assert(sizeof(struct gantry_recv_comp) == 32, "two completions share a cache line");

#ifdef __cplusplus
}
#endif
#endif
