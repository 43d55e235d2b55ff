/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection: a QP, a CQ that serves no other QP, and how much of its send queue is in use.
 *
 * A CQ must hold one CQE for every WQE of its QPs, because an error flushes them all. A CQ shared
 * by a queue's connections would need that room for peers that may never be opened.
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
	GANTRY_CONN_NONE = 0, /* no hardware; all its work counts as done. Refused ones and NOPs */
	GANTRY_CONN_OWN = 1,  /* the queue connected to itself: copies */
	GANTRY_CONN_DCI = 2,  /* the DC initiator */
	GANTRY_CONN_TXN_OWN = 3, /* the queue connected to itself: local transactions */
	GANTRY_CONN_PEER = 4,    /* the first peer */
};

enum gantry_conn_state {
	GANTRY_CONN_CLOSED = 0,
	GANTRY_CONN_OPEN,     /* has a QP; the other end's address is not known yet */
	GANTRY_CONN_READY,    /* takes WQEs */
	GANTRY_CONN_TARGET,   /* a DC target: takes receives, and no WQEs */
	GANTRY_CONN_FAILING,  /* was stuck and told to fail; CQEs of flushed WQEs are to come */
	GANTRY_CONN_DRAINING, /* failed; CQEs of flushed WQEs are still to come */
	GANTRY_CONN_BROKEN,   /* failed, no WQE outstanding: to be set up again */
	GANTRY_CONN_DOWN,     /* failed, no WQE outstanding: can only be closed */
	GANTRY_CONN_CLOSING,  /* the device refused a part of closing it: close it again */
	GANTRY_CONN_TXN,      /* as READY, but takes transactions only */
};

/* What the device's events said of a connection: gantry_event.h. */
enum {
	GANTRY_CONN_EVENT_QP = 1 << 0,      /* its QP is in error */
	GANTRY_CONN_EVENT_CQ = 1 << 1,      /* its CQ is useless: no CQE comes any more */
	GANTRY_CONN_EVENT_DRAINED = 1 << 2, /* its send queue stands still until it is resumed */
};

struct gantry_recv_ring;
struct gantry_stream;
struct gantry_target;
struct gantry_txn_line;

/*
 * `done` and `posted` count WQEBBs, those of NOPs at the ring's end too. They never start again at
 * 0, also when the QP is reset.
 */
struct gantry_conn {
	/* What a WQE and its CQE touch: one cache line. */
	alignas(RTE_CACHE_LINE_SIZE)
		uint64_t done; /* WQEBBs whose CQE has come, or that a later CQE accounts for */
	uint64_t posted;       /* WQEBBs written to the send queue */
	struct hwq_sq *sq;
	struct hwq_cq *cq;
	uint64_t signal_mask; /* WQEBBs of a quarter of the ring, minus 1: gantry_conn_signals() */
	uint64_t max_len;     /* bytes that one WQE moves */
	uint32_t max_inline;  /* messages of so many bytes at most are copied into the WQE */
	uint8_t state;        /* enum gantry_conn_state; gantry_shown_set() */
	bool half_connected;  /* if open: a connect has failed, and the QP is to be reset */
	uint8_t repair_tries; /* if broken: how often setting it up again has failed */
	struct gantry_stream *stream; /* the descriptors that it carries are in this one */

	/* What else the owner needs while it works. */
	struct gantry_conn_place place; /* in sets; of RC peers alone */
	struct gantry_recv_ring *recv;  /* NULL: it takes no receives */
	struct gantry_txn_line *txns;   /* NULL: it takes no transactions */
	uint64_t mark;                  /* `posted` when a version began to drain: gantry_drain.c */
	uint32_t n_bb;                  /* WQEBBs of its send queue, also while there is no QP */
	/* Others set bits, the owner clears them. */
	_Atomic(uint32_t) events; /* GANTRY_CONN_EVENT_* */

	/* For gantry_watch.c and gantry_recover.c: the owner's. */
	alignas(RTE_CACHE_LINE_SIZE)
		uint64_t watched; /* 1 + `done` when it was looked at; 0: never */
	uint64_t still_tsc;       /* time that was seen since then, in which `done` did not move */
	uint64_t repair_tsc;      /* if broken: when it is tried again */
	bool silent;              /* draining, and no CQE will come: to be reset */
	bool renew;               /* if broken: QP and CQ are to be made anew */

	/* The control thread's, and the owner's while it repairs. */
	struct hwq_qp *qp;            /* NULL: it is destroyed, to be closed or made anew */
	struct hwq_cq *recv_cq;       /* of receives alone; NULL: it takes none */
	struct gantry_target *target; /* of a DC target; it has no QP and no CQ then */
};

static_assert(offsetof(struct gantry_conn, place) == RTE_CACHE_LINE_SIZE,
	"the first line of a connection is what a WQE and its CQE touch");
static_assert(offsetof(struct gantry_conn, watched) == 2 * RTE_CACHE_LINE_SIZE,
	"its second line is what else the owner needs while it works");

/* True: it works. */
static inline bool
gantry_conn_works(const struct gantry_conn *c)
{
	return c->state == GANTRY_CONN_READY || c->state == GANTRY_CONN_TXN;
}

/*
 * True: the next WQE, of n_bb WQEBBs, is the last one of a quarter of the ring and asks for a CQE.
 * n_bb includes a NOP at the ring's end that goes before it.
 */
static inline bool
gantry_conn_signals(const struct gantry_conn *c, uint32_t n_bb)
{
	return (c->posted & c->signal_mask) + n_bb > c->signal_mask;
}

/* Where WQEBB `index`, which is posted and not done, is in the ring: hwq's 16-bit index. */
static inline uint16_t
gantry_conn_ring_index(const struct gantry_conn *c, uint64_t index)
{
	return hwq_sq_ci(c->sq) + (uint16_t)(index - c->done);
}

/*
 * Creates the QP as conf says, its CQ, and one for receives if conf->rq_wr is not 0; the connection is
 * then GANTRY_CONN_OPEN. conf->max_inline is the longest message that is copied into its WQE; max_len:
 * bytes that one WQE moves. 0; or a negative errno: *c is as it was, or GANTRY_CONN_CLOSING if the
 * device refused to take a CQ back.
 */
int gantry_conn_open(struct gantry_conn *c, struct hwq_domain *domain,
	const struct hwq_qp_conf *conf, uint64_t max_len);

/*
 * Connects an open connection. 0: the caller makes it GANTRY_CONN_READY. A negative errno: it can be
 * connected again.
 */
int gantry_conn_connect(struct gantry_conn *c, const struct hwq_addr *remote);

/*
 * Destroys QP and CQ and makes new ones, as gantry_conn_open() does, in the same *c: `done` and
 * `posted` go on. No WQE is outstanding. 0: the QP is to be connected; or a negative errno: call again, or
 * close it.
 */
int gantry_conn_renew(struct gantry_conn *c, struct hwq_domain *domain,
	const struct hwq_qp_conf *conf);

/* True, after gantry_conn_close(): the device writes to no receive of the connection any more. */
bool gantry_conn_is_silent(const struct gantry_conn *c);

/*
 * Destroys QP and CQs, or the DC target. 0: *c is zeroed, which is GANTRY_CONN_CLOSED. A negative errno of the device:
 * *c is GANTRY_CONN_CLOSING and holds what is left; call again.
 */
int gantry_conn_close(struct gantry_conn *c);

#endif
