/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection: a QP, its own CQ, and counts of the WQEBBs in use.
 *
 * Each connection has its own CQ. A CQ must have an entry for each WQE of its QPs, because an error
 * flushes all WQEs. So a shared CQ would need entries even for peers that are never opened.
 */
#ifndef GANTRY_CONN_H
#define GANTRY_CONN_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include <hwq_cq.h>
#include <hwq_qp.h>

#include "gantry_conn_set.h"
#include "gantry_counter.h"

/* Index of a connection in gantry_queue::conn. */
enum {
	/* No hardware: for refused descriptors and NOPs, which are done at once. */
	GANTRY_CONN_NONE = 0,
	GANTRY_CONN_OWN = 1,     /* the queue connected to itself: copies */
	GANTRY_CONN_DCI = 2,     /* the DC initiator */
	GANTRY_CONN_TXN_OWN = 3, /* the queue connected to itself: local transactions */
	GANTRY_CONN_PEER = 4,    /* the first peer */
};

enum gantry_conn_state {
	GANTRY_CONN_CLOSED = 0,
	GANTRY_CONN_OPEN,   /* has a QP; the address of the remote end is not known yet */
	GANTRY_CONN_READY,  /* the connection works and takes WQEs */
	GANTRY_CONN_TARGET, /* a DC target: takes receives, and no WQEs */
	/* The connection was stuck. Its QP is in state ERR, and its WQEs are being flushed. */
	GANTRY_CONN_FAILING,
	GANTRY_CONN_DRAINING, /* failed; CQEs of flushed WQEs are still to come */
	GANTRY_CONN_BROKEN,   /* failed; no WQE is outstanding; the queue will set it up again */
	GANTRY_CONN_DOWN,     /* failed; no WQE is outstanding; can only be closed */
	/* The device refused a part of the closing; close the connection again. */
	GANTRY_CONN_CLOSING,
	GANTRY_CONN_TXN, /* as GANTRY_CONN_READY, but takes transactions only */
};

/* Events of the device about a connection (gantry_event.h). */
enum {
	GANTRY_CONN_EVENT_QP = 1 << 0,      /* the QP is in error */
	GANTRY_CONN_EVENT_CQ = 1 << 1,      /* the CQ has failed and makes no more CQEs */
	GANTRY_CONN_EVENT_DRAINED = 1 << 2, /* the send queue stands still until it is resumed */
};

struct gantry_recv_ring;
struct gantry_stream;
struct gantry_target;
struct gantry_txn_line;

/*
 * `done` and `posted` count WQEBBs, also those of NOPs at the ring's end. Both only grow; a reset
 * of the QP does not reset them.
 */
struct gantry_conn {
	/* The fields that a WQE and its CQE touch: one cache line. */

	/*
	 * The number of WQEBBs that are done: their CQE, or the CQE of a later WQE, has been taken.
	 */
	alignas(RTE_CACHE_LINE_SIZE) uint64_t done;
	uint64_t posted; /* number of WQEBBs that were written to the send queue */
	struct hwq_sq *sq;
	struct hwq_cq *cq;
	uint64_t signal_mask; /* WQEBBs of a quarter of the ring, minus 1: gantry_conn_signals() */
	uint64_t max_len;     /* the most bytes that one WQE moves */
	uint32_t max_inline;  /* longest message in bytes that is copied into its WQE */
	uint8_t state;        /* enum gantry_conn_state, set by gantry_shown_set() */
	bool half_connected;  /* if open: connecting has failed, so the QP must be reset first */
	uint8_t repair_tries; /* if broken: how often a repair has failed */
	struct gantry_stream *stream; /* the stream with the descriptors of this connection */

	/* Further fields that the owner uses in normal operation. */
	/* Place in sets of connections; for RC peers and the DC initiator. */
	struct gantry_conn_place place;
	struct gantry_recv_ring *recv; /* NULL: the connection takes no receives */
	struct gantry_txn_line *txns;  /* NULL: the connection takes no transactions */
	uint64_t mark;                 /* value of `posted` at the last mark() of gantry_drain.c */
	uint32_t n_bb;                 /* WQEBBs of the send queue, also while there is no QP */
	/* Other threads set bits, the owner clears bits. */
	_Atomic(uint32_t) events; /* bits GANTRY_CONN_EVENT_* */

	/* Used by the owner, in gantry_watch.c and gantry_recover.c. */

