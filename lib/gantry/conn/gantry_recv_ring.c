/* SPDX-License-Identifier: BSD-3-Clause */
/* The receives of a connection: from CQEs to completions in their order, and its end. */
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

/* CQEs that are taken at a time. */
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

/* NULL: the ring is of no DC target, or its connection is left. */
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

/* The completion of a receive, in the next free slot of those that wait, or of a target's that are done. */
static struct gantry_recv_comp *
slot_begin(struct gantry_recv_ring *ring, uint64_t seq, uint64_t cookie)
{
	struct gantry_recv_comp *comp = gantry_recv_slot(ring, seq);

	*comp = (struct gantry_recv_comp){.cookie = cookie, .peer = ring->peer};
	return comp;
}

void
gantry_recv_ring_post(struct gantry_recv_ring *ring, uint64_t cookie, const struct hwq_sge *sge,
	unsigned int n)
{
	struct gantry_target *target = target_of(ring);

	if (target != NULL) {
		ring->head++;
		gantry_target_post(target, cookie, sge, n);
		return;
	}
	/* The receive queue has an entry for each slot. */
	RTE_VERIFY(hwq_rq_post_list(&ring->conn->qp->rq, 0, sge, n) == 0);
	slot_begin(ring, ring->head++, cookie)->zero = GANTRY_RECV_IN_HARDWARE;
}

void
gantry_recv_ring_refuse(struct gantry_recv_ring *ring, uint64_t cookie, enum gantry_status status)
{
	uint64_t seq = target_of(ring) != NULL ? ring->taken++ : ring->head;

	ring->head++;
	slot_begin(ring, seq, cookie)->status = status;
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

/* True: the slot `taken` waits for a CQE. Passes by those that are settled. */
static bool
next_in_hardware(struct gantry_recv_ring *ring)
{
	while (ring->taken != ring->head && gantry_recv_slot(ring, ring->taken)->zero == 0)
		ring->taken++;
	return ring->taken != ring->head;
}

/* What the peer did, by the opcode of the receive's CQE. */
static uint8_t
op_of(uint8_t opcode)
{
	switch (opcode) {
	case MLX5_CQE_RESP_WR_IMM:
		return GANTRY_OP_WRITE_IMM;
	case MLX5_CQE_RESP_SEND:
		return GANTRY_OP_SEND;
	case MLX5_CQE_RESP_SEND_IMM:
		return GANTRY_OP_SEND_IMM;
	default:
		return GANTRY_OP_SEND_INV;
	}
}

static void
settle(struct gantry_recv_comp *comp, const struct hwq_cqe *cqe)
{
	comp->zero = 0;
	if (unlikely(cqe->syndrome != 0)) {
		comp->status = cqe->syndrome == HWQ_SYNDROME_WR_FLUSH ? GANTRY_FLUSHED
								      : GANTRY_LOCAL_ERROR;
		comp->syndrome = cqe->syndrome;
		comp->vendor_syndrome = cqe->vendor_err;
		return;
	}
	comp->op = op_of(cqe->opcode);
	comp->len = cqe->byte_cnt;
	if (comp->op != GANTRY_OP_SEND)
		comp->imm = be32toh(cqe->imm_inval);
}

/*
 * A receive failed or was flushed, so the QP is in error. If nothing is outstanding, no error CQE of
 * a send will tell.
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

/* A failed receive of a target ends the connection to one initiator, of which nothing is known here. */
static void
take_of_target(struct gantry_recv_ring *ring)
{
	struct hwq_cqe cqe[TAKE_BURST];
	uint64_t cookie[TAKE_BURST];
	unsigned int i, n;

	do {
		n = gantry_target_poll(ring->conn->target, cqe, cookie, TAKE_BURST);
		for (i = 0; i < n; i++)
			settle(slot_begin(ring, ring->taken++, cookie[i]), &cqe[i]);
	} while (n == TAKE_BURST);
}

void
gantry_recv_ring_take(struct gantry_recv_ring *ring)
{
	struct hwq_cqe cqe[TAKE_BURST];
	uint64_t wr_id[TAKE_BURST];
	unsigned int i, n;

	if (target_of(ring) != NULL) {
		take_of_target(ring);
		return;
	}
	if (!next_in_hardware(ring) || ring->conn == NULL)
		return;
	do {
		n = hwq_rq_poll(&ring->conn->qp->rq, cqe, wr_id, TAKE_BURST);
		for (i = 0; i < n; i++) {
			/* Entries of the receive queue complete in the order of their slots. */
			RTE_VERIFY(next_in_hardware(ring));
			settle(gantry_recv_slot(ring, ring->taken++), &cqe[i]);
			if (unlikely(cqe[i].syndrome != 0))
				note_failure(ring, &cqe[i]);
		}
	} while (n == TAKE_BURST);
	next_in_hardware(ring);
}

/* ------------------------------------------------------------------ the end */

/* What a target still has becomes slots that wait, like those of a queue pair. */
static void
leave_target(struct gantry_recv_ring *ring)
{
	uint64_t seq = ring->taken, cookie;
	uint32_t at = 0;

	while (gantry_target_take_back(ring->conn->target, &at, &cookie))
		slot_begin(ring, seq++, cookie)->zero = GANTRY_RECV_IN_HARDWARE;
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
