/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks descriptors by their rules, and finds the keys of their memory. */
#include "gantry_xlate.h"

#include "gantry_engine.h"
#include "gantry_finish.h"
#include "gantry_rule.h"
#include "gantry_sg.h"
#include "gantry_work_next.h"

/* Returns the rules of an operation, or NULL if there is no such operation. */
static const struct gantry_rule *
find_rule(uint8_t op)
{
	return op >= GANTRY_OP_MAX || gantry_rules[op].uses == 0 ? NULL : &gantry_rules[op];
}

bool
gantry_xlate_is_to_peer(const struct gantry_desc *d)
{
	const struct gantry_rule *rule = find_rule(d->op);

	if (rule == NULL || (rule->uses & RULE_PEER) == 0)
		return false;
	return (rule->uses & (RULE_RAW | RULE_TXN)) == 0 || d->peer != GANTRY_PEER_OWN;
}

/* Returns true if all fields that this operation does not use are zero (gantry_desc.h). */
static bool
unused_fields_are_zero(const struct gantry_desc *d, uint32_t uses)
{
	uint16_t flags = GANTRY_DESC_FENCE | ((uses & RULE_CARRIED) != 0 ? GANTRY_DESC_BY_ANY : 0);

	if ((uses & RULE_MAY_BE_EMPTY) != 0 && d->len == 0)
		uses &= ~(RULE_SRC | RULE_DST | RULE_KEY | RULE_SRC_LAYOUT);
	return gantry_rule_is_kept(d, uses, gantry_desc_head_flags(flags));
}

static bool
overflows(uint64_t addr, uint64_t len)
{
	return addr + len < addr;
}

/*
 * Returns true if source and destination have a byte in common. The caller has checked that neither
 * range overflows.
 */
static bool
overlap(const struct gantry_desc *d)
{
	return d->src < d->dst ? d->dst - d->src < d->len : d->src - d->dst < d->len;
}

static bool
len_is_possible(const struct gantry_desc *d, uint32_t uses)
{
	if (d->len == 0)
		return (uses & RULE_MAY_BE_EMPTY) != 0;
	if ((uses & RULE_ATOMIC) != 0 && d->len != sizeof(uint64_t))
		return false;
	if ((uses & RULE_RAW) != 0 && !gantry_work_raw_len_is_possible(d->len))
		return false;
	return !overflows(d->src, d->len) && !overflows(d->dst, d->len);
}

/*
 * Checks addresses that neither a region nor a key checks later. gantry_sg_check() checks the
 * addresses of lists.
 */
static bool
addresses_are_possible(const struct gantry_desc *d, uint32_t uses)
{
	return ((uses & RULE_ATOMIC) == 0 || d->dst % sizeof(uint64_t) == 0) &&
	       ((uses & RULE_RAW) == 0 || d->src != 0);
}

/* Makes the checks that need no queue. Returns GANTRY_OK if they find no error. */
static enum gantry_status
check(const struct gantry_desc *d, const struct gantry_rule *rule)
{
	if (rule == NULL)
		return GANTRY_BAD_OP;
	if (!unused_fields_are_zero(d, rule->uses))
		return GANTRY_BAD_FIELD;
	if ((rule->uses & RULE_LEN) == 0)
		return GANTRY_OK;
	if (!len_is_possible(d, rule->uses))
		return GANTRY_BAD_LENGTH;
	if (!addresses_are_possible(d, rule->uses))
		return GANTRY_BAD_ADDRESS;
	if ((rule->uses & RULE_NEEDS_LAYOUT) != 0)
		return d->layout == 0 ? GANTRY_BAD_LAYOUT : GANTRY_OK;
	if ((rule->uses & RULE_LOCAL_SRC) != 0 && (rule->uses & RULE_LOCAL_DST) != 0 && overlap(d))
		return GANTRY_OVERLAP;
	return GANTRY_OK;
}

/*
 * Returns the status that refuses a descriptor whose connection is not ready. If the connection is
 * under repair, returns GANTRY_OK: the descriptor waits.
 */
static enum gantry_status
check_not_ready(const struct gantry_queue *q, uint32_t conn)
{
	if (gantry_queue_repairs(conn))
		return q->conn[conn].state == GANTRY_CONN_DOWN ? GANTRY_DEVICE_LOST : GANTRY_OK;
	return q->device_lost ? GANTRY_DEVICE_LOST : GANTRY_BAD_PEER;
}

