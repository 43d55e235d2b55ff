/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine's objects: engine, queue, connection, worker.
 *
 *   gantry ---- gantry_mem_dir                          address to key
 *     |-- gantry_queue ---- gantry_conn[1]              the queue's own connection: copies
 *     |                 \-- gantry_conn[2 + peer]       WRITE and READ
 *     \-- gantry_worker --- a queue and two rings
 *
 * A queue's descriptors live in slots; sequence numbers run free in 64 bits:
 *
 *       tail            issue                 head
 *        |  issued: WQEs  |  waiting: pend[]   |
 *   -----+----------------+--------------------+----->
 *      next to hand out   next to issue        next to accept
 */
#ifndef GANTRY_PRIV_H
#define GANTRY_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_common.h>
#include <rte_log.h>

#include <hwq_cq.h>
#include <hwq_dev.h>
#include <hwq_mr.h>
#include <hwq_qp.h>

#include "gantry.h"
#include "gantry_mem.h"

extern int gantry_logtype;
#define LOG(level, fmt, ...)                                                                       \
	rte_log(RTE_LOG_##level, gantry_logtype, "gantry: " fmt "\n", ##__VA_ARGS__)

#define GANTRY_MAX_PEERS 64
#define GANTRY_MAX_DEPTH 16384
/*
 * The longest operation given to one WQE, whatever the device allows: length 2 GiB is encoded as 0,
 * so stay well away from it (mlx5_wr_memcpy and set_data_ptr_seg of libmlx5).
 */
#define GANTRY_MAX_WQE_LEN (UINT64_C(1) << 30)

/* ------------------------------------------------------------------ connections */

/* Index of a connection in gantry_queue::conn. */
enum {
	GANTRY_CONN_NONE = 0, /* no hardware: always done. Bad descriptors and NOPs */
	GANTRY_CONN_OWN = 1,  /* the queue connected to itself: copies */
	GANTRY_CONN_PEER = 2, /* the first peer */
	GANTRY_MAX_CONNS = GANTRY_CONN_PEER + GANTRY_MAX_PEERS,
};

enum gantry_conn_state {
	GANTRY_CONN_CLOSED = 0,
	GANTRY_CONN_OPEN,     /* a peer whose address is not known yet */
	GANTRY_CONN_READY,    /* takes WQEs */
	GANTRY_CONN_DRAINING, /* in error: its flushed WQEs are still coming back */
	GANTRY_CONN_DOWN,     /* in error and empty: only to be closed */
};

/*
 * A QP with a CQ of its own: a CQ has to hold one CQE for every WQE of its QPs, because an error
 * flushes them all, so a CQ in common would have to be made for 64 peers that may never come.
 */
struct gantry_conn {
	uint64_t done;   /* WQEBBs since its creation that are accounted for */
	uint64_t posted; /* WQEBBs since its creation that were written */
	struct hwq_sq *sq;
	struct hwq_cq *cq;
	uint64_t max_len;     /* bytes of one WQE */
	uint64_t signal_mask; /* a WQE is signalled where posted has all these bits */
	uint8_t state;        /* enum gantry_conn_state */
	struct hwq_qp *qp;
};

/* ------------------------------------------------------------------ queues */

/*
 * Where a slot's last WQE is: connection in the low byte, WQEBB index on it above. A slot is done
 * when its connection has done that WQE; nothing is written to it when a CQE arrives.
 */
#define GANTRY_WHERE_SHIFT   8
#define GANTRY_WHERE_NOWHERE UINT64_C(0) /* on GANTRY_CONN_NONE */

static inline uint64_t
gantry_where(uint32_t conn, uint64_t index)
{
	return index << GANTRY_WHERE_SHIFT | conn;
}

static inline uint32_t
gantry_where_conn(uint64_t where)
{
	return where & ((1u << GANTRY_WHERE_SHIFT) - 1);
}

static inline uint64_t
gantry_where_index(uint64_t where)
{
	return where >> GANTRY_WHERE_SHIFT;
}

enum gantry_wqe_kind {
	GANTRY_WQE_MEMCPY,
	GANTRY_WQE_WRITE,
	GANTRY_WQE_READ,
};

/* A descriptor as the hardware will see it: checked, with keys. */
struct gantry_xlate {
	uint64_t src;
	uint64_t dst;
	uint64_t len;
	uint32_t src_key;
	uint32_t dst_key;
	uint8_t conn;
	uint8_t kind; /* enum gantry_wqe_kind */
};

/* A counter: one thread writes it, any thread may read it. */
typedef _Atomic uint64_t gantry_counter;

static inline uint64_t
gantry_counter_get(const gantry_counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

static inline void
gantry_counter_add(gantry_counter *c, uint64_t n)
{
	atomic_store_explicit(c, gantry_counter_get(c) + n, memory_order_relaxed);
}

struct gantry_queue_stats {
	gantry_counter bytes;
	gantry_counter doorbells;
	gantry_counter wqes;
	gantry_counter cqes;
	gantry_counter recoveries;
	gantry_counter by_status[GANTRY_STATUS_MAX];
};

struct gantry_queue {
	/* Constant while it runs. */
	uint64_t *where;          /* [mask + 1], see gantry_where() */
	struct gantry_comp *comp; /* [mask + 1] the answers, ready to be copied out */
	struct gantry_desc *pend; /* [mask + 1] descriptors that wait to be issued */
	uint32_t mask;
	bool mmo; /* copies by DMA MMO */

	/* Written by the owner. head and tail are also the counters submitted and completed. */
	bool splitting;       /* slot `issue` is issued in part: split says what is left */
	bool lost;            /* the own connection could not be set up again */
	uint32_t outstanding; /* WQEBBs posted and not done, of all connections */
	gantry_counter head;
	gantry_counter tail;
	uint64_t issue;
	uint64_t peers_unrung; /* bit n: peer n has WQEs that no doorbell announced */
	uint64_t peers_active; /* bit n: peer n has WQEs that are not done */
	struct gantry_mem_view mem;
	struct gantry_queue_stats stats;
	struct gantry_xlate split;
	uint64_t dump_tsc; /* until then, dump_left more failed WQEs are logged */
	uint32_t dump_left;
	struct gantry_conn conn[GANTRY_MAX_CONNS];

	/* Control path. */
	struct gantry *g;
	struct hwq_domain *domain;
	struct hwq_addr own_addr;
	uint32_t sq_wr; /* WQEs of each connection's send queue */
	bool of_worker;
	TAILQ_ENTRY(gantry_queue) next;
};

/* ------------------------------------------------------------------ workers, engine */

struct rte_ring;

struct gantry_worker {
	struct rte_ring *in;  /* struct gantry_desc */
	struct rte_ring *out; /* struct gantry_comp */
	struct gantry_queue *q;
	uint32_t burst;
	uint32_t room; /* records that `out` surely takes, in flight or not */
	atomic_bool stop;
	atomic_bool running;
	unsigned int lcore_id;
	struct gantry *g;
	TAILQ_ENTRY(gantry_worker) next;
};

struct gantry_mem {
	struct gantry *g;
	uint64_t addr;
	struct hwq_mr mr;
};

struct gantry {
	struct hwq_dev *dev;
	struct gantry_mem_dir mem;
	struct gantry_info info;
	uint64_t max_msg_len;
	bool running;
	TAILQ_HEAD(, gantry_queue) queues;
	TAILQ_HEAD(, gantry_worker) workers;
};

/* Workers run, or a queue owes completions: memory must stay. Control thread. */
bool gantry_is_busy(const struct gantry *g);

/* ------------------------------------------------------------------ between the files */

/* gantry_worker.c: the lcore's main. */
int gantry_worker_main(void *arg);

/* gantry_issue.c: issues what waits, as far as there is room. */
void gantry_issue_waiting(struct gantry_queue *q);

/* gantry_recover.c: an error CQE of connection c, the first of it or a later one. Cold. */
void gantry_recover_cqe(struct gantry_queue *q, struct gantry_conn *c, const struct hwq_cqe *cqe);

/* gantry_peer.c: a connection's QP and CQ, unconnected; and the end of them. */
int gantry_conn_open(struct gantry_queue *q, struct gantry_conn *c, bool mmo, uint64_t max_len);
void gantry_conn_close(struct gantry_conn *c);

#endif
