/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves the bytes of work requests in an order that a seed chooses: order.h. */
#include "order.h"

#include <stdlib.h>

#include "chance.h"
#include "key.h"

#define WQES      32 /* maximum of WQEs that are held back; a power of two */
#define PIECES    512
#define MAX_CUTS  8         /* one piece of memory is cut into about this number of pieces */
#define CUT_LEN   64        /* pieces begin at multiples of a cache line */
#define VALUE_LEN 8         /* bytes of an atomic's result */
#define EARLY_MAX (1 << 20) /* maximum of bytes of one write that are copied early */

/* The kind of a WQE for the rules of order. */
enum kind {
	KIND_OTHER = 0, /* bytes of this WQE, if any, move at once */
	KIND_MEMCPY = 1 << 0,
	KIND_WRITE = 1 << 1,
	KIND_WRITE_RELAXED = 1 << 2, /* to memory with IBV_ACCESS_RELAXED_ORDERING */
	KIND_READ = 1 << 3,
	KIND_ATOMIC = 1 << 4,
	/* the WQE changes a key or a PSV: it has an effect instead of bytes */
	KIND_CONFIG = 1 << 5,
	KIND_WRITES = KIND_WRITE | KIND_WRITE_RELAXED,
	KIND_LOCAL = KIND_MEMCPY | KIND_CONFIG,
	KIND_ALL = KIND_LOCAL | KIND_WRITES | KIND_READ | KIND_ATOMIC
};

/* A WQE that has succeeded but is not completed yet. */
struct held {
	enum kind kind;
	unsigned int left; /* pieces that have not moved yet */
	bool completes;
	uint16_t index;
	uint32_t opcode, byte_cnt;
	/*
	 * For an atomic: its result, which is the source of its piece. With `effect`: the argument
	 * of `effect`.
	 */
	uint64_t value;
	void *early;          /* early copy of the bytes of a write, or NULL */
	order_effect *effect; /* called instead of moving bytes, or NULL */
	void *object;
};

struct piece {
	void *dst;
	const void *src;
	uint64_t len;
	struct held *of;
};

struct order {
	uint64_t random;
	/* The WQEs held back, as free-running indices. `next` is the index of the running WQE. */
	unsigned int first, next;
	bool holds; /* the running WQE's bytes are held back */
	unsigned int n;
	struct piece v[PIECES];
	struct held wqe[WQES];
};

/* ---- chance */

static unsigned int
draw(struct order *o, unsigned int n)
{
	return chance_draw(&o->random, n);
}

static struct order *
order_of(struct run *run)
{
	struct softhca_uar *uar = run->qp->uar;

	if (uar->order == NULL) {
		uar->order = calloc(1, sizeof(*uar->order));
		if (uar->order != NULL)
			uar->order->random = chance_first(uar->dev->cfg->reorder, uar->page_id);
	}
	return uar->order;
}

/* ---- moving */

static struct held *
held_at(struct order *o, unsigned int i)
{
	return &o->wqe[i & (WQES - 1)];
}

static void
move_piece(struct order *o, unsigned int i)
{
	struct piece p = o->v[i];

	if (p.of->effect != NULL)
		p.of->effect(p.of->object, p.of->value);
	else
		piece_copy(p.dst, p.src, p.len);
	p.of->left--;
	o->v[i] = o->v[--o->n];
}

static void
shuffle(struct order *o)
{
	for (unsigned int i = o->n; i > 1; i--) {
		unsigned int j = draw(o, i);
		struct piece p = o->v[i - 1];

		o->v[i - 1] = o->v[j];
		o->v[j] = p;
	}
}

/* Moves all pieces of WQEs of these kinds. */
static void
move_kinds(struct order *o, unsigned int kinds)
{
	if (kinds == 0 || o->n == 0)
		return;
	shuffle(o);
	for (unsigned int i = o->n; i-- != 0;)
		if ((o->v[i].of->kind & kinds) != 0)
			move_piece(o, i);
}

static void
move_one(struct order *o, const struct held *held)
{
	shuffle(o);
	for (unsigned int i = o->n; i-- != 0;)
		if (o->v[i].of == held)
			move_piece(o, i);
}

static void
move_some(struct order *o)
{
	for (unsigned int left = draw(o, o->n + 1); left != 0; left--)
		move_piece(o, draw(o, o->n));
}

/* ---- completing */

