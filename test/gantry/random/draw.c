/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws descriptors: correct descriptors of every kind, and correct descriptors in which one or two
 * fields were changed.
 */
#include <infiniband/mlx5dv.h>

#include "random.h"

static uint64_t
pick(struct side *s, uint64_t n)
{
	return check_random(&s->rng) % n;
}

static uint64_t
pick_len(struct side *s)
{
	/* A length: mostly short, sometimes long. */
	return 1 + pick(s, pick(s, 32) == 0 ? 12000 : 256);
}

/*
 * Picks an address at which len bytes lie in one of the regions; with `to`, usually in a region
 * that may be written.
 */
static uint64_t
pick_addr(struct side *s, uint64_t len, bool to)
{
	static const uint8_t regions[] = {HOME, HOME, HOME, HOME, HOME, HOME, HOME, HOME, HOME,
		DEVICE, DEVICE, DEVICE, GUEST, GUEST, READ_ONLY, READ_ONLY};
	const struct model_region *r = &s->model.region[regions[pick(s, RTE_DIM(regions))]];
	uint64_t addr;

	if (pick(s, 24) == 0 && eal_pick(s, len, &addr))
		return addr;
	if (to && r == &s->model.region[READ_ONLY] && pick(s, 16) != 0)
		r = &s->model.region[GUEST];
	return r->addr + pick(s, r->len - len + 1);
}

/* An address that peers may access with the descriptor's remote_key. */
static uint64_t
pick_remote(struct side *s, struct gantry_desc *d, uint64_t len)
{
	const struct model_region *r = &s->model.region[HOME];

	if (s->model.region[DEVICE].there && pick(s, 6) == 0)
		r = &s->model.region[DEVICE];
	d->remote_key = r->remote_key;
	return r->remote_addr + pick(s, r->len - len + 1);
}

static struct end *
pick_end(struct side *s)
{
	return s->end[pick(s, s->n_ends)];
}

static void
draw_write(struct side *s, struct record *r)
{
	struct gantry_desc *d = &r->desc;

	d->len = pick_len(s);
	d->peer = pick_end(s)->peer;
	d->src = pick_addr(s, d->len, false);
	d->dst = pick_remote(s, d, d->len);
}

static void
draw_read(struct side *s, struct record *r)
{
	struct gantry_desc *d = &r->desc;

	d->len = pick_len(s);
	d->peer = pick_end(s)->peer;
	d->src = pick_remote(s, d, d->len);
	d->dst = pick_addr(s, d->len, true);
}

static void
draw_copy(struct side *s, struct record *r)
{
	struct gantry_desc *d = &r->desc;

	d->len = pick_len(s);
	d->src = pick_addr(s, d->len, false);
	d->dst = pick_addr(s, d->len, true);
}

static void
draw_fill(struct side *s, struct record *r)
{
	/*
	 * Long and short fills use the same memory of the queue for their patterns. There are few
	 * patterns, so that the same pattern is often used again, but more than this memory has.
	 */
	r->desc.len = pick(s, 6) == 0 ? 1 + pick(s, 12000) : pick_len(s);
	r->desc.dst = pick_addr(s, r->desc.len, true);
	r->desc.arg[0] = pick(s, 64) * UINT64_C(0x9e3779b97f4a7c15);
}

/*
 * Draws a list of n entries whose lengths add up to len, with some bytes between the entries; some
 * lists end in device memory.
 */
static void
draw_list(struct side *s, struct gantry_sge *sge, unsigned int n, uint64_t len, bool to)
{
	const struct model_region *device = &s->model.region[DEVICE];
	uint64_t at = pick_addr(s, len + n * 16, to);
	unsigned int i, leap = 1 + pick(s, 12);

	for (i = 0; i < n; i++) {
		/* The entries of a destination must not overlap. */
		if (i == leap && at < device->addr)
			at = device->addr + pick(s, device->len - len - n * 16 + 1);
		sge[i].addr = at;
		sge[i].len = i == n - 1 ? len : pick(s, len + 1);
		len -= sge[i].len;
		at += sge[i].len + pick(s, 17);
	}
}

static void
draw_sg(struct side *s, struct record *r)
{
	unsigned int n_src = 1 + pick(s, 5), n_dst = 1 + pick(s, 5);
	struct gantry_desc *d = &r->desc;

	memset(r->sge, 0, sizeof(r->sge));
	d->len = pick_len(s);
	draw_list(s, r->sge, n_src, d->len, false);
	draw_list(s, r->sge + 8, n_dst, d->len, true);
	d->src = (uintptr_t)r->sge;
	d->dst = (uintptr_t)(r->sge + 8);
	d->arg[0] = (uint64_t)n_dst << 32 | n_src;
}

