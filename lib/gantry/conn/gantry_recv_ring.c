/* SPDX-License-Identifier: BSD-3-Clause */
/* The receives of a connection: turns CQEs into completions in their order, and ends the ring. */
#include "gantry_recv_ring.h"

#include <errno.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_debug.h>

#include "gantry_alloc.h"
#include "gantry_log.h"
#include "gantry_target.h"

/* The most CQEs that are taken at a time. */
#define TAKE_BURST 16

int
gantry_recv_ring_create(uint32_t depth, uint16_t peer, int socket, struct gantry_recv_ring **out)
{
	uint32_t n = rte_align32pow2(depth);
	struct gantry_recv_ring *ring;

	ring = gantry_alloc("gantry_recv", sizeof(*ring) + n * sizeof(ring->slot[0]), socket);
	if (ring == NULL)
		return -ENOMEM;
	ring->mask = n - 1;
	ring->depth = depth;
	ring->peer = peer;
	*out = ring;
	return 0;
}

void
gantry_recv_ring_free(struct gantry_recv_ring *ring)
{
	gantry_free(ring);
}

/* ------------------------------------------------------------------ posting */

/* Returns NULL if the ring is not that of a DC target, or has no connection any more. */
static struct gantry_target *
target_of(const struct gantry_recv_ring *ring)
{
	return ring->conn != NULL ? ring->conn->target : NULL;
}

struct hwq_cq *
gantry_recv_ring_cq(const struct gantry_recv_ring *ring)
{
	const struct gantry_target *target = target_of(ring);

	if (target != NULL)
		return target->cq;
	return ring->conn != NULL ? ring->conn->recv_cq : NULL;
}

void
gantry_recv_ring_post_to_target(struct gantry_recv_ring *ring, uint64_t cookie,
	const struct hwq_sge *sge)
{
	ring->head++;
	gantry_target_post(ring->conn->target, cookie, sge);
}

void
gantry_recv_ring_refuse(struct gantry_recv_ring *ring, uint64_t cookie, enum gantry_status status)
{
	uint64_t seq = target_of(ring) != NULL ? ring->taken++ : ring->head;

	ring->head++;
	gantry_recv_slot_begin(ring, seq, cookie)->status = status;
}

void
gantry_recv_ring_tell(struct gantry_recv_ring *ring)
{
	if (target_of(ring) != NULL)
		gantry_target_ring(target_of(ring));
	else if (ring->conn != NULL)
		hwq_rq_ring(&ring->conn->qp->rq);
}

/* ------------------------------------------------------------------ completions */

/* Moves `taken` over settled slots. Returns true if the slot `taken` waits for a CQE. */
static bool
next_in_hardware(struct gantry_recv_ring *ring)
{
	while (ring->taken != ring->head && gantry_recv_slot(ring, ring->taken)->zero == 0)
		ring->taken++;
	return ring->taken != ring->head;
}

/* Settles a receive that succeeded, from the fields of its CQE. */
static inline void
settle_good(struct gantry_recv_comp *comp, uint8_t opcode, uint32_t byte_cnt, __be32 imm)
{
	static_assert(GANTRY_OP_SEND - GANTRY_OP_WRITE_IMM ==
				      MLX5_CQE_RESP_SEND - MLX5_CQE_RESP_WR_IMM &&
			      GANTRY_OP_SEND_IMM - GANTRY_OP_WRITE_IMM ==
				      MLX5_CQE_RESP_SEND_IMM - MLX5_CQE_RESP_WR_IMM &&
			      GANTRY_OP_SEND_INV - GANTRY_OP_WRITE_IMM ==
				      MLX5_CQE_RESP_SEND_INV - MLX5_CQE_RESP_WR_IMM,
		"opcodes of CQEs and operations have the same order");
	comp->zero = 0;
	/*
	 * The operation of the peer. The opcodes of these CQEs have the same order as the
	 * operations from GANTRY_OP_WRITE_IMM on.
	 */
	comp->op = GANTRY_OP_WRITE_IMM + (opcode - MLX5_CQE_RESP_WR_IMM);
	comp->len = byte_cnt;
	if (comp->op != GANTRY_OP_SEND)
		comp->imm = be32toh(imm);
}

static void
settle(struct gantry_recv_comp *comp, const struct hwq_cqe *cqe)
{
	if (likely(cqe->syndrome == 0)) {
		settle_good(comp, cqe->opcode, cqe->byte_cnt, cqe->imm_inval);
		return;
	}
	comp->zero = 0;
	comp->status = cqe->syndrome == HWQ_SYNDROME_WR_FLUSH ? GANTRY_FLUSHED : GANTRY_LOCAL_ERROR;
	comp->syndrome = cqe->syndrome;
	comp->vendor_syndrome = cqe->vendor_err;
}