static void
complete(struct run *run, const struct held *held)
{
	const struct cqe cqe = {.opcode = CQE_REQ,
		.uidx = run->qp->uidx,
		.byte_cnt = held->byte_cnt,
		.opcode_qpn = held->opcode << 24 | run->qp->number,
		.wqe_counter = held->index,
		.syndrome = SYN_OK,
		.timestamp = run_now(run)};

	run_hold_cq(run, run->qp->send_cq);
	cq_push(run->qp->send_cq, &cqe);
}

/* Completes WQEs, oldest first, up to the first WQE that still has pieces to move. */
static void
complete_some(struct run *run, struct order *o)
{
	for (; o->first != o->next && held_at(o, o->first)->left == 0; o->first++) {
		struct held *held = held_at(o, o->first);

		if (held->completes)
			complete(run, held);
		free(held->early);
		held->early = NULL;
	}
}

void
order_settle_all(struct run *run)
{
	struct order *o = run->qp->uar->order;

	if (o->n != 0)
		run_drop_cq(run);
	move_kinds(o, KIND_ALL);
	complete_some(run, o);
	free(held_at(o, o->next)->early); /* allocated for a WQE that then failed */
	*held_at(o, o->next) = (struct held){.kind = KIND_OTHER};
	o->holds = false;
}

/* ---- one WQE */

static enum kind
kind_of(const struct wqe *wqe)
{
	switch (wqe_opcode(wqe)) {
	case OPC_MMO:
		return KIND_MEMCPY;
	case OPC_WRITE:
		return KIND_WRITE;
	case OPC_READ:
		return KIND_READ;
	case OPC_ATOMIC_CS:
	case OPC_ATOMIC_FA:
		return KIND_ATOMIC;
	case OPC_UMR:
	case OPC_SET_PSV:
		return KIND_CONFIG;
	default:
		return KIND_OTHER;
	}
}

/*
 * The kinds of WQEs that the fence of a WQE waits for: ibv_post_send(3), mlx5dv_wr_post(3). The
 * small fence waits for local operations of the same send queue (openucx/ucx, pull request 11399,
 * about the PRM). The strong fence alone does not wait for local operations: Linux's mlx5_ib sets
 * both fences in a fenced request after a registration (drivers/infiniband/hw/mlx5/wr.c), and
 * libmlx5 sets both fences in each fenced request.
 */
static unsigned int
fence_waits_for(const struct wqe *wqe)
{
	switch (wqe_fence(wqe)) {
	case FM_NONE:
		return 0;
	case FM_SMALL:
		return KIND_LOCAL;
	case FM_FENCE:
		return KIND_READ | KIND_ATOMIC;
	case FM_SMALL_AND_FENCE:
		return KIND_READ | KIND_ATOMIC | KIND_LOCAL;
	default:
		return KIND_ALL;
	}
}

/* The kinds of WQEs whose bytes must have moved before this WQE runs, by the order of messages. */
static unsigned int
must_be_done(const struct wqe *wqe, enum kind kind)
{
	if (kind == KIND_READ || kind == KIND_ATOMIC)
		return KIND_WRITES | KIND_READ | KIND_ATOMIC;
	/* The memory of a write decides what the write waits for: order_write(). */
	if (kind == KIND_WRITE)
		return 0;
	/*
	 * A WQE that is checked against a key, or that changes part of a key, needs the current
	 * key. So all earlier changes of keys and PSVs must have taken effect.
	 */
	if (kind == KIND_CONFIG)
		return KIND_CONFIG;
	/*
	 * A message may complete a receive. A program that sees this completion must also see the
	 * data of all earlier writes.
	 */
	return wqe->op->local ? 0 : KIND_WRITES;
}

bool
order_pauses(struct run *run)
{
	struct order *o = order_of(run);

	return o != NULL && draw(o, 8) == 0;
}

bool
order_begin(struct run *run, const struct wqe *wqe)
{
	struct order *o = order_of(run);
	const enum kind kind = kind_of(wqe);
	struct held *held;

	if (o == NULL)
		return false;
	if (o->next - o->first == WQES)
		move_one(o, held_at(o, o->first));
	move_kinds(o, fence_waits_for(wqe) | must_be_done(wqe, kind));
	if (draw(o, 4) == 0)
		move_some(o);
	complete_some(run, o);
	held = held_at(o, o->next);
	*held = (struct held){.kind = kind};
	o->holds = kind != KIND_OTHER && draw(o, 8) != 0;
	return true;
}

