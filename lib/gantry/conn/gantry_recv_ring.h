/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives of a connection: those posted, in a ring of slots, and their completions.
 *
 *   tail                              head
 *    |  in hardware, or settled        |
 *   -+---------------------------------+-->     entries of the receive queue complete in order,
 *    next to hand out                next       and the settled ones between them in their place
 *
 *   gantry_recv_ring_create()   when a connection is opened
 *   gantry_recv_ring_leave()    before it is closed
 *   gantry_recv_ring_flush()    when its QP is gone: the ring lives on without its connection,
 *                               until its last completion is handed out
 */
#ifndef GANTRY_RECV_RING_H
#define GANTRY_RECV_RING_H

#include <sys/queue.h>

#include <rte_debug.h>

#include "gantry_conn.h"
#include "gantry_desc.h"

struct gantry_recv_ring {
	/*
	 * NULL: it is being closed, or is closed. Receives of a DC target complete in any order: the slots before
	 * `taken` are those that have, in the order in which they did, and the others are not used until then.
	 */
	struct gantry_conn *conn;
	bool gone; /* it is closed */
	uint64_t head;
	uint64_t tail;
	uint64_t taken; /* tail <= taken <= head: slots before it are settled */
	uint64_t mark;  /* `head` at gantry_recv_ring_mark() */
	uint32_t mask;
	uint32_t depth; /* receives posted at most, mask + 1 at most */
	uint16_t peer;
	bool listed; /* in gantry_queue::recv_rings: it has receives */
	TAILQ_ENTRY(gantry_recv_ring) next;
	/* `zero` of a slot is GANTRY_RECV_IN_HARDWARE until its completion is there. */
	struct gantry_recv_comp slot[];
};

#define GANTRY_RECV_IN_HARDWARE UINT32_C(1)

/* 0 or -ENOMEM. Control thread. */
int gantry_recv_ring_create(uint32_t depth, uint16_t peer, int socket,
	struct gantry_recv_ring **ring);

static inline struct gantry_recv_comp *
gantry_recv_slot(struct gantry_recv_ring *ring, uint64_t seq)
{
	return &ring->slot[seq & ring->mask];
}

/* Where its receives complete; NULL: it has no connection any more. Owner thread. */
struct hwq_cq *gantry_recv_ring_cq(const struct gantry_recv_ring *ring);

/* Settles the receives whose CQEs are there, and moves `taken`. Owner thread. */
void gantry_recv_ring_take(struct gantry_recv_ring *ring);

/* The completion of a receive, in the next free slot of those that wait, or of a target's that are done. */
static inline struct gantry_recv_comp *
gantry_recv_slot_begin(struct gantry_recv_ring *ring, uint64_t seq, uint64_t cookie)
{
	struct gantry_recv_comp *comp = gantry_recv_slot(ring, seq);

	*comp = (struct gantry_recv_comp){.cookie = cookie, .peer = ring->peer};
	return comp;
}

/* gantry_recv_ring_post() where the connection is a DC target. */
void gantry_recv_ring_post_to_target(struct gantry_recv_ring *ring, uint64_t cookie,
	const struct hwq_sge *sge);

/* Posts a receive of the memory *sge, whose length may be 0. The ring has a slot for it. */
static inline void
gantry_recv_ring_post(struct gantry_recv_ring *ring, uint64_t cookie, const struct hwq_sge *sge)
{
	if (ring->conn->target != NULL) {
		gantry_recv_ring_post_to_target(ring, cookie, sge);
		return;
	}
	/* The receive queue has an entry for each slot. */
	RTE_VERIFY(hwq_rq_post_list(&ring->conn->qp->rq, 0, sge, 1) == 0);
	gantry_recv_slot_begin(ring, ring->head++, cookie)->zero = GANTRY_RECV_IN_HARDWARE;
}

/* Settles one that is not posted. The ring has a slot for it. */
void gantry_recv_ring_refuse(struct gantry_recv_ring *ring, uint64_t cookie,
	enum gantry_status status);

/* Tells the device of all that was posted. */
void gantry_recv_ring_tell(struct gantry_recv_ring *ring);

/* Frees a ring without receives. NULL: nothing happens. */
void gantry_recv_ring_free(struct gantry_recv_ring *ring);

/*
 * The connection is going to be closed, or the device is lost: receives whose completions are there are settled,
 * and the receive queue or target is not used any more. The others wait. Owner thread.
 */
void gantry_recv_ring_leave(struct gantry_recv_ring *ring);

/* The device writes no more to the others, and makes no CQEs for them: they get a status. Owner thread. */
void gantry_recv_ring_settle(struct gantry_recv_ring *ring, enum gantry_status status);

/*
 * The QP is gone, so the device writes no more: the others are flushed. gantry_recv_poll() hands them
 * out, and frees the ring with the last one. Owner thread.
 */
void gantry_recv_ring_flush(struct gantry_recv_ring *ring);

/* Notes what is posted now, for gantry_drain.c ... */
void gantry_recv_ring_mark(struct gantry_recv_ring *ring);
/* ... and tells if all of it has completed, handed out or not. Owner thread. */
bool gantry_recv_ring_mark_is_reached(const struct gantry_recv_ring *ring);

#endif
