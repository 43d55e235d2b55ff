/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of descriptors, one row for each operation, and the keys of the memory they name. */
#include "gantry_xlate.h"

/* Which fields of a descriptor an operation uses, besides op, flags and cookie. */
enum {
	USES_MEMORY = 1 << 0, /* src, dst and len */
	USES_PEER = 1 << 1,   /* peer and remote_key */
	LOCAL_SRC = 1 << 2,   /* src must be registered here; without it, src is at the peer */
	LOCAL_DST = 1 << 3,   /* dst must be registered here; without it, dst is at the peer */
};

/* One row for each operation. A new operation needs a row here and a kind in gantry_work.h. */
static const struct op_rule {
	uint8_t uses;
	uint8_t kind; /* enum gantry_work_kind; of COPY, the queue decides */
} rules[GANTRY_OP_MAX] = {
	[GANTRY_OP_NOP] = {0},
	[GANTRY_OP_COPY] = {USES_MEMORY | LOCAL_SRC | LOCAL_DST},
	[GANTRY_OP_WRITE] = {USES_MEMORY | USES_PEER | LOCAL_SRC, GANTRY_WORK_WRITE},
	[GANTRY_OP_READ] = {USES_MEMORY | USES_PEER | LOCAL_DST, GANTRY_WORK_READ},
};

/* NULL: there is no such operation. */
static const struct op_rule *
find_rule(uint8_t op)
{
	return op == 0 || op >= GANTRY_OP_MAX ? NULL : &rules[op];
}

bool
gantry_xlate_is_to_peer(const struct gantry_desc *d)
{
	const struct op_rule *rule = find_rule(d->op);

	return rule != NULL && (rule->uses & USES_PEER) != 0;
}

/* Fields that no operation of today uses, or not this one, must be zero: gantry_desc.h. */
static bool
unused_fields_are_zero(const struct gantry_desc *d, unsigned int uses)
{
	if (d->zero != 0 || d->layout != 0 || d->imm != 0 || d->arg[0] != 0 || d->arg[1] != 0 ||
		(d->flags & ~GANTRY_DESC_FENCE) != 0)
		return false;
	if ((uses & USES_PEER) == 0 && (d->peer != 0 || d->remote_key != 0))
		return false;
	return (uses & USES_MEMORY) != 0 || (d->src | d->dst | d->len) == 0;
}

static bool
overflows(uint64_t addr, uint64_t len)
{
	return addr + len < addr;
}

/* True: source and destination have a byte in common. Neither range overflows. */
static bool
overlap(const struct gantry_desc *d)
{
	return d->src < d->dst ? d->dst - d->src < d->len : d->src - d->dst < d->len;
}

static bool
peer_is_ready(const struct gantry_queue *q, uint16_t peer)
{
	return q->conn[gantry_queue_peer_conn(q, peer)].state == GANTRY_CONN_READY;
}

/*
 * The region that covers [addr, addr + len), or NULL. *hit is the last one found; it is tried
 * first.
 */
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

/* Checks what can be checked without the queue. GANTRY_OK: nothing is wrong. */
static enum gantry_status
check(const struct gantry_desc *d, const struct op_rule *rule)
{
	if (rule == NULL)
		return GANTRY_BAD_OP;
	if (!unused_fields_are_zero(d, rule->uses))
		return GANTRY_BAD_FIELD;
	if ((rule->uses & USES_MEMORY) == 0)
		return GANTRY_OK;
	if (d->len == 0 || overflows(d->src, d->len) || overflows(d->dst, d->len))
		return GANTRY_BAD_LENGTH;
	if (d->src == 0 || d->dst == 0)
		return GANTRY_BAD_ADDRESS;
	if ((rule->uses & USES_PEER) == 0 && overlap(d))
		return GANTRY_OVERLAP;
	return GANTRY_OK;
}

enum gantry_status
gantry_xlate(struct gantry_queue *q, const struct gantry_desc *d, struct gantry_work *w)
{
	const struct gantry_region *src = NULL, *dst = NULL;
	const struct op_rule *rule = find_rule(d->op);
	enum gantry_status status = check(d, rule);

	if (status != GANTRY_OK || rule->uses == 0)
		return status;
	if ((rule->uses & LOCAL_SRC) != 0) {
		src = find_region(q, &q->view.src, d->src, d->len);
		if (src == NULL)
			return GANTRY_NOT_REGISTERED;
	}
	if ((rule->uses & LOCAL_DST) != 0) {
		dst = find_region(q, &q->view.dst, d->dst, d->len);
		if (dst == NULL)
			return GANTRY_NOT_REGISTERED;
	}
	if ((rule->uses & USES_PEER) != 0 && !peer_is_ready(q, d->peer))
		return GANTRY_BAD_PEER;
	if ((rule->uses & USES_PEER) == 0) {
		if (q->lost)
			return GANTRY_DEVICE_LOST;
		*w = gantry_xlate_easy(d, src, dst, q->mmo);
		return GANTRY_TO_HARDWARE;
	}
	*w = (struct gantry_work){
		.src = d->src,
		.dst = d->dst,
		.len = d->len,
		.src_key = src != NULL ? src->lkey : d->remote_key,
		.dst_key = dst != NULL ? dst->lkey : d->remote_key,
		.conn = gantry_queue_peer_conn(q, d->peer),
		.kind = rule->kind,
	};
	return GANTRY_TO_HARDWARE;
}
