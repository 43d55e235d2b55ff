/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The descriptors of a lane: which operation, in which place, over which connection.
 */
#include <inttypes.h>
#include <stdlib.h>

#include <rte_common.h>

#include "load_lane.h"
#include "report.h"
#include "sig_guard.h"

#define CACHE_LINE   64
#define RESPONSE_LEN 16

/** A transaction, with all that it points to. */
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

/* The key of descriptor i's place at the peer. */
static uint32_t
key_of(const struct load_lane *l, uint32_t i)
{
	return gantry_mem_remote_key(l->target->mem[l->place[i] / l->region_places]);
}

/* ------------------------------------------------------------------ dealing */

/* All places in random order, and again until each descriptor has one: there are not less of these. */
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

/* As many of each operation as the mix says, in random order, and again. */
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
	for (uint32_t i = mix->sum; i < l->n_desc; i++)
		l->op[i] = l->op[i - mix->sum];
}

/* The layout of each operation lies in --layouts places in turn. */
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

/* Its lists name all pieces. */
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

/* A transaction that writes the place's blocks to the peer, without their signatures, if these are right. */
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
		/* Swapped is 0 with 0. */
		d->arg[0] = op->op == GANTRY_OP_FETCH_ADD;
	}
}

static void
fill_desc(struct load_lane *l, uint32_t i)
{
	const struct load_op *op = &load_ops[l->op[i]];
	struct gantry_desc *d = &l->desc[i];
	uint64_t len;

	*d = (struct gantry_desc){
		.op = op->op,
		.cookie = i,
		.len = load_op_len(op, value_of(l, AXIS_SIZE)),
	};
	if (load_op_is_txn(op)) {
		fill_txn(l, i, d);
		return;
	}
	if (op->from == FROM_PATTERN)
		d->arg[0] = l->pattern;
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
	for (uint32_t i = 0; i < l->n_desc; i++)
		fill_desc(l, i);
	return 0;
}

void
lane_free(struct load_lane *l)
{
	free(l->begin);
	free(l->txn);
	free(l->list);
	free(l->base_place);
	free(l->place);
	free(l->op);
	free(l->desc);
}
