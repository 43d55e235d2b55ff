/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue: descriptors in flight, and the connections that carry them.
 *
 *   gantry_queue
 *     |- gantry_stream     descriptors in flight, which complete in their order
 *     |- gantry_conn[1]    the queue connected to itself: copies
 *     |- gantry_conn[2]    the DC initiator, for all DC peers: gantry_dc.h
 *     |- gantry_conn[3]    the queue connected to itself again: local transactions, gantry_txns.h
 *     |- gantry_conn[4..]  connections to peers, and DC targets
 *     `- gantry_peer[]     peers, by gantry_desc::peer; each has a connection
 *
 * A connection that is in no set and belongs to no peer is used by the control thread only, which
 * opens and closes such connections while the owner works (gantry_peer.c).
 *
 * gantry_stream.h explains streams and slots.
 */
#ifndef GANTRY_QUEUE_H
#define GANTRY_QUEUE_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_bitops.h>
#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "gantry.h"
#include "gantry_cell.h"
#include "gantry_conn.h"
#include "gantry_conn_set.h"
#include "gantry_counter.h"
#include "gantry_fill.h"
#include "gantry_key_cache.h"
#include "gantry_log_rate.h"
#include "gantry_policy.h"
#include "gantry_region.h"
#include "gantry_stream.h"
#include "gantry_txns.h"

#define GANTRY_MAX_DEPTH 16384

/* The counters that every burst changes: one cache line. */
struct gantry_queue_stats {
	gantry_counter bytes;
	gantry_counter doorbells;
	gantry_counter own_wqes; /* WQEBBs of the own connection */
	gantry_counter peer_wqes;
	gantry_counter cqes;
	gantry_counter own_others; /* the part of own_wqes that is not plain copies of one WQE */
	gantry_counter recv_posted;
	gantry_counter recv_done;
};

/* Limits for lines of the log about failures of the queue's descriptors. The owner's. */
struct gantry_queue_lines {
	struct gantry_log_rate failed;   /* lines about failed WQEs */
	struct gantry_log_rate repaired; /* lines about connections that work again */
	struct gantry_log_rate down;     /* lines about connections that are stuck or down */
};

struct gantry_queue_rare_stats {
	gantry_counter recoveries;
	gantry_counter replays;
	/*
	 * Copies by carrier. Plain copies are not counted here: their number is own_wqes -
	 * own_others.
	 */
	gantry_counter copies[GANTRY_CARRIER_MAX];
	/*
	 * Completions by status. Completions with GANTRY_OK are not counted here: their number is
	 * that of all completions, minus the sum of this array.
	 */
	gantry_counter by_status[GANTRY_STATUS_MAX];
};

/*
 * An unordered queue has a stream for each connection. The queue numbers its descriptors over all
 * streams, in the order in which it accepts them.
 */
struct gantry_unordered {
	gantry_counter submitted;
	gantry_counter completed;
	uint64_t next; /* number of the next descriptor */
	/*
	 * The lowest number of a fenced descriptor that is the first to wait in its stream, or
	 * UINT64_MAX if there is no such descriptor. Descriptors with greater numbers wait for this
	 * fenced descriptor; otherwise the fenced descriptor might wait for ever.
	 */
	uint64_t fence;
	TAILQ_HEAD(gantry_busy, gantry_stream) busy; /* streams with descriptors in flight */
};

enum gantry_peer_use {
	GANTRY_PEER_FREE = 0,
	GANTRY_PEER_OPEN,
	GANTRY_PEER_CLOSING, /* closing has begun, but the device refused a part of it */
};

struct gantry_dc_peer;

/* A peer of the queue. gantry_desc::peer is its index in gantry_queue::peer. */
struct gantry_peer {
	/*
	 * Used by the owner: index in gantry_queue::conn. GANTRY_CONN_NONE if the peer takes no
	 * descriptors, or is a connected DC peer (to_dci).
	 */
	uint16_t conn;
	/* Used by the owner, set by gantry_shown_set(): the peer is a connected DC peer. */
	bool to_dci;
	uint8_t use; /* used by the control thread: enum gantry_peer_use */
};

/*
 * Fields of a peer that are used less often. They have an array of their own, so that the elements
 * of struct gantry_peer lie close together.
 */
struct gantry_peer_more {
	struct gantry_dc_peer *dc; /* the peer, if it is a connected DC peer; read by the owner */
	uint8_t transport;         /* used by the control thread: enum gantry_transport */
	/* Used by the control thread: traffic class of a DC peer; otherwise 0. */
	uint8_t traffic_class;
};

/* The DC initiator. */
struct gantry_dci {
	bool ready; /* set once, by the owner: the initiator exists */
	/* Set by the control thread, and constant from then on. */
	uint8_t mtu;                   /* enum ibv_mtu */
	struct gantry_peer_conf first; /* settings of the first DC peer; its path is complete */
	struct hwq_qp_conf conf;
};

/* The version of the table of regions that is draining (gantry_drain.h). */
struct gantry_drain {
	uint64_t version; /* the draining version; 0: no version drains */
	uint64_t replays; /* gantry_queue_rare_stats::replays when the marks were set
			   * (gantry_conn::mark) */
	bool split;       /* a descriptor was issued in part when the marks were set */
};

struct gantry_queue {
	/* The fields that a burst of copies touches. The owner writes them. */
	alignas(RTE_CACHE_LINE_SIZE) bool usual; /* the queue is usual: gantry_queue_note_usual() */
	/* Constant from creation on. */
	bool unordered;  /* each connection has a stream of its own */
	bool mmo;        /* the own connection can carry out DMA MMO */
	uint8_t replays; /* how often the engine may post a descriptor again */
	/*
	 * The WQEBBs of all connections that are posted and not done. Each connection that is
	 * broken, failing or stopped counts 1 more, and each open transaction counts 1 more. So
	 * gantry_poll() also polls such connections, and a fenced descriptor waits for them.
	 */
	uint32_t outstanding;
	uint32_t empty_polls;     /* number of calls of gantry_poll() that found no completion */
	uint32_t max_peers;       /* elements of `peer` and `peer_more`; constant */
	struct gantry_peer *peer; /* an array of max_peers elements */
	TAILQ_HEAD(gantry_recv_rings, gantry_recv_ring) recv_rings; /* rings that have receives */
	uint64_t cpu_left; /* bytes that the CPU may still copy in this call (gantry_cpu.h) */
	bool device_lost;  /* the device has failed, and so has every connection */
	alignas(RTE_CACHE_LINE_SIZE) struct gantry_region_view view;
	alignas(RTE_CACHE_LINE_SIZE) struct gantry_queue_stats stats;
	/*
	 * The stream of all connections. In an unordered queue, the stream of the own connection.
	 */
	alignas(RTE_CACHE_LINE_SIZE) struct gantry_stream stream;

	/* Fields of the owner that a burst of copies does not touch. */
	/* Connections to peers that have WQEs whose doorbell is not rung yet. */
	struct gantry_conn_set unrung;
	/* connections with outstanding WQEs whose doorbell is rung, and some idle connections */
	struct gantry_conn_set active;
	struct gantry_queue_rare_stats rare;
	struct gantry_choice choice;       /* the carrier of each copy */
	struct gantry_unordered any_order; /* used if `unordered` */
	struct gantry_drain drain;
	struct gantry_peer_more *peer_more; /* an array of max_peers elements */
	struct gantry_cells cells;          /* allocated with the first peer */
	struct gantry_keys keys;            /* created with the first layout */
	struct gantry_fill fill;            /* allocated with the first fill */
	/* Copies of WQEs, as large as the own connection's ring: gantry_replay.h. */
	void *saved;
	uint32_t saved_bb; /* number of WQEBBs in `saved` */
	struct gantry_queue_lines lines;
	uint64_t watch_tsc; /* time stamp of the last call of gantry_watch() */
	/* Constant. A connection is stuck if none of its WQEs completes in this time. */
	uint64_t deadline_tsc;
	struct gantry_txns txns;

	/* Fields of the control thread. */
	alignas(RTE_CACHE_LINE_SIZE) struct gantry *g;
	struct hwq_domain *domain;
	struct hwq_channel *channel; /* events of the queue's CQs; NULL: the owner never sleeps */
	struct hwq_qp_conf own_conf; /* configuration of the own connection */
	/* Address of the own connection, which is connected to itself. */
	struct hwq_addr own_addr;
	struct gantry_dci dci;
	int socket;              /* NUMA node of the queue's memory */
	uint32_t sq_wr;          /* number of WQEs in the send queue of the own connection */
	struct gantry_path path; /* constant: path of connections whose own settings are 0 */
	uint16_t *free_peer;     /* a stack: the numbers of free peers */
	uint32_t n_free_peers;
	uint32_t id; /* number of the queue in the process; constant */
	/*
	 * These fields are written under the lock of gantry_seen.h, so that telemetry can read
	 * them. The same holds for gantry_peer::use and n_free_peers.
	 */
	bool seen; /* telemetry may read the queue */
	/* Latencies of descriptors; allocated by the first request (gantry_latency.h). */
	_Atomic(struct gantry_latencies *) latencies;
	/*
	 * The lcore of the worker that has the queue and destroys it; LCORE_ID_ANY: there is no
	 * worker.
	 */
	unsigned int lcore;
	struct gantry_worker *worker; /* the worker that has the queue; NULL: inline mode */
	TAILQ_ENTRY(gantry_queue) next;

	/* Used by the owner: GANTRY_CONN_PEER + max_peers elements. */
	struct gantry_conn conn[];
};

/*
 * A burst of copies touches the first six cache lines: one of flags, two of look-ups of regions,
 * one of counters, and two of the stream.
 */
#define GANTRY_QUEUE_LINE(field) (offsetof(struct gantry_queue, field) / RTE_CACHE_LINE_SIZE)
static_assert(GANTRY_QUEUE_LINE(usual) == 0 && GANTRY_QUEUE_LINE(device_lost) == 0,
	"line 0: flags");
static_assert(GANTRY_QUEUE_LINE(view.src) == 1 && GANTRY_QUEUE_LINE(view.dir) == 1,
	"line 1: the last regions");
static_assert(GANTRY_QUEUE_LINE(stats.bytes) == 3 && GANTRY_QUEUE_LINE(stats.recv_done) == 3,
	"line 3: counters");
static_assert(GANTRY_QUEUE_LINE(stream.comp) == 4 && GANTRY_QUEUE_LINE(stream.row) == 4 &&
		      GANTRY_QUEUE_LINE(stream.mask) == 5 &&
		      GANTRY_QUEUE_LINE(stream.n_cancelled) == 5,
	"lines 4 and 5: the stream, without its split descriptor");
static_assert(offsetof(struct gantry_queue, g) % RTE_CACHE_LINE_SIZE == 0,
	"the owner writes to no line of the control thread");

/*
 * Updates whether the queue is "usual": it is an ordered queue, and has a working own connection
 * that carries all copies by DMA MMO. Most queues are usual. Called when one of these conditions
 * changes.
 */
static inline void
gantry_queue_note_usual(struct gantry_queue *q)
{
	q->usual = !q->unordered && q->conn[GANTRY_CONN_OWN].state == GANTRY_CONN_READY &&
		   q->choice.all == GANTRY_CARRIER_MMO;
}

/* Called when a stream of an unordered queue gets its first descriptor in flight. */
static inline void
gantry_queue_note_busy(struct gantry_queue *q, struct gantry_stream *s)
{
	s->busy = true;
	TAILQ_INSERT_TAIL(&q->any_order.busy, s, next_busy);
}

/*
 * Returns the connection that only this peer uses. Returns GANTRY_CONN_NONE, which is never ready,
 * if there is no such peer, or the peer is a DC peer.
 */
static inline uint32_t
gantry_queue_peer_conn(const struct gantry_queue *q, uint16_t peer)
{
	return peer < q->max_peers ? q->peer[peer].conn : (uint32_t)GANTRY_CONN_NONE;
}

/*
 * Returns the connection that carries descriptors to a peer. Returns GANTRY_CONN_NONE if there is
 * no such peer.
 */
static inline uint32_t
gantry_queue_conn_to(const struct gantry_queue *q, uint16_t peer)
{
	uint32_t conn = gantry_queue_peer_conn(q, peer);

	if (unlikely(conn == GANTRY_CONN_NONE) && peer < q->max_peers && q->peer[peer].to_dci)
		return GANTRY_CONN_DCI;
	return conn;
}

/*
 * Returns true if the queue itself sets this connection up again after a failure; descriptors wait
 * meanwhile. If the repair is given up, or the device is lost, the connection's state is
 * GANTRY_CONN_DOWN.
 */
static inline bool
gantry_queue_repairs(uint32_t conn)
{
	return conn == GANTRY_CONN_OWN || conn == GANTRY_CONN_DCI || conn == GANTRY_CONN_TXN_OWN;
}

/*
 * Finds the stream for a new connection to a peer. In an ordered queue this is the queue's stream.
 * In an unordered queue it is a new stream of `depth` slots, rounded up to a power of two; if depth
 * is 0, of as many slots as the queue has. Returns 0 or -ENOMEM.
 */
int gantry_queue_stream_for(struct gantry_queue *q, uint32_t depth, struct gantry_stream **s);
/* Gives a stream back that has nothing in flight. Does nothing if the stream is NULL. */
void gantry_queue_stream_put(struct gantry_queue *q, struct gantry_stream *s);

#endif