	/*
	 * 1 + `done` as gantry_watch() saw it last; 0: gantry_watch() has not seen the connection
	 * yet.
	 */
	alignas(RTE_CACHE_LINE_SIZE) uint64_t watched;
	uint64_t still_tsc;  /* time in which `done` has not changed, as gantry_watch() counts it */
	uint64_t repair_tsc; /* if broken: time stamp of the next try to repair */
	bool silent;         /* draining, and no CQE will come, so the QP must be reset */
	bool renew;          /* if broken: QP and CQ must be created again */

	/* Used by the control thread, and by the owner while the owner repairs the connection. */

	/* NULL if the QP is destroyed, and the connection will be closed or repaired. */
	struct hwq_qp *qp;
	struct hwq_cq *recv_cq; /* CQ of receives; NULL: the connection takes no receives */
	/* The DC target, if the connection is one; it then has no QP and no CQ. */
	struct gantry_target *target;
};

static_assert(offsetof(struct gantry_conn, place) == RTE_CACHE_LINE_SIZE,
	"the first line of a connection has the fields that a WQE and its CQE touch");
static_assert(offsetof(struct gantry_conn, watched) == 2 * RTE_CACHE_LINE_SIZE,
	"its second line has the other fields that the owner needs while it works");

/* Returns true if the connection takes WQEs, or transactions. */
static inline bool
gantry_conn_works(const struct gantry_conn *c)
{
	return c->state == GANTRY_CONN_READY || c->state == GANTRY_CONN_TXN;
}

/*
 * Returns true if the state of the connection permits receives. Whether it has a receive queue is
 * not checked.
 */
static inline bool
gantry_conn_receives(const struct gantry_conn *c)
{
	return c->state == GANTRY_CONN_OPEN || gantry_conn_works(c) ||
	       c->state == GANTRY_CONN_TARGET;
}

/*
 * Returns true if the next WQE is the last one of a quarter of the ring, so that it asks for a CQE.
 * n_bb: the WQEBBs of this WQE and of a NOP in front of it at the ring's end.
 */
static inline bool
gantry_conn_signals(const struct gantry_conn *c, uint32_t n_bb)
{
	return (c->posted & c->signal_mask) + n_bb > c->signal_mask;
}

/* Returns the 16-bit index that lib/hwq has for WQEBB `index`, which is posted and not done. */
static inline uint16_t
gantry_conn_ring_index(const struct gantry_conn *c, uint64_t index)
{
	return hwq_sq_ci(c->sq) + (uint16_t)(index - c->done);
}

/*
 * Creates the QP as conf says, and its CQ; if conf->rq_wr is not 0, also a CQ for receives. The
 * state is then GANTRY_CONN_OPEN. conf->max_inline: the longest message that is copied into its
 * WQE. max_len: the most bytes that one WQE moves. Returns 0 or a negative errno. After an error *c
 * has not changed, or its state is GANTRY_CONN_CLOSING because the device refused to destroy a CQ.
 */
int gantry_conn_open(struct gantry_conn *c, struct hwq_domain *domain,
	const struct hwq_qp_conf *conf, uint64_t max_len);

/*
 * Connects an open connection. Returns 0 or a negative errno. After success the caller sets
 * GANTRY_CONN_READY. After an error the caller may call this function again.
 */
int gantry_conn_connect(struct gantry_conn *c, const struct hwq_addr *remote);

/*
 * Destroys QP and CQ, and creates new ones in the same *c, as gantry_conn_open() does. `done` and
 * `posted` keep their values. The caller makes sure that no WQE is outstanding. Returns 0 or a
 * negative errno. After success the caller connects the QP. After an error the caller calls this
 * function again, or closes the connection.
 */
int gantry_conn_renew(struct gantry_conn *c, struct hwq_domain *domain,
	const struct hwq_qp_conf *conf);

/*
 * Called after a gantry_conn_close() that failed. Returns true if the device no longer writes to
 * receives of the connection.
 */
bool gantry_conn_is_silent(const struct gantry_conn *c);

/*
 * Destroys QP and CQs, or the DC target. On success *c is zeroed, which means GANTRY_CONN_CLOSED,
 * and the function returns 0. Otherwise it returns the device's error. Then the state is
 * GANTRY_CONN_CLOSING, *c has the objects that still exist, and the caller calls this function
 * again.
 */
int gantry_conn_close(struct gantry_conn *c);

#endif
