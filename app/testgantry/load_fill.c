/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Makes the descriptors of a lane: each has an operation, a place (load_lane.h) and a connection.
 */
#include <inttypes.h>
#include <stdlib.h>

#include <rte_common.h>

#include "load_lane.h"
#include "report.h"
#include "sig_guard.h"

#define CACHE_LINE   64
#define RESPONSE_LEN 16

/** A transaction, with the objects that it points to. */
struct load_txn {
	struct gantry_txn txn;
	struct gantry_sge blocks;
	struct gantry_txn_part part;
};

static uint64_t
value_of(const struct load_lane *l, enum load_axis axis)
{
	return l->shared->point.value[axis];
}

/* Returns the key of the memory at the peer that descriptor i uses. */
static uint32_t
key_of(const struct load_lane *l, uint32_t i)
{
	return gantry_mem_remote_key(l->target->mem[lane_region(l->target, l->place[i])]);
}

/* ------------------------------------------------------------------ drawing */

/*
 * Gives each descriptor a place. All places are used once, in random order, before a place is used
 * again. There are at least as many descriptors as places.
 */
static void
deal_places(struct load_lane *l, uint64_t *random)
{
	for (uint32_t i = 0; i < l->n_places; i++) {
		uint32_t k = lane_draw(random, i + 1);

		l->place[i] = l->place[k];
		l->place[k] = i;
	}
	for (uint32_t i = l->n_places; i < l->n_desc; i++)
		l->place[i] = l->place[i - l->n_places];
}

/*
 * Spreads the operations of the mix evenly. The next operation is always the one whose share is
 * furthest below its weight.
 */
static void
spread_ops(struct load_lane *l, const struct load_mix *mix)
{
	int64_t behind[LOAD_OPS] = {0};
	int most;

	for (uint32_t n = 0; n < mix->sum; n++) {
		most = 0;
		for (int op = 0; op < LOAD_OPS; op++) {
			behind[op] += mix->weight[op];
			if (behind[op] > behind[most])
				most = op;
		}
		behind[most] -= mix->sum;
		l->op[n] = most;
	}
}

/* Gives each descriptor an operation by repeating the mix, in random order or evenly spread. */
static void
deal_ops(struct load_lane *l, const struct load_mix *mix, uint64_t *random)
{
	uint32_t n = 0;

	for (int op = 0; op < LOAD_OPS; op++) {
		for (uint32_t i = 0; i < mix->weight[op]; i++, n++) {
			uint32_t k = lane_draw(random, n + 1);

			l->op[n] = l->op[k];
			l->op[k] = op;
		}
	}
	if (l->shared->opt->load.order == LOAD_ORDER_EVEN)
		spread_ops(l, mix);
	for (uint32_t i = mix->sum; i < l->n_desc; i++)
		l->op[i] = l->op[i - mix->sum];
}

/*
 * Gives each operation with a layout one of --layouts base addresses. The operations of one kind
 * use these addresses one after the other.
 */
static void
deal_bases(struct load_lane *l)
{
	uint32_t turn[LOAD_OPS] = {0};

	for (uint32_t i = 0; i < l->n_desc; i++)
		l->base_place[i] = load_op_has_layout(&load_ops[l->op[i]])
					   ? l->place[turn[l->op[i]]++ % value_of(l, AXIS_LAYOUTS)]
					   : l->place[i];
}

/* ------------------------------------------------------------------ a descriptor */

/* Fills both lists of a descriptor with all pieces of its source and destination. */
static void
fill_lists(struct load_lane *l, uint32_t i, struct gantry_desc *d)
{
	const uint64_t n = value_of(l, AXIS_SGE), size = value_of(l, AXIS_SIZE);
	struct gantry_sge *from = &l->list[i * 2 * n], *to = from + n;
	uint64_t at = 0, len;

	d->src = (uintptr_t)from;
	d->dst = (uintptr_t)to;
	d->arg[0] = n | n << 32;
	for (; at < size; at += len, from++, to++) {
		*from = (struct gantry_sge){.addr = (uintptr_t)lane_from(l, i, at, &len)};
		from->len = len;
		*to = (struct gantry_sge){.addr = (uintptr_t)lane_to(l, i, at, &len), .len = len};
	}
}