/* Makes the checks that depend on the connection. Returns GANTRY_OK if they find no error. */
static enum gantry_status
check_conn(const struct gantry_queue *q, uint32_t conn, const struct gantry_desc *d,
	const struct gantry_rule *rule)
{
	const struct gantry_conn *c = &q->conn[conn];
	enum gantry_status status = GANTRY_OK;

	if (unlikely(c->state != GANTRY_CONN_READY))
		status = check_not_ready(q, conn);
	if (status != GANTRY_OK)
		return status;
	if ((rule->uses & RULE_RAW) != 0
			? !gantry_work_raw_is_possible(q, conn, (const void *)d->src, d->len)
			: (rule->uses & RULE_ONE_MESSAGE) != 0 && d->len > c->max_len)
		return GANTRY_BAD_LENGTH;
	return GANTRY_OK;
}

/*
 * Returns the connection that carries the operation, or GANTRY_CONN_NONE if there is no such peer.
 */
static uint32_t
find_conn(const struct gantry_queue *q, const struct gantry_desc *d, uint32_t uses)
{
	if ((uses & RULE_PEER) == 0 || ((uses & RULE_RAW) != 0 && d->peer == GANTRY_PEER_OWN))
		return GANTRY_CONN_OWN;
	return gantry_queue_conn_to(q, d->peer);
}

/*
 * Returns the carrier of a copy, or GANTRY_CARRIER_MAX if the flags ask for a carrier that is not
 * possible. limits: bits GANTRY_REGION_NO_* of the memory, whatever the rules say.
 */
static enum gantry_carrier
find_carrier(const struct gantry_queue *q, const struct gantry_desc *d, unsigned int limits)
{
	enum gantry_carrier carrier = gantry_choice_of(&q->choice, d);

	if (unlikely(limits != 0)) {
		const uint32_t mmo = 1u << GANTRY_CARRIER_MMO;

		if ((limits & GANTRY_REGION_NO_MMO) != 0)
			return (d->flags & GANTRY_DESC_BY_ANY & ~GANTRY_DESC_BY_RDMA) == 0
				       ? GANTRY_CARRIER_RDMA
				       : GANTRY_CARRIER_MAX;
		if (carrier == GANTRY_CARRIER_CPU && (d->flags & GANTRY_DESC_BY_ANY) == 0)
			return (q->g->info.carriers & mmo) != 0 ? GANTRY_CARRIER_MMO
								: GANTRY_CARRIER_RDMA;
		if (carrier == GANTRY_CARRIER_CPU)
			return GANTRY_CARRIER_MAX;
	}
	if (carrier == GANTRY_CARRIER_MAX || (q->g->info.carriers & 1u << carrier) == 0)
		return GANTRY_CARRIER_MAX;
	return carrier;
}

/*
 * Makes the work of a COPY, COPY_SG or FILL. src and dst are regions; NULL if the operation has no
 * source or destination, or has a list.
 */
static enum gantry_status
copy_work(struct gantry_queue *q, const struct gantry_desc *d, const struct gantry_rule *rule,
	const struct gantry_region *src, const struct gantry_region *dst, struct gantry_work *w)
{
	unsigned int limits = (src != NULL ? gantry_region_limits(src) : 0) |
			      (dst != NULL ? gantry_region_limits(dst) : 0);
	enum gantry_status status = GANTRY_OK;
	enum gantry_carrier carrier;
	bool mmo;

	if ((rule->uses & RULE_LISTS) != 0)
		status = gantry_sg_check(q, d, &limits);
	if (status != GANTRY_OK)
		return status;
	carrier = find_carrier(q, d, limits);
	if (carrier == GANTRY_CARRIER_MAX)
		return GANTRY_BAD_CARRIER;
	mmo = carrier == GANTRY_CARRIER_MMO;
	*w = (struct gantry_work){
		.src = d->src,
		.dst = d->dst,
		.len = d->len,
		/*
		 * For lists, arg[] begins at 0: it counts the bytes of the current entries that are
		 * done.
		 */
		.arg[0] = d->op == GANTRY_OP_FILL ? d->arg[0] : 0,
		.conn = GANTRY_CONN_OWN,
		.kind = rule->kind,
		.carrier = carrier,
	};
	if (carrier == GANTRY_CARRIER_CPU) {
		w->conn = GANTRY_CONN_NONE;
		/*
		 * The CPU does not copy after the device has failed: the device may still write, so
		 * no fence could keep the order.
		 */
		return q->device_lost ? GANTRY_DEVICE_LOST : GANTRY_TO_HARDWARE;
	}
	status = check_conn(q, GANTRY_CONN_OWN, d, rule);
	if (status != GANTRY_OK)
		return status;
	if (d->op == GANTRY_OP_FILL) {
		if (gantry_fill_init(&q->fill, q->g->dev, q->socket) != 0)
			return GANTRY_NO_RESOURCES;
		src = &(const struct gantry_region){.lkey = q->fill.mr.lkey};
		gantry_work_copy_between(w, src, dst, mmo);
	} else if (d->op == GANTRY_OP_COPY) {
		gantry_work_copy_between(w, src, dst, mmo);
		w->kind = w->copy;
	}
	return GANTRY_TO_HARDWARE;
}