/* Draws one of a few base addresses, so that the same layout is often used again at one address. */
static void
draw_layout(struct side *s, struct record *r)
{
	static const uint8_t ops[] = {GANTRY_OP_GATHER, GANTRY_OP_SCATTER, GANTRY_OP_WRITE,
		GANTRY_OP_READ};
	const struct model_layout *l = &s->model.layout[pick(s, MODEL_LAYOUTS)];
	struct gantry_desc *d = &r->desc;
	uint64_t base = s->model.region[HOME].addr + pick(s, 24) * 4000;
	bool to;

	if (pick(s, 6) == 0)
		base = s->model.region[DEVICE].addr + pick(s, 6) * 2000;
	d->op = ops[pick(s, RTE_DIM(ops))];
	to = d->op == GANTRY_OP_SCATTER || d->op == GANTRY_OP_READ;
	d->layout = l->id;
	d->len = pick(s, 2) ? l->len : 1 + pick(s, l->len);
	d->src = to ? pick_addr(s, d->len, false) : base;
	d->dst = to ? base : pick_addr(s, d->len, true);
	if (d->op == GANTRY_OP_WRITE || d->op == GANTRY_OP_READ) {
		d->peer = pick_end(s)->peer;
		*(to ? &d->src : &d->dst) = pick_remote(s, d, d->len);
	}
}

static void
draw_atomic(struct side *s, struct record *r)
{
	struct gantry_desc *d = &r->desc;

	d->peer = pick_end(s)->peer;
	d->len = 8;
	d->dst = pick_remote(s, d, 16) & ~UINT64_C(7);
	d->arg[0] = check_random(&s->rng);
	if (d->op != GANTRY_OP_COMPARE_SWAP)
		return;
	d->arg[1] = check_random(&s->rng);
	if (pick(s, 2) == 0)
		memset(d->arg, 0, sizeof(d->arg[0]));
}

/* Draws a message if a receive is posted for it, else a NOP. */
static void
draw_message(struct side *s, struct record *r)
{
	static const uint8_t ops[] = {GANTRY_OP_WRITE_IMM, GANTRY_OP_SEND, GANTRY_OP_SEND_IMM,
		GANTRY_OP_SEND_INV};
	struct gantry_desc *d = &r->desc;
	struct end *e = pick_end(s);

	d->op = GANTRY_OP_NOP;
	if (*end_credits(e) == 0)
		return;
	d->op = ops[pick(s, RTE_DIM(ops))];
	d->peer = e->peer;
	d->flags = pick(s, 2) ? GANTRY_DESC_SOLICITED : 0;
	d->len = run.empty || pick(s, 8) == 0 ? 0 : 1 + pick(s, RECV_LEN);
	if (d->op != GANTRY_OP_SEND)
		d->imm = d->op == GANTRY_OP_SEND_INV ? keys_pick(s) : check_random(&s->rng);
	if (d->len == 0)
		return;
	d->src = pick_addr(s, d->len, false);
	if (d->op != GANTRY_OP_WRITE_IMM)
		return;
	d->dst = pick_remote(s, d, d->len);
}

/* Draws a RAW descriptor whose WQE is a NOP. */
static void
draw_raw(struct side *s, struct record *r)
{
	uint8_t ds = 1 + pick(s, 4);

	memset(r->raw, 0, sizeof(r->raw));
	mlx5dv_set_ctrl_seg((void *)r->raw, 0, MLX5_OPCODE_NOP, 0, 0, 0, ds, 0, 0);
	r->desc.len = 16 * ds;
	r->desc.src = (uintptr_t)r->raw;
	r->desc.peer = pick(s, 2) ? GANTRY_PEER_OWN : pick_end(s)->peer;
}