/*
 * Called when a receive failed or was flushed, so the QP is in error. If no send is outstanding, no
 * error CQE of a send will report this. So this function changes the connection's state.
 */
static __rte_cold void
note_failure(const struct gantry_recv_ring *ring, const struct hwq_cqe *cqe)
{
	struct gantry_conn *c = ring->conn;

	if (c->state != GANTRY_CONN_READY || c->done != c->posted)
		return;
	gantry_shown_set(&c->state, GANTRY_CONN_DOWN);
	LOG(WARNING,
		"peer %u: a receive failed: %s (syndrome 0x%02x, vendor 0x%02x); the connection is "
		"down: close it and open it anew, at both ends",
		ring->peer, hwq_syndrome_str(cqe->syndrome), cqe->syndrome, cqe->vendor_err);
}

/*
 * Takes the completed receives of a DC target. A failed receive means that the connection to one
 * initiator has ended. The engine has no state of this connection, so it only completes the
 * receive.
 */
static void
take_of_target(struct gantry_recv_ring *ring)
{
	struct hwq_cqe cqe[TAKE_BURST];
	uint64_t cookie[TAKE_BURST];
	unsigned int i, n;

	do {
		n = gantry_target_poll(ring->conn->target, cqe, cookie, TAKE_BURST);
		for (i = 0; i < n; i++)
			settle(gantry_recv_slot_begin(ring, ring->taken++, cookie[i]), &cqe[i]);
	} while (n == TAKE_BURST);
}

/*
 * Takes a receive that failed, or a receive whose CQE arrived after the last poll. Returns false if
 * there is no such receive. Tells the device which CQEs were taken.
 */
static __rte_noinline bool
take_failed(struct gantry_recv_ring *ring)
{
	struct hwq_cqe cqe;
	uint64_t wr_id;

	if (hwq_rq_poll(&ring->conn->qp->rq, &cqe, &wr_id, 1) == 0)
		return false;
	RTE_VERIFY(next_in_hardware(ring));
	settle(gantry_recv_slot(ring, ring->taken++), &cqe);
	if (cqe.syndrome != 0)
		note_failure(ring, &cqe);
	return true;
}

void
gantry_recv_ring_take(struct gantry_recv_ring *ring)
{
	struct hwq_recv_done done;

	if (target_of(ring) != NULL) {
		take_of_target(ring);
		return;
	}
	if (!next_in_hardware(ring) || ring->conn == NULL)
		return;
	do {
		/* Entries of the receive queue complete in the order of their slots. */
		while (hwq_rq_take(&ring->conn->qp->rq, &done)) {
			RTE_VERIFY(next_in_hardware(ring));
			settle_good(gantry_recv_slot(ring, ring->taken++), done.opcode,
				done.byte_cnt, done.imm_inval);
		}
	} while (take_failed(ring));
	next_in_hardware(ring);
}

/* ------------------------------------------------------------------ the end */

/*
 * Called when the ring leaves its DC target. Gives slots to the receives that are still posted to
 * the target. After that, these receives wait in the ring, like receives of a QP.
 */
static void
leave_target(struct gantry_recv_ring *ring)
{
	uint64_t seq = ring->taken, cookie;
	uint32_t at = 0;

	while (gantry_target_take_back(ring->conn->target, &at, &cookie))
		gantry_recv_slot_begin(ring, seq++, cookie)->zero = GANTRY_RECV_IN_HARDWARE;
}

void
gantry_recv_ring_leave(struct gantry_recv_ring *ring)
{
	gantry_recv_ring_take(ring);
	if (target_of(ring) != NULL)
		leave_target(ring);
	ring->conn = NULL;
}

void
gantry_recv_ring_settle(struct gantry_recv_ring *ring, enum gantry_status status)
{
	for (; next_in_hardware(ring); ring->taken++) {
		gantry_recv_slot(ring, ring->taken)->status = status;
		gantry_recv_slot(ring, ring->taken)->zero = 0;
	}
}

void
gantry_recv_ring_flush(struct gantry_recv_ring *ring)
{
	gantry_recv_ring_settle(ring, GANTRY_FLUSHED);
	ring->gone = true;
	if (!ring->listed)
		gantry_recv_ring_free(ring);
}

void
gantry_recv_ring_mark(struct gantry_recv_ring *ring)
{
	ring->mark = ring->head;
	if (target_of(ring) != NULL)
		gantry_target_mark(target_of(ring));
}

bool
gantry_recv_ring_mark_is_reached(const struct gantry_recv_ring *ring)
{
	if (target_of(ring) != NULL)
		return target_of(ring)->n_old == 0;
	return ring->taken >= ring->mark;
}