/*
 * For a descriptor with a layout: finds the region of the side without a layout, if this side is
 * local. If this side is remote, *out becomes NULL. Returns GANTRY_OK, GANTRY_NOT_REGISTERED or
 * GANTRY_READ_ONLY.
 */
static enum gantry_status
find_plain_side(struct gantry_queue *q, const struct gantry_desc *d, uint32_t uses,
	const struct gantry_region **out)
{
	*out = NULL;
	if ((uses & (RULE_LOCAL_SRC | RULE_LOCAL_DST)) != (RULE_LOCAL_SRC | RULE_LOCAL_DST))
		return GANTRY_OK;
	*out = (uses & RULE_SRC_LAYOUT) != 0
		       ? gantry_region_find(&q->view, &q->view.dst, d->dst, d->len)
		       : gantry_region_find(&q->view, &q->view.src, d->src, d->len);
	if (*out == NULL)
		return GANTRY_NOT_REGISTERED;
	return (uses & RULE_SRC_LAYOUT) != 0 && (*out)->read_only ? GANTRY_READ_ONLY : GANTRY_OK;
}

/* Returns GANTRY_OK, or the status that refuses the layout. */
static enum gantry_status
check_layout(struct gantry_queue *q, uint32_t conn, const struct gantry_desc *d, uint32_t uses)
{
	bool from = (uses & RULE_SRC_LAYOUT) != 0;
	enum gantry_status status = gantry_keys_prepare(&q->keys, conn, !from, d->layout,
		from ? d->src : d->dst, d->len);

	if (status == GANTRY_OK && (uses & RULE_NEEDS_LAYOUT) != 0)
		status = gantry_keys_check_overlap(&q->keys, from ? d->dst : d->src, d->len);
	return status;
}

/*
 * The own connection posts the UMRs for keys of the DC initiator. Returns GANTRY_OK, or the status
 * that refuses the descriptor if the own connection cannot post the UMR.
 */
static enum gantry_status
check_dc_layout(struct gantry_queue *q)
{
	if (q->conn[GANTRY_CONN_OWN].state == GANTRY_CONN_DOWN)
		return GANTRY_DEVICE_LOST;
	return q->keys.failed == q->conn[GANTRY_CONN_DCI].stream->issue + 1 ? q->keys.failed_status
									    : GANTRY_OK;
}

/*
 * Makes the work of a descriptor with a layout. On the own connection RDMA carries it, because
 * mlx5dv_wr_post(3) promises such keys for RDMA: a gather reads from the key, a scatter writes to
 * the key.
 */
static enum gantry_status
layout_work(struct gantry_queue *q, const struct gantry_desc *d, const struct gantry_rule *rule,
	struct gantry_work *w)
{
	bool from = (rule->uses & RULE_SRC_LAYOUT) != 0;
	uint32_t conn = find_conn(q, d, rule->uses);
	enum gantry_status status = check_layout(q, conn, d, rule->uses);
	const struct gantry_region *plain;
	uint64_t bias;
	uint16_t key;

	if (status == GANTRY_OK)
		status = find_plain_side(q, d, rule->uses, &plain);
	if (status == GANTRY_OK)
		status = check_conn(q, conn, d, rule);
	if (status == GANTRY_OK && conn == GANTRY_CONN_DCI)
		status = check_dc_layout(q);
	if (status != GANTRY_OK)
		return status;
	bias = plain != NULL ? plain->bias : 0;
	/* This call does not need a QP: the own connection may be under repair and have no QP. */
	key = gantry_keys_find(&q->keys, &status);
	if (status != GANTRY_OK)
		return status;
	*w = (struct gantry_work){
		.src = from ? 0 : d->src - bias,
		.dst = from ? d->dst - bias : 0,
		.len = d->len,
		.src_key = plain != NULL ? plain->lkey : d->remote_key,
		.dst_key = plain != NULL ? plain->lkey : d->remote_key,
		.conn = conn,
		.kind = rule->kind,
		.solicited = (d->flags & GANTRY_DESC_SOLICITED) != 0,
		.imm = d->imm,
		.layout = from ? GANTRY_WORK_SRC_LAYOUT : GANTRY_WORK_DST_LAYOUT,
		.key = key,
	};
	if (key != GANTRY_NO_KEY) {
		gantry_work_take_key(q, w, key);
		if (gantry_keys_is_fresh(&q->keys, key))
			w->finish = GANTRY_FINISH_BORROWS;
	}
	if (conn == GANTRY_CONN_DCI)
		gantry_work_set_dc(w, d->peer);
	return GANTRY_TO_HARDWARE;
}