void
order_end(struct run *run, const struct wqe *wqe, bool completes)
{
	struct order *o = run->qp->uar->order;
	struct held *held = held_at(o, o->next++);

	held->completes = completes;
	held->index = run->qp->sq_ci;
	held->opcode = wqe_opcode(wqe);
	held->byte_cnt = run->byte_cnt;
	o->holds = false;
}

bool
order_delay(struct run *run, order_effect *effect, void *object, uint64_t value)
{
	struct order *o = run->qp->uar->order;
	struct held *held;

	if (o == NULL || !o->holds || o->n == PIECES)
		return false;
	held = held_at(o, o->next);
	held->effect = effect;
	held->object = object;
	held->value = value;
	held->left = 1;
	o->v[o->n++] = (struct piece){.of = held};
	return true;
}

/* ---- cutting */

static void *
at(const void *p, uint64_t off)
{
	return p == SINK ? SINK : (char *)(uintptr_t)p + off;
}

/* Adds the range [dst, dst+len) in pieces of `cut` bytes that begin at multiples of CUT_LEN. */
static bool
cut_range(struct order *o, struct held *held, void *dst, const void *src, uint64_t len,
	uint64_t cut)
{
	uint64_t n = cut - (uintptr_t)dst % CUT_LEN;

	for (uint64_t off = 0; off < len; off += n, n = cut) {
		if (n > len - off)
			n = len - off;
		if (o->n == PIECES)
			return false;
		o->v[o->n++] = (struct piece){at(dst, off), at(src, off), n, held};
		held->left++;
	}
	return true;
}

static bool
cut_lists(struct order *o, struct held *held, const struct sg *dst, const struct sg *src)
{
	const struct sg_piece *d = sg_pieces(dst), *s = sg_pieces(src);
	const uint64_t about = src->len / (1 + draw(o, MAX_CUTS));
	const uint64_t cut = (about / CUT_LEN + 1) * CUT_LEN;
	uint64_t d_off = 0, s_off = 0, n;

	for (uint64_t left = src->len; left != 0; left -= n) {
		n = d->len - d_off < s->len - s_off ? d->len - d_off : s->len - s_off;
		if (n > left)
			n = left;
		if (!cut_range(o, held, at(d->p, d_off), at(s->p, s_off), n, cut))
			return false;
		d_off += n;
		s_off += n;
		if (d_off == d->len) {
			d++;
			d_off = 0;
		}
		if (s_off == s->len) {
			s++;
			s_off = 0;
		}
	}
	return true;
}

/*
 * Writes arrive in the order of posting. But the requester may read a write's source before an
 * earlier write has arrived. Returns the list to copy from: the early copy, or src.
 */
static const struct sg *
order_write(struct order *o, struct held *held, const struct sg *dst, const struct sg *src,
	struct sg *early)
{
	const bool relaxed = (dst->rare & ACC_LATER_RELAXED) != 0;

	if (o->n != 0 && (src->rare & ACC_ON_DEMAND) == 0 && src->len <= EARLY_MAX &&
		draw(o, 2) == 0)
		held->early = malloc(src->len);
	if (held->early != NULL) {
		sg_set(early, held->early, src->len);
		sg_copy(early, src);
	}
	move_kinds(o, relaxed ? KIND_WRITE : KIND_WRITES);
	if (relaxed)
		held->kind = KIND_WRITE_RELAXED;
	return held->early != NULL ? early : src;
}

bool
order_move(struct run *run, const struct sg *dst, const struct sg *src)
{
	struct order *o = run->qp->uar->order;
	struct held *held;
	struct sg other;
	unsigned int n;

	if (o == NULL)
		return false;
	held = held_at(o, o->next);
	if (held->kind == KIND_WRITE)
		src = order_write(o, held, dst, src, &other);
	if (((dst->rare | src->rare) & ACC_ON_DEMAND) != 0 || run->use.after != NULL ||
		run->use.spill != NULL)
		return false;
	if (held->kind == KIND_ATOMIC) {
		/* The caller's result is valid only during this call, so the value is copied. */
		memcpy(&held->value, src->v[0].p, VALUE_LEN);
		sg_set(&other, &held->value, VALUE_LEN);
		src = &other;
	}
	n = o->n;
	if (!cut_lists(o, held, dst, src)) {
		o->n = n; /* discards the pieces of a WQE that has too many */
		held->left = 0;
		return false;
	}
	if (!o->holds)
		move_one(o, held);
	return true;
}