/*
 * Makes a transaction that writes the place's blocks to the peer. Their signatures are checked and
 * not sent.
 */
static void
fill_txn(struct load_lane *l, uint32_t i, struct gantry_desc *d)
{
	static const uint8_t response[RESPONSE_LEN];
	const struct options *o = l->shared->opt;
	struct load_txn *t = &l->txn[l->place[i]];
	uint64_t len;

	t->blocks = (struct gantry_sge){
		.addr = (uintptr_t)lane_from(l, i, 0, &len),
		.len = d->len / o->block_size * (o->block_size + sig_len(o->guard)),
	};
	t->part = (struct gantry_txn_part){
		.addr = (uintptr_t)lane_to(l, i, 0, &len),
		.len = d->len,
		.remote_key = key_of(l, i),
	};
	t->txn = (struct gantry_txn){
		.profile = l->shared->profile,
		.op = GANTRY_OP_WRITE,
		.data = &t->blocks,
		.n_data = 1,
		.part = &t->part,
		.n_parts = 1,
		.mem = {.app_tag = sig_has_tags(o->guard) ? SIG_APP_TAG : 0},
		.good = {.addr = (uintptr_t)response, .len = sizeof(response)},
		.bad = {.addr = (uintptr_t)response, .len = sizeof(response)},
	};
	d->src = (uintptr_t)&t->txn;
	d->peer = l->txn_conns.near[i % l->txn_conns.n];
}

static void
fill_peer(struct load_lane *l, uint32_t i, const struct load_op *op, struct gantry_desc *d)
{
	d->peer = l->conns.near[i % l->conns.n];
	if (op->to != TO_RECEIVE)
		d->remote_key = key_of(l, i);
	if (op->op == GANTRY_OP_WRITE_IMM)
		d->imm = i;
	if (op->to == TO_COUNTER) {
		d->dst = (uintptr_t)lane_counter(l, i);
		/* GANTRY_OP_CMP_SWP compares with 0 and swaps in 0 */
		d->arg[0] = op->op == GANTRY_OP_FETCH_ADD;
	}
}

/* Returns the flags of descriptor i for --fence and --by. */
static uint16_t
flags_of(const struct load_lane *l, uint32_t i)
{
	static const uint16_t by[] = {
		[GANTRY_CARRIER_USUAL] = 0,
		[GANTRY_CARRIER_CPU] = GANTRY_DESC_BY_CPU,
		[GANTRY_CARRIER_MMO] = GANTRY_DESC_BY_MMO,
		[GANTRY_CARRIER_RDMA] = GANTRY_DESC_BY_RDMA,
	};
	const struct load_conf *conf = &l->shared->opt->load;

	return (conf->fence != 0 && (i + 1) % conf->fence == 0 ? GANTRY_DESC_FENCE : 0) |
	       (load_op_has_carrier(&load_ops[l->op[i]]) ? by[conf->by] : 0);
}

/* Makes descriptor i. n_fills: number of fills before this descriptor. */
static void
fill_desc(struct load_lane *l, uint32_t i, uint32_t n_fills)
{
	const struct load_op *op = &load_ops[l->op[i]];
	struct gantry_desc *d = &l->desc[i];
	uint64_t len;

	*d = (struct gantry_desc){
		.op = op->op,
		.flags = flags_of(l, i),
		.cookie = i,
		.len = load_op_len(op, value_of(l, AXIS_SIZE)),
	};
	if (load_op_is_txn(op)) {
		fill_txn(l, i, d);
		return;
	}
	if (op->from == FROM_PATTERN)
		d->arg[0] = l->pattern[n_fills % l->shared->opt->load.patterns];
	else if (op->from != FROM_NOTHING)
		d->src = (uintptr_t)lane_from(l, i, 0, &len);
	if (op->to != TO_COUNTER && op->to != TO_RECEIVE)
		d->dst = (uintptr_t)lane_to(l, i, 0, &len);
	if (load_op_has_layout(op))
		d->layout = l->shared->layout;
	if (op->from == FROM_LIST)
		fill_lists(l, i, d);
	if (load_op_has_peer(op))
		fill_peer(l, i, op, d);
}

