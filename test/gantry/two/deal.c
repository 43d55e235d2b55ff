/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws descriptors for a queue of one of two processes. Nearly all descriptors are correct. */
#include "two.h"

static uint64_t
pick(struct flow *f, uint64_t n)
{
	return check_random(&f->rng) % n;
}

/*
 * Draws a length: mostly short, sometimes up to some MiB. A record of softhca's connections has at
 * most 64 KiB, so a long message needs several records.
 */
static uint64_t
pick_len(struct flow *f)
{
	uint64_t at = pick(f, 1000);

	if (at < 600)
		return 1 + pick(f, 256);
	if (at < 860)
		return 1 + pick(f, 8192);
	if (at < 900)
		return 65536 - 256 + pick(f, 512);
	if (at < 970)
		return 1 + pick(f, 100000);
	if (at < 996)
		return 1 + pick(f, 400000);
	return 1 + pick(f, MODEL_LEN_MAX);
}

static uint64_t
pick_addr(struct flow *f, unsigned int region, uint64_t len)
{
	const struct model_region *r = &f->model.region[region];

	return r->addr + pick(f, r->len - len + 1);
}

/* Draws memory to read from: mostly in HOME. */
static uint64_t
pick_src(struct flow *f, uint64_t len)
{
	return pick_addr(f, len <= POOL_LEN && pick(f, 8) == 0 ? POOL : HOME, len);
}

static uint64_t
pick_far(struct flow *f, struct gantry_desc *d, uint64_t len)
{
	const struct model_region *r = &f->model.region[FAR];

	d->remote_key = r->remote_key;
	return r->remote_addr + pick(f, r->len - len + 1);
}

static void
pick_link(struct flow *f, struct record *r)
{
	r->link = pick(f, LINKS);
	r->desc.peer = f->end[r->link].peer;
}

static void
draw_write(struct flow *f, struct record *r)
{
	struct gantry_desc *d = &r->desc;

	pick_link(f, r);
	d->len = pick_len(f);
	d->src = pick_src(f, d->len);
	d->dst = pick_far(f, d, d->len);
}

static void
draw_read(struct flow *f, struct record *r)
{
	struct gantry_desc *d = &r->desc;

	pick_link(f, r);
	d->len = pick_len(f);
	d->src = pick_far(f, d, d->len);
	d->dst = pick_addr(f, HOME, d->len);
}

static void
draw_copy(struct flow *f, struct record *r)
{
	struct gantry_desc *d = &r->desc;

	d->len = pick_len(f) % (HALF_LEN / 4) + 1;
	d->src = pick_src(f, d->len);
	d->dst = pick_addr(f, HOME, d->len);
}

static void
draw_fill(struct flow *f, struct record *r)
{
	r->desc.len = 1 + pick(f, 5000);
	r->desc.dst = pick_addr(f, HOME, r->desc.len);
	r->desc.arg[0] = check_random(&f->rng);
}

/* Draws a list whose lengths add up to len, with some bytes between the entries. */
static void
draw_list(struct flow *f, struct gantry_sge *sge, unsigned int n, uint64_t len)
{
	uint64_t at = pick_addr(f, HOME, len + n * 16);
	unsigned int i;

	for (i = 0; i < n; i++) {
		sge[i].addr = at;
		sge[i].len = i == n - 1 ? len : pick(f, len + 1);
		len -= sge[i].len;
		at += sge[i].len + pick(f, 17);
	}
}

static void
draw_sg(struct flow *f, struct record *r)
{
	unsigned int n_src = 1 + pick(f, 5), n_dst = 1 + pick(f, 5);
	struct gantry_desc *d = &r->desc;

	d->len = 1 + pick(f, 20000);
	draw_list(f, r->sge, n_src, d->len);
	draw_list(f, r->sge + 8, n_dst, d->len);
	d->src = (uintptr_t)r->sge;
	d->dst = (uintptr_t)(r->sge + 8);
	d->arg[0] = (uint64_t)n_dst << 32 | n_src;
}

