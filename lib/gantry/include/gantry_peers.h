/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Peers: connections of a queue to other queues, and the receives of their messages.
 */
#ifndef GANTRY_PEERS_H
#define GANTRY_PEERS_H

#include <stdint.h>

#include "gantry_api.h"
#include "gantry_desc.h"
#include "gantry_engines.h"
#include "gantry_txn.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gantry_queue;

/** What carries the operations to a peer. */
enum gantry_transport {
	GANTRY_TRANSPORT_RC = 0, /**< a connection of its own (RC) */
	/**
	 * DC: all such peers of a queue share one initiator, so a peer takes little memory. The other
	 * end is a DC target. The first DC peer of a queue makes the initiator: depth, max_inline and
	 * path are the initiator's, and other DC peers have the same or 0; but each may have a
	 * traffic_class of its own. Both ends have the same MTU.
	 */
	GANTRY_TRANSPORT_DC,
	/**
	 * No connection: any number of DC peers, of any queues, is connected to its address, and
	 * reaches the memory of this engine and the receives that are posted for it. No
	 * descriptor can name it. depth and max_inline are 0.
	 */
	GANTRY_TRANSPORT_DC_TARGET,
};

/** Settings of one connection. */
struct gantry_peer_conf {
	uint32_t mask; /**< GANTRY_PEER_*: which fields below count although they may be 0 */
	enum gantry_transport transport;
	/** Other than GANTRY_TXN_NONE: it carries transactions and receives, and nothing else. RC only */
	enum gantry_txn_mode txn;
	/**
	 * WQEs that the connection holds at once, at most 16384; others wait in the queue. It decides
	 * how much memory the peer takes. 0: as many as the queue's connection to itself. Of an unordered
	 * queue also the descriptors that are in flight there: gantry_queue_conf::unordered
	 */
	uint32_t depth;
	/**
	 * GANTRY_PEER_MAX_INLINE: bytes of the longest WRITE, WRITE_IMM or SEND whose data the CPU
	 * copies into the WQE, so that the device need not read it from memory. Default: 28, which fit
	 * one WQEBB; to DC peers 44, which fit the two that their WQEs have anyway. More than the
	 * default makes the send queue longer. With transactions, of the longest response, 44 by
	 * default
	 */
	uint16_t max_inline;
	/** Receives posted at once, at most 16384; 0: none, and gantry_recv_post() refuses the peer. */
	uint16_t recv_depth;
	struct gantry_path path; /**< what is not given: as the engine has it */
	uint64_t reserved[4];    /**< 0 */
};

#define GANTRY_PEER_MAX_INLINE (1u << 0) /**< gantry_peer_conf::max_inline */

/**
 * The address of one end of a connection: plain bytes, sent to the other end by any means. They have
 * a version and a checksum, so that damage on the way is noticed.
 */
struct gantry_addr {
	uint8_t bytes[64];
};

/**
 * Opens one end of a connection on a queue. Send *addr to the other end, and give the address that
 * it sends back to gantry_peer_connect(). The queue owns the connection. Owner thread; of a
 * worker's queue, the control thread, also while the worker runs.
 *
 *     RC                                     DC
 *     open(a, &addr_a)  open(b, &addr_b)                           open(b, DC_TARGET, &addr_b)
 *       connect(a, addr_b)                   open(a, DC, NULL)       any number of queues as a
 *       connect(b, addr_a)                     connect(a, addr_b)
 *
 * @param conf read during the call; NULL: defaults.
 * @param peer the connection's number for gantry_desc::peer.
 * @param addr of a DC peer all zeros, since nobody connects to it, and may be NULL.
 * @return 0; -EINVAL a setting is not possible, or does not fit the queue's other DC peers, or the queue has
 *   no transactions and txn is set; -ENOSPC
 *   the queue has gantry_queue_conf::max_peers open: close one; -EOPNOTSUPP the device has no DC: use
 *   RC; or it cannot carry transactions by DC; or it has no signature pipelining, or pipelining is asked for
 *   with gantry_conf::ibv_ctx: use GANTRY_TXN_WAIT; -ENOMEM; or the negative errno of the verbs call that
 *   failed. The log says more.
 */
GANTRY_API int gantry_peer_open(struct gantry_queue *q, const struct gantry_peer_conf *conf,
	uint16_t *peer, struct gantry_addr *addr);

/**
 * Connects an open end to the address of the other end, which *addr is copied from. WRITE and READ
 * may use the connection when both ends have made this call; a DC target needs none. Thread: as
 * gantry_peer_open().
 * @return 0; -EINVAL there is no such peer, or it is a DC target, or addr is not from
 *   gantry_peer_open(), or was damaged, or is of a DC target of another MTU;
 *   -EISCONN it is or was connected; -EPROTONOSUPPORT one end is on Ethernet, the other on
 *   InfiniBand, or addr is of another version or transport; or the negative errno of the verbs call
 *   that failed. After a failure the end is still open: call again, with the same address or another.
 */
GANTRY_API int gantry_peer_connect(struct gantry_queue *q, uint16_t peer,
	const struct gantry_addr *addr);

/**
 * Closes one end of a connection. Its number may be given to the next one that is opened. Other DC
 * peers of the queue go on; DC peers that reach a closed target fail with GANTRY_UNREACHABLE. A
 * message that arrives during the call may be lost, though its sender is told GANTRY_OK: as with
 * ibv_destroy_qp(3). Thread: as gantry_peer_open().
 * @return 0; -EINVAL there is no such peer; -EBUSY descriptors to it are in flight: poll, then call
 *   again. In a queue in order, one that was refused with GANTRY_BAD_PEER does not count, although its
 *   completion may wait for those before it; or the negative errno of the verbs call that failed: the peer takes no descriptors and
 *   keeps its number until a later call returns 0.
 */
GANTRY_API int gantry_peer_close(struct gantry_queue *q, uint16_t peer);

/* ------------------------------------------------------------------ receives */

/**
 * Posts receives for messages of a peer, which take them in order; or of a DC target, for those of
 * all its initiators. It may be called as soon as
 * gantry_peer_open() has returned; post before the peer sends. The array may be reused when the call
 * returns; the memory that the receives name belongs to the engine until they complete. Receives
 * have a completion stream of their own, gantry_recv_poll(): one that waits holds no descriptor
 * back, nor gantry_in_flight(). Owner thread.
 * @return how many were accepted: the first ones of the array. Fewer than n: recv_depth are posted;
 *   take completions, then post the rest. -EINVAL: there is no such peer, or its recv_depth is 0.
 */
GANTRY_API int gantry_recv_post(struct gantry_queue *q, uint16_t peer,
	const struct gantry_recv *recv, unsigned int n);

/**
 * Collects completions of receives of all peers. Each accepted receive completes exactly once; those
 * of one peer complete in the order in which they were posted, those of a DC target in any order.
 * When a connection fails, or is closed
 * by gantry_peer_close(), its receives complete with GANTRY_FLUSHED. Owner thread.
 * @return how many records were written to comp, at most n; 0: no receive is done.
 */
GANTRY_API unsigned int gantry_recv_poll(struct gantry_queue *q, struct gantry_recv_comp *comp,
	unsigned int n);

#ifdef __cplusplus
}
#endif
#endif