/* ------------------------------------------------------------------ the order of completions */

/*
 * Returns the stream of a descriptor in an unordered queue. All DC peers together count as one
 * connection.
 */
static uint32_t
stream_of(const struct load_lane *l, uint32_t i)
{
	const struct load_op *op = &load_ops[l->op[i]];

	if (!load_op_has_peer(op))
		return 0;
	if (load_op_is_txn(op))
		return 1 + l->conns.n + i % l->txn_conns.n;
	return l->shared->opt->load.transport == GANTRY_TRANSPORT_DC ? 1 : 1 + i % l->conns.n;
}

/*
 * For an unordered queue: finds the stream of each descriptor, and the next descriptor of the same
 * stream. Returns 0, or -1 with the error printed.
 */
static int
track_order(struct load_lane *l)
{
	uint32_t s;

	l->order.stream = calloc(l->n_desc, sizeof(l->order.stream[0]));
	l->order.next = calloc(l->n_desc, sizeof(l->order.next[0]));
	l->order.out = calloc(l->n_desc, sizeof(l->order.out[0]));
	l->order.expected = calloc(1 + l->conns.n + l->txn_conns.n, sizeof(l->order.expected[0]));
	if (l->order.stream == NULL || l->order.next == NULL || l->order.out == NULL ||
		l->order.expected == NULL) {
		error_print("out of memory for the order of %" PRIu32 " descriptors", l->n_desc);
		return -1;
	}
	/*
	 * The loop goes twice from the last descriptor to the first, because the descriptors are
	 * submitted again and again: after the last descriptor of a stream comes the first of the
	 * stream.
	 */
	for (uint32_t i = 2 * l->n_desc; i-- > 0;) {
		s = stream_of(l, i % l->n_desc);
		l->order.stream[i % l->n_desc] = s;
		l->order.next[i % l->n_desc] = l->order.expected[s];
		l->order.expected[s] = i % l->n_desc;
	}
	return 0;
}

/* ------------------------------------------------------------------ all of them */

static bool
has_lists(const struct load_op *op)
{
	return op->from == FROM_LIST;
}

int
lane_fill(struct load_lane *l, uint64_t *random)
{
	const struct load_mix *mix = &l->shared->opt->load.mix;
	const bool lists = load_mix_has(mix, has_lists), txns = load_mix_has(mix, load_op_is_txn);
	uint32_t n_fills = 0;

	l->n_desc = (l->n_places + mix->sum - 1) / mix->sum * mix->sum;
	l->desc = aligned_alloc(CACHE_LINE, l->n_desc * sizeof(l->desc[0]));
	l->op = calloc(l->n_desc, sizeof(l->op[0]));
	l->place = calloc(l->n_desc, sizeof(l->place[0]));
	l->base_place = calloc(l->n_desc, sizeof(l->base_place[0]));
	l->begin = calloc(l->n_desc, sizeof(l->begin[0]));
	if (lists)
		l->list = calloc(l->n_desc, 2 * value_of(l, AXIS_SGE) * sizeof(l->list[0]));
	if (txns)
		l->txn = calloc(l->n_places, sizeof(l->txn[0]));
	if (l->desc == NULL || l->op == NULL || l->place == NULL || l->base_place == NULL ||
		l->begin == NULL || (lists && l->list == NULL) || (txns && l->txn == NULL)) {
		error_print("out of memory for %" PRIu32 " descriptors: lower --depth or --regions",
			l->n_desc);
		return -1;
	}
	deal_places(l, random);
	deal_ops(l, mix, random);
	deal_bases(l);
	for (uint32_t i = 0; i < l->n_desc; i++) {
		fill_desc(l, i, n_fills);
		n_fills += load_op_is_fill(&load_ops[l->op[i]]);
	}
	return l->shared->opt->load.unordered ? track_order(l) : 0;
}

void
lane_free(struct load_lane *l)
{
	free(l->order.stream);
	free(l->order.next);
	free(l->order.expected);
	free(l->order.out);
	free(l->begin);
	free(l->txn);
	free(l->list);
	free(l->base_place);
	free(l->place);
	free(l->op);
	free(l->desc);
}
