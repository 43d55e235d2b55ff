/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the memory of the two lists of a COPY_SG, and goes through both lists piece by piece. */
#include "gantry_sg.h"

#include "gantry_engine.h"
#include "gantry_lists.h"

/* Returns the region that covers a piece, or NULL. */
static const struct gantry_region *
lookup(struct gantry_queue *q, uint64_t addr, uint64_t len)
{
	const struct gantry_region *r = gantry_region_lookup(&q->view, addr, len);

	return r != NULL ? r : q->view.any;
}

/* As lookup(), but also returns NULL if `to` is set and the region is read-only. */
static const struct gantry_region *
find(struct gantry_queue *q, uint64_t addr, uint64_t len, bool to)
{
	const struct gantry_region *r = lookup(q, addr, len);

	return r != NULL && to && r->read_only ? NULL : r;
}

/*
 * Looks up the regions of the n entries at e. Adds the bits GANTRY_REGION_NO_* of each region to
 * *limits.
 */
static enum gantry_status
check_regions(struct gantry_queue *q, const struct gantry_sge *e, uint32_t n, bool to,
	unsigned int *limits)
{
	for (; n != 0; n--, e++) {
		const struct gantry_region *r;

		if (e->len == 0)
			continue;
		r = lookup(q, e->addr, e->len);
		if (r == NULL)
			return GANTRY_NOT_REGISTERED;
		if (to && r->read_only)
			return GANTRY_READ_ONLY;
		*limits |= gantry_region_limits(r);
	}
	return GANTRY_OK;
}

enum gantry_status
gantry_sg_check(struct gantry_queue *q, const struct gantry_desc *d, unsigned int *limits)
{
	enum gantry_status status = gantry_lists_check(d);

	*limits = 0;
	if (status == GANTRY_OK)
		status = check_regions(q, (const struct gantry_sge *)d->src, (uint32_t)d->arg[0],
			false, limits);
	if (status == GANTRY_OK)
		status = check_regions(q, (const struct gantry_sge *)d->dst, d->arg[0] >> 32, true,
			limits);
	return status;
}

bool
gantry_sg_has_sources(struct gantry_queue *q, const struct gantry_desc *d)
{
	unsigned int limits = 0;

	return check_regions(q, (const struct gantry_sge *)d->src, (uint32_t)d->arg[0], false,
		       &limits) == GANTRY_OK;
}

/*
 * Returns true if MMO copies between host memory. RDMA may write to host memory only if it is a
 * carrier of the engine.
 */
static bool
host_by_mmo(const struct gantry_queue *q, const struct gantry_work *w)
{
	return w->carrier == GANTRY_CARRIER_MMO ||
	       (q->g->info.carriers & 1u << GANTRY_CARRIER_RDMA) == 0;
}

/* Skips entries whose bytes are all done. Returns the first entry that is not done. */
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
		return ((gantry_region_limits(from) | gantry_region_limits(to)) &
			       GANTRY_REGION_NO_CPU) == 0;
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
