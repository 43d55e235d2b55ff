/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the lists of a COPY_SG, and walks both of them. */
#include "gantry_sg.h"

#include "gantry_engine.h"

struct list {
	const struct gantry_sge *sge;
	uint32_t n;
	bool to; /* the device writes there */
};

/* The smallest range that has every byte of a list. */
struct hull {
	uint64_t first, last;
};

static struct list
src_list(const struct gantry_desc *d)
{
	return (struct list){(const struct gantry_sge *)d->src, (uint32_t)d->arg[0], false};
}

static struct list
dst_list(const struct gantry_desc *d)
{
	return (struct list){(const struct gantry_sge *)d->dst, d->arg[0] >> 32, true};
}

/* The region of a piece, or NULL. */
static const struct gantry_region *
lookup(struct gantry_queue *q, uint64_t addr, uint64_t len)
{
	const struct gantry_region *r = gantry_region_lookup(&q->view, addr, len);

	return r != NULL ? r : q->view.any;
}

/* The same; also NULL if it must not be written. */
static const struct gantry_region *
find(struct gantry_queue *q, uint64_t addr, uint64_t len, bool to)
{
	const struct gantry_region *r = lookup(q, addr, len);

	return r != NULL && to && r->read_only ? NULL : r;
}

/* Whether the list is sound and has len bytes. */
static enum gantry_status
check_lens(const struct list *l, uint64_t len)
{
	uint64_t left = len;
	uint32_t i;

	if (l->n == 0 || l->n > GANTRY_SGE_MAX)
		return GANTRY_BAD_LENGTH;
	for (i = 0; i < l->n; i++) {
		const struct gantry_sge *e = &l->sge[i];

		if (e->len > left || e->addr + e->len < e->addr)
			return GANTRY_BAD_LENGTH;
		left -= e->len;
	}
	return left == 0 ? GANTRY_OK : GANTRY_BAD_LENGTH;
}

/* Sets *by_rdma if only RDMA copies one of the regions. */
static enum gantry_status
check_regions(struct gantry_queue *q, const struct list *l, bool *by_rdma)
{
	uint32_t i;

	for (i = 0; i < l->n; i++) {
		const struct gantry_region *r;

		if (l->sge[i].len == 0)
			continue;
		r = lookup(q, l->sge[i].addr, l->sge[i].len);
		if (r == NULL)
			return GANTRY_NOT_REGISTERED;
		if (l->to && r->read_only)
			return GANTRY_READ_ONLY;
		*by_rdma |= gantry_region_is_rdma_s(r);
	}
	return GANTRY_OK;
}

static struct hull
hull_of(const struct list *l)
{
	struct hull h = {UINT64_MAX, 0};
	uint32_t i;

	for (i = 0; i < l->n; i++) {
		if (l->sge[i].len == 0)
			continue;
		h.first = RTE_MIN(h.first, l->sge[i].addr);
		h.last = RTE_MAX(h.last, l->sge[i].addr + (l->sge[i].len - 1));
	}
	return h;
}

static bool
meets(const struct gantry_sge *e, struct hull h)
{
	return e->len != 0 && e->addr <= h.last && h.first <= e->addr + (e->len - 1);
}

/* True: an entry of a has a byte in common with an entry of b. */
static bool
overlap(const struct list *a, const struct list *b)
{
	struct hull of_b = hull_of(b);
	uint32_t i, k;

	/* Lists far from each other are the usual case: then no pair is compared. */
	for (i = 0; i < a->n; i++) {
		struct hull one = {a->sge[i].addr, a->sge[i].addr + (a->sge[i].len - 1)};

		if (!meets(&a->sge[i], of_b))
			continue;
		for (k = 0; k < b->n; k++)
			if (meets(&b->sge[k], one))
				return true;
	}
	return false;
}

enum gantry_status
gantry_sg_check(struct gantry_queue *q, const struct gantry_desc *d, bool *by_rdma)
{
	struct list src = src_list(d), dst = dst_list(d);
	enum gantry_status status;

	*by_rdma = false;
	if (d->src == 0 || d->dst == 0 || (d->src | d->dst) % sizeof(uint64_t) != 0)
		return GANTRY_BAD_ADDRESS;
	status = check_lens(&src, d->len);
	if (status == GANTRY_OK)
		status = check_lens(&dst, d->len);
	if (status != GANTRY_OK)
		return status;
	if (overlap(&src, &dst))
		return GANTRY_OVERLAP;
	status = check_regions(q, &src, by_rdma);
	return status == GANTRY_OK ? check_regions(q, &dst, by_rdma) : status;
}

/* True: MMO copies between host memory. RDMA may write there only where it is a carrier of the engine. */
static bool
host_by_mmo(const struct gantry_queue *q, const struct gantry_work *w)
{
	return w->carrier == GANTRY_CARRIER_MMO ||
	       (q->g->info.carriers & 1u << GANTRY_CARRIER_RDMA) == 0;
}

/* Steps over entries without bytes left. The entry that has bytes. */
static const struct gantry_sge *
current(uint64_t *at, uint64_t *done)
{
	const struct gantry_sge *e = (const struct gantry_sge *)*at;

	for (; e->len == *done; e++)
		*done = 0;
	*at = (uintptr_t)e;
	return e;
}

bool
gantry_sg_piece(struct gantry_queue *q, struct gantry_work *w, uint64_t max_len,
	struct gantry_work *piece)
{
	const struct gantry_sge *src = current(&w->src, &w->arg[0]);
	const struct gantry_sge *dst = current(&w->dst, &w->arg[1]);
	const struct gantry_region *from, *to;
	uint64_t len;

	len = RTE_MIN(src->len - w->arg[0], dst->len - w->arg[1]);
	len = RTE_MIN(len, max_len);
	*piece = (struct gantry_work){
		.src = src->addr + w->arg[0],
		.dst = dst->addr + w->arg[1],
		.len = len,
	};
	from = find(q, piece->src, len, false);
	to = find(q, piece->dst, len, true);
	if (from == NULL || to == NULL)
		return false;
	if (w->carrier == GANTRY_CARRIER_CPU)
		return !gantry_region_is_rdma_s(from) && !gantry_region_is_rdma_s(to);
	gantry_work_copy_between(piece, from, to, host_by_mmo(q, w));
	return true;
}

void
gantry_sg_advance(struct gantry_work *w, uint64_t len)
{
	w->arg[0] += len;
	w->arg[1] += len;
	w->len -= len;
}