/*
 * Returns true if the source of d is registered. The caller knows that d has no layout, and was
 * refused with GANTRY_NOT_REGISTERED.
 */
static bool
has_source(struct gantry_queue *q, const struct gantry_desc *d, uint32_t uses)
{
	if ((uses & RULE_LISTS) != 0)
		return gantry_sg_has_sources(q, d);
	return (uses & RULE_LOCAL_SRC) == 0 ||
	       gantry_region_find(&q->view, &q->view.src, d->src, d->len) != NULL;
}

__rte_cold enum gantry_side
gantry_xlate_side(struct gantry_queue *q, const struct gantry_desc *d, enum gantry_status status)
{
	if (status == GANTRY_READ_ONLY)
		return GANTRY_SIDE_DST;
	if (status != GANTRY_NOT_REGISTERED || d->layout != 0)
		return GANTRY_SIDE_UNKNOWN;
	return has_source(q, d, gantry_rules[d->op].uses) ? GANTRY_SIDE_DST : GANTRY_SIDE_SRC;
}

enum gantry_status
gantry_xlate(struct gantry_queue *q, const struct gantry_desc *d, struct gantry_work *w)
{
	const struct gantry_region *src = NULL, *dst = NULL, *any;
	const struct gantry_rule *rule = find_rule(d->op);
	enum gantry_status status = check(d, rule);
	uint32_t conn;

	if (status != GANTRY_OK || rule->uses == RULE_IS_OP)
		return d->op == GANTRY_OP_TXN && q->txns.n == 0 ? GANTRY_BAD_OP : status;
	if ((rule->uses & (RULE_ATOMIC | RULE_TXN)) != 0) {
		if ((rule->uses & RULE_TXN) != 0)
			return GANTRY_TO_TXN;
		if (!q->g->info.atomics)
			return GANTRY_BAD_OP;
	}
	if (d->layout != 0)
		return layout_work(q, d, rule, w);
	/* If there is a region of all memory, copies may use memory that no other region covers. */
	any = (rule->uses & RULE_CARRIED) != 0 ? q->view.any : NULL;
	if ((rule->uses & RULE_LOCAL_SRC) != 0 && d->len != 0) {
		src = gantry_region_find(&q->view, &q->view.src, d->src, d->len);
		src = src != NULL ? src : any;
		if (src == NULL)
			return GANTRY_NOT_REGISTERED;
	}
	if ((rule->uses & RULE_LOCAL_DST) != 0) {
		dst = gantry_region_find(&q->view, &q->view.dst, d->dst, d->len);
		dst = dst != NULL ? dst : any;
		if (dst == NULL)
			return GANTRY_NOT_REGISTERED;
		if (dst->read_only)
			return GANTRY_READ_ONLY;
	}
	if ((rule->uses & RULE_CARRIED) != 0)
		return copy_work(q, d, rule, src, dst, w);
	conn = find_conn(q, d, rule->uses);
	status = check_conn(q, conn, d, rule);
	if (status != GANTRY_OK)
		return status;
	*w = (struct gantry_work){
		.src = d->src - (src != NULL ? src->bias : 0),
		.dst = d->dst - (dst != NULL ? dst->bias : 0),
		.len = d->len,
		.no_inline = src != NULL && src->bias != 0,
		.src_key = src != NULL ? src->lkey : d->remote_key,
		.dst_key = dst != NULL ? dst->lkey : d->remote_key,
		.conn = conn,
		.kind = rule->kind,
		.solicited = (d->flags & GANTRY_DESC_SOLICITED) != 0,
		.imm = d->imm,
		.arg = {d->arg[0], d->arg[1]},
	};
	if (unlikely(conn == GANTRY_CONN_DCI))
		gantry_work_set_dc(w, d->peer);
	return GANTRY_TO_HARDWARE;
}
