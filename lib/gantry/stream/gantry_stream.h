/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream: the descriptors in flight of a queue. Completions are handed out in the order in which
 * descriptors were accepted. An unordered queue has a stream for each connection.
 *
 * Each descriptor in flight has a slot in the stream's ring. Sequence numbers run free in 64 bits:
 *
 *       tail                issue                 head
 *        |  issued or settled |  waiting: pend[]   |
 *   -----+--------------------+--------------------+----->
 *      next to hand out     next to issue        next to accept
 *
 * Usually few descriptors wait. So the array `pend` of a peer's stream begins with an eighth of its
 * full size, and gets the full size when more descriptors wait.
 */
#ifndef GANTRY_STREAM_H
#define GANTRY_STREAM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "gantry_conn.h"
#include "gantry_conn_set.h"
#include "gantry_counter.h"
#include "gantry_desc.h"
#include "gantry_work.h"

/*
 * `where` of a slot tells the position of the slot's last WQE: the connection in the high bits, and
 * below them the value of gantry_conn::posted before that WQE. A slot is done when the connection's
 * `done` is greater than this value. So the engine writes to no slot when it takes a CQE, and one
 * comparison tells whether a slot is on a given connection and done.
 */
#define GANTRY_WHERE_SHIFT   52
#define GANTRY_WHERE_NOWHERE UINT64_C(0) /* a position on GANTRY_CONN_NONE, whose `done` is 1 */
/*
 * `where` of a slot that waits has the descriptor's number. This bit is set if the descriptor was
 * cancelled.
 */
#define GANTRY_WHERE_CANCELLED (UINT64_C(1) << 63)

#define GANTRY_MAX_CONNS (1u << (64 - GANTRY_WHERE_SHIFT))
#define GANTRY_MAX_PEERS (GANTRY_MAX_CONNS - GANTRY_CONN_PEER)

static_assert(GANTRY_MAX_CONNS <= GANTRY_CONN_SET_MAX, "a set has room for every connection");

static inline uint64_t
gantry_where(uint32_t conn, uint64_t index)
{
	return (uint64_t)conn << GANTRY_WHERE_SHIFT | index;
}

static inline uint32_t
gantry_where_conn(uint64_t where)
{
	return where >> GANTRY_WHERE_SHIFT;
}

static inline uint64_t
gantry_where_index(uint64_t where)
{
	return where & ((UINT64_C(1) << GANTRY_WHERE_SHIFT) - 1);
}

/* Returns `where` of a slot whose last WQE is the last WQE that was written to connection c. */
static inline uint64_t
gantry_where_last(uint32_t conn, const struct gantry_conn *c)
{
	return gantry_where(conn, c->posted - (uint16_t)(c->sq->pi - c->sq->last));
}

/*
 * A row: successive slots whose completions are plain (gantry_finish.h). Each slot has one WQE of
 * one WQEBB, and these WQEs follow each other on one connection. So the connection's `done` tells
 * how many slots of the row are done. Only the latest row is kept, and a failure ends it. For a
 * slot in no row, `where` tells whether the slot is done.
 */
struct gantry_row {
	/* Sequence numbers of the first slot, and of the slot behind the last slot. */
	uint64_t begin;
	uint64_t end;
	uint64_t lead;            /* `where` of each slot, minus its sequence number */
	struct gantry_conn *conn; /* connection of the row; at first the own connection */
};

struct gantry_stream {
	/*
	 * The first cache line: the fields that a burst touches first. The owner writes them,
	 * except for `comp`.
	 */
	/*
	 * The completion of each slot. Until a completion is handed out, its `zero` is used by the
	 * engine (gantry_finish.h).
	 */
	struct gantry_comp *comp;
	/* Sequence numbers; they are also the counters `submitted` and `completed`. */
	gantry_counter head;
	gantry_counter tail;
	uint64_t issue;
	struct gantry_row row;

