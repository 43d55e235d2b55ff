/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a descriptor by every rule, and turns it into what the hardware is to do. */
#include "gantry_xlate.h"

static bool
is_to_peer(const struct gantry_desc *d)
{
	return d->op == GANTRY_OP_WRITE || d->op == GANTRY_OP_READ;
}

/* Fields that the operation does not use must be zero: they may mean something one day. */
static bool
unused_fields_are_zero(const struct gantry_desc *d)
{
	bool nop = d->op == GANTRY_OP_NOP;

	if (d->zero != 0 || d->layout != 0 || d->imm != 0 || d->arg[0] != 0 || d->arg[1] != 0 ||
		(d->flags & ~GANTRY_DESC_FENCE) != 0)
		return false;
	if (!is_to_peer(d) && (d->peer != 0 || d->remote_key != 0))
		return false;
	return !nop || (d->src | d->dst | d->len) == 0;
}

static bool
overflows(uint64_t addr, uint64_t len)
{
	return addr + len < addr;
}

static bool
peer_is_ready(const struct gantry_queue *q, uint16_t peer)
{
	return peer < GANTRY_MAX_PEERS &&
	       q->conn[GANTRY_CONN_PEER + peer].state == GANTRY_CONN_READY;
}

/* Looks [addr, addr + len) up, first where the last look-up through *hit ended. */
static const struct gantry_region *
find_region(const struct gantry_queue *q, const struct gantry_region **hit, uint64_t addr,
	uint64_t len)
{
	const struct gantry_region *r = *hit;

	if (gantry_region_hit(r, addr, len))
		return r;
	r = gantry_region_find(q->view.table, addr, len);
	if (r != NULL)
		*hit = r;
	return r;
}

/* What is wrong with the descriptor by itself. GANTRY_OK: nothing. */
static enum gantry_status
check(const struct gantry_desc *d)
{
	if (d->op == 0 || d->op >= GANTRY_OP_MAX)
		return GANTRY_BAD_OP;
	if (!unused_fields_are_zero(d))
		return GANTRY_BAD_FIELD;
	if (d->op == GANTRY_OP_NOP)
		return GANTRY_OK;
	if (d->len == 0 || overflows(d->src, d->len) || overflows(d->dst, d->len))
		return GANTRY_BAD_LENGTH;
	if (d->src == 0 || d->dst == 0)
		return GANTRY_BAD_ADDRESS;
	return GANTRY_OK;
}

enum gantry_status
gantry_xlate(struct gantry_queue *q, const struct gantry_desc *d, struct gantry_work *x)
{
	const struct gantry_region *src = NULL, *dst = NULL;
	enum gantry_status status = check(d);

	if (status != GANTRY_OK || d->op == GANTRY_OP_NOP)
		return status;
	if (d->op != GANTRY_OP_READ) {
		src = find_region(q, &q->view.src, d->src, d->len);
		if (src == NULL)
			return GANTRY_NOT_REGISTERED;
	}
	if (d->op != GANTRY_OP_WRITE) {
		dst = find_region(q, &q->view.dst, d->dst, d->len);
		if (dst == NULL)
			return GANTRY_NOT_REGISTERED;
	}
	if (is_to_peer(d) && !peer_is_ready(q, d->peer))
		return GANTRY_BAD_PEER;
	if (q->lost)
		return GANTRY_DEVICE_LOST;
	if (d->op == GANTRY_OP_COPY) {
		*x = gantry_xlate_easy(d, src, dst, q->mmo);
		return GANTRY_TO_HARDWARE;
	}
	*x = (struct gantry_work){
		.src = d->src,
		.dst = d->dst,
		.len = d->len,
		.src_key = src != NULL ? src->lkey : d->remote_key,
		.dst_key = dst != NULL ? dst->lkey : d->remote_key,
		.conn = GANTRY_CONN_PEER + d->peer,
		.kind = src != NULL ? GANTRY_WQE_WRITE : GANTRY_WQE_READ,
	};
	return GANTRY_TO_HARDWARE;
}
