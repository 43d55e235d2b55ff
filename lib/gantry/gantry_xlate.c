/* SPDX-License-Identifier: BSD-3-Clause */
/* Translates WRITE and READ, and says what is wrong with a descriptor that is refused. */
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

/* The connection of a peer that takes WQEs, or NULL. */
static const struct gantry_conn *
ready_peer(const struct gantry_queue *q, uint16_t peer)
{
	if (peer >= GANTRY_MAX_PEERS || q->conn[GANTRY_CONN_PEER + peer].state != GANTRY_CONN_READY)
		return NULL;
	return &q->conn[GANTRY_CONN_PEER + peer];
}

static bool
is_registered(const struct gantry_queue *q, uint64_t addr, uint64_t len)
{
	return gantry_mem_find(q->mem.table, addr, len) != NULL;
}

enum gantry_status
gantry_xlate_refusal(const struct gantry_queue *q, const struct gantry_desc *d)
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
	if (d->op != GANTRY_OP_READ && !is_registered(q, d->src, d->len))
		return GANTRY_NOT_REGISTERED;
	if (d->op != GANTRY_OP_WRITE && !is_registered(q, d->dst, d->len))
		return GANTRY_NOT_REGISTERED;
	if (is_to_peer(d) && ready_peer(q, d->peer) == NULL)
		return GANTRY_BAD_PEER;
	return GANTRY_DEVICE_LOST;
}

bool
gantry_xlate_peer(struct gantry_queue *q, const struct gantry_desc *d, struct gantry_xlate *x)
{
	bool write = d->op == GANTRY_OP_WRITE;
	const struct gantry_region *local;
	uint64_t remote;

	if (!is_to_peer(d) || !unused_fields_are_zero(d) || ready_peer(q, d->peer) == NULL)
		return false;
	if (write)
		local = gantry_xlate_region(q, &q->mem.src, d->src, d->len);
	else
		local = gantry_xlate_region(q, &q->mem.dst, d->dst, d->len);
	remote = write ? d->dst : d->src;
	if (local == NULL || remote == 0 || overflows(remote, d->len))
		return false;
	*x = (struct gantry_xlate){
		.src = d->src,
		.dst = d->dst,
		.len = d->len,
		.src_key = write ? local->lkey : d->remote_key,
		.dst_key = write ? d->remote_key : local->lkey,
		.conn = GANTRY_CONN_PEER + d->peer,
		.kind = write ? GANTRY_WQE_WRITE : GANTRY_WQE_READ,
	};
	return true;
}