	/* Constant from creation on. The arrays have mask + 1 elements, one for each slot. */
	uint32_t mask;
	bool splitting; /* used by the owner: the descriptor of slot `issue` is issued in part */
	/*
	 * If `splitting`, and a version drains (gantry_drain.h): true if the descriptor was issued
	 * in part before this version began to drain.
	 */
	bool old_split;
	bool busy;                /* the stream is in the list gantry_unordered::busy */
	bool is_short;            /* used by the owner: `pend` could not grow since the last poll */
	uint64_t *where;          /* position of each slot's last WQE: gantry_where() */
	struct gantry_desc *pend; /* copies of the descriptors that wait: gantry_stream_pend() */
	uint32_t pend_mask;       /* elements of `pend`, a power of two, minus 1 */
	uint32_t n_cancelled;     /* used by the owner: slots that wait and are cancelled */
	uint64_t split_number;    /* if splitting: the number of the descriptor */

	/* Used by the owner. */
	TAILQ_ENTRY(gantry_stream) next_busy;
	struct gantry_work split; /* if splitting: the WQEs that are still to be posted */
	bool told_short;          /* it was logged that `pend` could not grow */
};

static_assert(offsetof(struct gantry_stream, mask) == RTE_CACHE_LINE_SIZE,
	"the first line of a stream has the fields that each burst touches");

/* Returns true if a descriptor of the stream is not issued, or issued in part. */
static inline bool
gantry_stream_waits(const struct gantry_stream *s)
{
	return s->issue != gantry_counter_get(&s->head);
}

/* Returns the copy of the waiting descriptor with sequence number `seq`. */
static inline struct gantry_desc *
gantry_stream_pend(const struct gantry_stream *s, uint64_t seq)
{
	return &s->pend[seq & s->pend_mask];
}

/* Returns the number of the first descriptor that waits or is issued in part. */
static inline uint64_t
gantry_stream_number(const struct gantry_stream *s)
{
	if (unlikely(s->splitting))
		return s->split_number;
	return s->where[s->issue & s->mask] & ~GANTRY_WHERE_CANCELLED;
}

/*
 * Returns how many accepted descriptors of the stream have a completion that is not handed out yet.
 */
static inline uint32_t
gantry_stream_in_flight(const struct gantry_stream *s)
{
	return gantry_counter_get(&s->head) - gantry_counter_get(&s->tail);
}

static inline bool
gantry_row_has(const struct gantry_row *row, uint64_t seq)
{
	return row->begin <= seq && seq < row->end;
}

/* Makes the row empty. Slots from seq on, whose WQEs are on connection c, may then be added. */
static inline void
gantry_row_begin(struct gantry_row *row, struct gantry_conn *c, uint64_t seq, uint64_t lead)
{
	*row = (struct gantry_row){.begin = seq, .lead = lead, .conn = c};
}

/*
 * Adds the n slots from seq on to the row. Their WQEs are the next n WQEs of connection c. If these
 * slots do not continue the row, the row ends, and they begin a new row. where: gantry_where() of
 * the first of these slots.
 */
static __rte_always_inline void
gantry_row_note(struct gantry_row *row, struct gantry_conn *c, uint64_t seq, uint64_t where,
	uint32_t n)
{
	uint64_t lead = where - seq;

	if (unlikely(row->end != seq || row->lead != lead))
		gantry_row_begin(row, c, seq, lead);
	row->end = seq + n;
}

/*
 * Returns how many slots of the row are done, counted from slot seq on. The number is less than 0
 * if slots of the row before seq are not done.
 */
static inline int64_t
gantry_row_done(const struct gantry_row *row, uint64_t seq)
{
	int64_t done = row->conn->done - gantry_where_index(row->lead + seq), left = row->end - seq;

	return done < left ? done : left;
}

/* Ends the row, because its slots are not plain any more. */
static inline void
gantry_row_end(struct gantry_row *row)
{
	row->end = row->begin;
}

/*
 * Allocates memory for `depth` slots, of which `n_pend` may wait. Both are powers of two. The
 * caller has zeroed *s. Returns 0 or -ENOMEM; in both cases gantry_stream_fini() frees the memory.
 */
int gantry_stream_init(struct gantry_stream *s, uint32_t depth, uint32_t n_pend, int socket);
/*
 * Enlarges `pend`, so that all slots may wait. Returns 0. If it returns -ENOMEM, nothing has
 * changed.
 */
int gantry_stream_let_all_wait(struct gantry_stream *s, int socket);
void gantry_stream_fini(struct gantry_stream *s);

#endif