static void
draw_layout(struct flow *f, struct record *r)
{
	static const uint8_t ops[] = {GANTRY_OP_GATHER, GANTRY_OP_SCATTER, GANTRY_OP_WRITE,
		GANTRY_OP_READ};
	const struct model_layout *l = &f->model.layout[pick(f, MODEL_LAYOUTS)];
	struct gantry_desc *d = &r->desc;
	/* There are few base addresses, so that the same layout is often used again. */
	uint64_t base = f->model.region[HOME].addr + pick(f, 24) * 4000;
	bool to;

	d->op = ops[pick(f, RTE_DIM(ops))];
	to = d->op == GANTRY_OP_SCATTER || d->op == GANTRY_OP_READ;
	d->layout = l->id;
	d->len = pick(f, 2) ? l->len : 1 + pick(f, l->len);
	d->src = to ? pick_addr(f, HOME, d->len) : base;
	d->dst = to ? base : pick_addr(f, HOME, d->len);
	if (d->op == GANTRY_OP_GATHER || d->op == GANTRY_OP_SCATTER)
		return;
	pick_link(f, r);
	*(to ? &d->src : &d->dst) = pick_far(f, d, d->len);
}

static void
draw_atomic(struct flow *f, struct record *r)
{
	struct gantry_desc *d = &r->desc;

	pick_link(f, r);
	d->op = pick(f, 2) ? GANTRY_OP_COMPARE_SWAP : GANTRY_OP_FETCH_ADD;
	d->len = 8;
	/* There are few words, so that atomics often change the same word. */
	d->remote_key = f->model.region[FAR].remote_key;
	d->dst = f->model.region[FAR].remote_addr + 8 * pick(f, 16);
	d->arg[0] = pick(f, 2) ? 1 : check_random(&f->rng);
	if (d->op == GANTRY_OP_COMPARE_SWAP)
		d->arg[1] = check_random(&f->rng);
}

/* A SEND reads from POOL, so that the receiver knows its bytes. */
static void
draw_message(struct flow *f, struct record *r)
{
	static const uint8_t ops[] = {GANTRY_OP_SEND, GANTRY_OP_SEND_IMM, GANTRY_OP_WRITE_IMM};
	struct gantry_desc *d = &r->desc;

	pick_link(f, r);
	/* Messages over DC arrive in any order, so the immediate has the number of the message. */
	d->op = ops[r->link == DC_LINK ? 1 + pick(f, 2) : pick(f, 3)];
	d->flags = pick(f, 2) ? GANTRY_DESC_SOLICITED : 0;
	d->len = pick(f, 8) == 0 ? 0 : pick_len(f) % RECV_LEN + 1;
	if (d->op != GANTRY_OP_SEND)
		d->imm = check_random(&f->rng);
	if (d->len == 0)
		return;
	d->src = pick_addr(f, POOL, d->len);
	if (d->op == GANTRY_OP_WRITE_IMM)
		d->dst = pick_far(f, d, d->len);
}

static void
draw_good(struct flow *f, struct record *r)
{
	static const struct {
		uint8_t op, weight;
		void (*draw)(struct flow *f, struct record *r);
	} kinds[] = {
		{GANTRY_OP_NOP, 3, NULL},
		{GANTRY_OP_COPY, 8, draw_copy},
		{GANTRY_OP_FILL, 4, draw_fill},
		{GANTRY_OP_COPY_SG, 4, draw_sg},
		{GANTRY_OP_GATHER, 8, draw_layout},
		{GANTRY_OP_FETCH_ADD, 12, draw_atomic},
		{GANTRY_OP_SEND, 21, draw_message},
		{GANTRY_OP_READ, 18, draw_read},
		{GANTRY_OP_WRITE, 22, draw_write},
	};
	uint64_t at = pick(f, 100);
	unsigned int i;

	for (i = 0; at >= kinds[i].weight; i++)
		at -= kinds[i].weight;
	r->desc.op = kinds[i].op;
	if (kinds[i].draw != NULL)
		kinds[i].draw(f, r);
	/* Half of the copies name a carrier. */
	model_name_carrier(&f->model, &r->desc, pick(f, 2 * MODEL_CARRIERS));
}

void
deal(struct flow *f, struct record *r)
{
	struct model_verdict v;

	do {
		memset(r, 0, sizeof(*r));
		r->link = -1;
		draw_good(f, r);
		v = model_refusals(&f->model, &r->desc);
		/*
		 * The model does not know whether the peer accepts the descriptor, so
		 * GANTRY_BAD_PEER is ignored here.
		 */
	} while (((v.broken | v.maybe) & ~MODEL_BIT(GANTRY_BAD_PEER)) != 0);
	if (r->desc.remote_key != 0 && pick(f, 2000) == 0) {
		r->desc.remote_key ^= 0xff;
		r->refused_there = true;
	}
	if (pick(f, 32) == 0)
		r->desc.flags |= GANTRY_DESC_FENCE;
}
