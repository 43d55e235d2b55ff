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

/** The transport to a peer. */
enum gantry_transport {
	GANTRY_TRANSPORT_RC = 0, /**< the peer has a connection of its own (RC) */
	/**
	 * DC: all DC peers of a queue share one initiator, so a peer needs little memory. The other
	 * end is a DC target with the same MTU.
	 *
	 * The first DC peer of a queue creates the initiator, which gets the depth, max_inline and
	 * path of this peer. Further DC peers have the same settings or the defaults. Each DC peer
	 * may have a traffic_class of its own.
	 */
	GANTRY_TRANSPORT_DC,
	/**
	 * A DC target: any number of DC peers, of any queues, may be connected to its address. Such
	 * peers reach the memory of this engine, and the receives that are posted for the target.
	 * No descriptor can be sent to the target. depth, max_inline and mask are 0.
	 */
	GANTRY_TRANSPORT_DC_TARGET,
};

/** Settings of one connection. */
struct gantry_peer_conf {
	/** GANTRY_PEER_*: which of the fields below are used although they may be 0. */
	uint32_t mask;
	enum gantry_transport transport; /**< transport of the connection */
	/**
	 * If not GANTRY_TXN_NONE: the connection carries transactions and receives, and nothing
	 * else. RC only
	 */
	enum gantry_txn_mode txn;
	/**
	 * The most WQEs in the connection's send queue, at most 16384. Further WQEs wait in the
	 * queue. This number decides how much memory the peer needs. 0: as many as the queue's
	 * connection to itself has. In an unordered queue it is also the number of descriptors that
	 * may be in flight on the connection: gantry_queue_conf::unordered
	 */
	uint32_t depth;
	/**
	 * GANTRY_PEER_MAX_INLINE: bytes of the longest WRITE, WRITE_IMM or SEND whose data the CPU
	 * copies into the WQE, so that the device need not read it from memory. Default: 28, for
	 * which one WQEBB is enough; for DC peers 44, for which the two WQEBBs of their shortest
	 * WQE are enough. A greater value makes the send queue longer. On a connection for
	 * transactions: bytes of the longest response that is copied in this way; the default is 44
	 */
	uint16_t max_inline;
	/**
	 * The most receives that are posted at once, at most 16384. 0: no receives;
	 * gantry_recv_post() refuses the peer.
	 */
	uint16_t recv_depth;
	struct gantry_path path; /**< path; settings that are not given are those of the engine */
	uint64_t reserved[4];    /**< must be 0 */
};

#define GANTRY_PEER_MAX_INLINE (1u << 0) /**< gantry_peer_conf::max_inline is used */

/**
 * The address of one end of a connection. The program sends these bytes to the other end by any
 * means. They contain a version and a checksum, so that errors in the transfer are noticed.
 */
struct gantry_addr {
	uint8_t bytes[64]; /**< to be sent without a change */
};

/**
 * Opens one end of a connection on a queue. Owner thread; for a worker's queue the control thread,
 * also while the worker runs.
 *
 * Send *addr to the other end, and give the address of the other end to gantry_peer_connect(). The
 * queue owns the connection.
 *
 *     RC                                     DC
 *     open(a, &addr_a)  open(b, &addr_b)                           open(b, DC_TARGET, &addr_b)
 *       connect(a, addr_b)                   open(a, DC, NULL)       any number of queues as a
 *       connect(b, addr_a)                     connect(a, addr_b)
 *
 * @param q
 *   The queue.
 * @param conf
 *   Settings, read during the call; NULL: defaults.
 * @param peer
 *   The number of the connection, for gantry_desc::peer; written on success only.
 * @param addr
 *   The address of this end; written on success only. For a DC peer the address is all zeros,
 *   because nobody connects to this end; the pointer may be NULL.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   A setting is not possible, or differs from that of the queue's first DC peer; txn is set, and
 *   the queue has no transactions; or reserved bytes are not 0.
 * @retval -ENOSPC
 *   The queue has gantry_queue_conf::max_peers open peers: close one of them.
 * @retval -EOPNOTSUPP
 *   The device has no DC: use RC. Or txn is set with DC. Or the device has no signature pipelining,
 *   or pipelining is asked for with gantry_conf::ibv_ctx: use GANTRY_TXN_WAIT.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The verbs call that failed.
 */
GANTRY_API int gantry_peer_open(struct gantry_queue *q, const struct gantry_peer_conf *conf,
	uint16_t *peer, struct gantry_addr *addr);