static void
draw_good(struct side *s, struct record *r)
{
	static const struct {
		uint8_t op, weight;
		void (*draw)(struct side *s, struct record *r);
	} kinds[] = {
		{GANTRY_OP_NOP, 5, NULL},
		{GANTRY_OP_COPY, 26, draw_copy},
		{GANTRY_OP_WRITE, 12, draw_write},
		{GANTRY_OP_READ, 10, draw_read},
		{GANTRY_OP_COPY_SG, 8, draw_sg},
		{GANTRY_OP_FILL, 7, draw_fill},
		{GANTRY_OP_GATHER, 12, draw_layout},
		{GANTRY_OP_COMPARE_SWAP, 4, draw_atomic},
		{GANTRY_OP_FETCH_ADD, 4, draw_atomic},
		{GANTRY_OP_SEND, 10, draw_message},
		{GANTRY_OP_RAW, 2, draw_raw},
	};
	uint64_t at;
	unsigned int i;

	if (run.empty && pick(s, 16) != 0) {
		draw_message(s, r);
		return;
	}
	at = pick(s, 100);
	for (i = 0; at >= kinds[i].weight; i++)
		at -= kinds[i].weight;
	r->desc.op = kinds[i].op;
	if (kinds[i].draw != NULL)
		kinds[i].draw(s, r);
	/* Half of the copies name a carrier. */
	model_name_carrier(&s->model, &r->desc, pick(s, 2 * MODEL_CARRIERS));
}

/* Draws a number that is often at a limit. */
static uint64_t
odd_number(struct side *s, uint64_t old)
{
	static const uint64_t numbers[] = {0, 1, 7, 8, 64, 4096, UINT64_C(1) << 31,
		UINT64_C(1) << 32, UINT64_MAX};

	switch (pick(s, 4)) {
	case 0:
		return numbers[pick(s, RTE_DIM(numbers))];
	case 1:
		return old + 1 - 2 * pick(s, 2);
	case 2:
		return old ^ UINT64_C(1) << pick(s, 64);
	default:
		return pick(s, 300);
	}
}

static uint64_t
odd_addr(struct side *s, uint64_t old)
{
	switch (pick(s, 4)) {
	case 0:
		return odd_number(s, old);
	case 1: /* near the beginning of a region */
		return s->model.region[pick(s, MODEL_REGIONS)].addr - 20 + pick(s, 40);
	case 2: /* anywhere in the arena, or in the 4 KiB behind it */
		return (uintptr_t)s->model.mem + pick(s, s->model.len + 4096);
	default:
		return old - 64 + pick(s, 128);
	}
}

/*
 * Changes one field. The engine reads lists and WQEs at their addresses, so these addresses must
 * stay valid. For this reason the function does not change them, and makes no other operation one
 * that reads a list or a WQE.
 */
static void
change_field(struct side *s, struct gantry_desc *d)
{
	bool pointers = d->op == GANTRY_OP_COPY_SG || d->op == GANTRY_OP_RAW;

	switch (pick(s, 12)) {
	case 0:
		d->op = pick(s, 2) ? pick(s, 256) : pick(s, GANTRY_OP_MAX);
		if (d->op == GANTRY_OP_COPY_SG || d->op == GANTRY_OP_RAW)
			d->op = GANTRY_OP_MAX;
		break;
	case 1:
		d->zero = pick(s, 256);
		break;
	case 2:
		d->flags ^= 1u << pick(s, 16);
		break;
	case 3:
		d->peer = pick(s, 2) ? pick(s, 12) : odd_number(s, d->peer);
		break;
	case 4:
		d->layout = odd_number(s, d->layout);
		break;
	case 5:
	case 6:
		if (!pointers)
			d->src = odd_addr(s, d->src);
		break;
	case 7:
	case 8:
		if (!pointers)
			d->dst = odd_addr(s, d->dst);
		break;
	case 9:
		d->len = odd_number(s, d->len);
		break;
	case 10:
		d->imm = odd_number(s, d->imm);
		/*
		 * The new key must not by chance be a valid key, which another descriptor may use.
		 */
		if (d->op == GANTRY_OP_SEND_INV)
			d->imm |= 0xff;
		break;
	default:
		if (d->op == GANTRY_OP_COPY_SG)
			d->arg[0] = pick(s, 2) ? (pick(s, 9) << 32) + pick(s, 9)
					       : (257 + pick(s, 1000)) << 32 * pick(s, 2);
		else
			d->arg[pick(s, 2)] = odd_number(s, d->arg[0]);
		break;
	}
}

void
draw(struct side *s, struct record *r)
{
	memset(&r->desc, 0, sizeof(r->desc));
	draw_good(s, r);
	if (pick(s, 8) == 0)
		change_field(s, &r->desc);
	if (pick(s, 64) == 0)
		change_field(s, &r->desc);
	/* A key that no region has. */
	if (pick(s, 1000) == 0 && r->desc.remote_key != 0)
		r->desc.remote_key ^= 0xff;
	if (pick(s, 32) == 0)
		r->desc.flags |= GANTRY_DESC_FENCE;
}
