/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives of a connection: posted receives in a ring of slots, and their completions.
 *
 *   tail                              head
 *    |  in hardware, or settled        |
 *   -+---------------------------------+-->
 *    next to hand out                next
 *
 * Entries of the receive queue complete in order. A settled slot between two entries completes
 * after the first entry and before the second.
 *
 *   gantry_recv_ring_create()   when a connection is opened
 *   gantry_recv_ring_leave()    before the connection is closed
 *   gantry_recv_ring_flush()    when its QP is destroyed: the ring stays without its connection,
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
	 * NULL if the connection is being closed, or is closed. Receives of a DC target complete in
	 * any order: the slots before `taken` have the completed receives, in the order of their
	 * completion. A receive of a target gets its slot only when it completes.
	 */
	struct gantry_conn *conn;
	bool gone; /* the connection is closed */
	uint64_t head;
	uint64_t tail;
	uint64_t taken; /* tail <= taken <= head: the slots before `taken` are settled */
	uint64_t mark;  /* value of `head` at gantry_recv_ring_mark() */
	uint32_t mask;
	uint32_t depth; /* most receives posted at once; at most mask + 1 */
	uint16_t peer;
	bool listed; /* the ring has receives, so it is in gantry_queue::recv_rings */
	TAILQ_ENTRY(gantry_recv_ring) next;
	/* `zero` of a slot is GANTRY_RECV_IN_HARDWARE until the receive has completed. */
	struct gantry_recv_comp slot[];
};

#define GANTRY_RECV_IN_HARDWARE UINT32_C(1)

/* Creates a ring. Returns 0 or -ENOMEM. Control thread. */
int gantry_recv_ring_create(uint32_t depth, uint16_t peer, int socket,
	struct gantry_recv_ring **ring);

static inline struct gantry_recv_comp *
gantry_recv_slot(struct gantry_recv_ring *ring, uint64_t seq)
{
	return &ring->slot[seq & ring->mask];
}

/*
 * Returns the CQ of the ring's receives, or NULL if the ring has no connection any more. Owner
 * thread.
 */
struct hwq_cq *gantry_recv_ring_cq(const struct gantry_recv_ring *ring);

/* Settles the receives whose CQEs have come, and moves `taken`. Owner thread. */
void gantry_recv_ring_take(struct gantry_recv_ring *ring);

/*
 * Begins the completion of a receive in slot seq. This is the next free slot or, for a target, the
 * next slot of completed receives.
 */
static inline struct gantry_recv_comp *
gantry_recv_slot_begin(struct gantry_recv_ring *ring, uint64_t seq, uint64_t cookie)
{
	struct gantry_recv_comp *comp = gantry_recv_slot(ring, seq);

	*comp = (struct gantry_recv_comp){.cookie = cookie, .peer = ring->peer};
	return comp;
}

/* As gantry_recv_ring_post(), for the connection of a DC target. */
void gantry_recv_ring_post_to_target(struct gantry_recv_ring *ring, uint64_t cookie,
	const struct hwq_sge *sge);

/*
 * Posts a receive with the memory *sge, whose length may be 0. The caller has checked that the ring
 * has a free slot.
 */
static inline void
gantry_recv_ring_post(struct gantry_recv_ring *ring, uint64_t cookie, const struct hwq_sge *sge)
{
	if (ring->conn->target != NULL) {
		gantry_recv_ring_post_to_target(ring, cookie, sge);
		return;
	}
	/* This cannot fail: the receive queue has an entry for each slot. */
	RTE_VERIFY(hwq_rq_post_list(&ring->conn->qp->rq, 0, sge, 1) == 0);
	gantry_recv_slot_begin(ring, ring->head++, cookie)->zero = GANTRY_RECV_IN_HARDWARE;
}

/* Settles a receive that is not posted. The caller has checked that the ring has a free slot. */
void gantry_recv_ring_refuse(struct gantry_recv_ring *ring, uint64_t cookie,
	enum gantry_status status);

/* Tells the device about all posted receives. */
void gantry_recv_ring_tell(struct gantry_recv_ring *ring);

/* Frees a ring without receives. Does nothing if the ring is NULL. */
void gantry_recv_ring_free(struct gantry_recv_ring *ring);

/*
 * Called before the connection is closed, or when the device is lost. Settles the receives whose
 * CQEs have come, and stops using the receive queue or DC target. All other receives wait for
 * gantry_recv_ring_settle(). Owner thread.
 */
void gantry_recv_ring_leave(struct gantry_recv_ring *ring);

/*
 * Gives `status` to all receives that wait. The caller knows that the device no longer writes to
 * them, and makes no CQEs for them. Owner thread.
 */
void gantry_recv_ring_settle(struct gantry_recv_ring *ring, enum gantry_status status);

/*
 * Called when the QP is destroyed, so that the device no longer writes to receives. Flushes all
 * receives that wait. gantry_recv_poll() hands them out, and frees the ring after the last one.
 * Owner thread.
 */
void gantry_recv_ring_flush(struct gantry_recv_ring *ring);

/* Marks the receives that are posted now, for gantry_drain.c. Owner thread. */
void gantry_recv_ring_mark(struct gantry_recv_ring *ring);
/*
 * Returns true if all marked receives have completed; their completions need not be handed out yet.
 * Owner thread.
 */
bool gantry_recv_ring_mark_is_reached(const struct gantry_recv_ring *ring);

#endif