/**
 * Connects an open end to the other end. Threads: as for gantry_peer_open().
 *
 * Operations may use the connection when both ends have made this call. A DC target itself is not
 * connected.
 *
 * @param q
 *   The queue.
 * @param peer
 *   From gantry_peer_open().
 * @param addr
 *   The address of the other end, read during the call.
 * @return
 *   0 on success. After an error the end is still open: call again, with the same address or
 *   another address. A line of the log says more:
 * @retval -EINVAL
 *   There is no such peer, or it is a DC target; addr is not from gantry_peer_open(), or was
 *   damaged, or is the address of a DC target with another MTU.
 * @retval -EISCONN
 *   The end is or was connected.
 * @retval -EPROTONOSUPPORT
 *   One end is on Ethernet, the other end on InfiniBand; or addr has another version or transport.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The verbs call that failed.
 */
GANTRY_API int gantry_peer_connect(struct gantry_queue *q, uint16_t peer,
	const struct gantry_addr *addr);

/**
 * Returns the number of the queue pair or DC target that an address names. Any thread.
 * Experimental.
 *
 * This number has 24 bits. It is the one that `rdma resource show qp` lists, and that
 * rdma_conn_param::qp_num of rdma_connect(3) needs.
 *
 * @param addr
 *   From gantry_peer_open(), of this process or of another one.
 * @return
 *   The number. 0: addr is not from gantry_peer_open(), or was damaged; or it is the address of a
 *   DC peer, which has no number.
 */
GANTRY_EXPERIMENTAL GANTRY_API uint32_t gantry_addr_number(const struct gantry_addr *addr);

/**
 * Closes one end of a connection. Threads: as for gantry_peer_open().
 *
 * A peer that is opened later may get the same number. Other DC peers of the queue are not
 * affected. Operations to a closed target fail with GANTRY_UNREACHABLE. A message that arrives
 * during the call may be lost, although the sender gets GANTRY_OK, as with ibv_destroy_qp(3).
 *
 * @param q
 *   The queue.
 * @param peer
 *   From gantry_peer_open().
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   There is no such peer.
 * @retval -EBUSY
 *   Descriptors to the peer are in flight: poll, then call again. In a queue in order, a descriptor
 *   that was refused with GANTRY_BAD_PEER does not count as in flight, although its completion may
 *   wait for earlier completions.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The verbs call that failed. The peer takes no descriptors, and keeps its number until a later
 *   call returns 0.
 */
GANTRY_API int gantry_peer_close(struct gantry_queue *q, uint16_t peer);

/* ------------------------------------------------------------------ receives */

/**
 * Posts receives for messages of a peer, or for messages of all initiators of a DC target. Messages
 * of a peer use the receives in order. Owner thread.
 *
 * The call is possible as soon as gantry_peer_open() has returned. Post receives before the peer
 * sends. The memory of the receives belongs to the engine until they complete. gantry_recv_poll()
 * returns their completions. A posted receive delays no descriptor, and gantry_in_flight() does not
 * count it.
 *
 * @param q
 *   The queue.
 * @param peer
 *   From gantry_peer_open().
 * @param recv
 *   Receives. The array may be reused when the call returns.
 * @param n
 *   How many; any number.
 * @return
 *   How many were accepted: the first ones of the array. If fewer than n, recv_depth receives are
 *   posted: take completions, then post the receives that were not accepted.
 * @retval -EINVAL
 *   There is no such peer, or its recv_depth is 0.
 */
GANTRY_API int gantry_recv_post(struct gantry_queue *q, uint16_t peer,
	const struct gantry_recv *recv, unsigned int n);

/**
 * Collects completions of receives of all peers. Owner thread.
 *
 * Each accepted receive completes exactly once. Receives of one peer complete in the order in which
 * they were posted; receives of a DC target complete in any order. When a connection fails, or is
 * closed by gantry_peer_close(), its receives complete with GANTRY_FLUSHED.
 *
 * @param q
 *   The queue.
 * @param comp
 *   Gets the completions.
 * @param n
 *   The number of elements of `comp`.
 * @return
 *   How many were written, at most n. 0: no receive is done.
 */
GANTRY_API unsigned int gantry_recv_poll(struct gantry_queue *q, struct gantry_recv_comp *comp,
	unsigned int n);

#ifdef __cplusplus
}
#endif
#endif
