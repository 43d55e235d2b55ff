/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the lists of COPY_SGs, and issues plain COPY_SGs. */
#include "gantry_lists.h"

#include <limits.h>

#include <hwq_burst.h>

#include "gantry_conn.h"
#include "gantry_region.h"
#include "gantry_slot.h"
#include "gantry_stream.h"

struct list {
	const struct gantry_sge *sge;
	uint32_t n;
};

/* The smallest range of addresses that has every byte of a list. */
struct hull {
	uint64_t first, last;
};

static struct list
src_list(const struct gantry_desc *d)
{
	return (struct list){(const struct gantry_sge *)d->src, (uint32_t)d->arg[0]};
}

static struct list
dst_list(const struct gantry_desc *d)
{
	return (struct list){(const struct gantry_sge *)d->dst, d->arg[0] >> 32};
}

/* ------------------------------------------------------------------ rules */

/* Returns true if the addresses of both lists are possible. */
static bool
addresses_are_possible(const struct gantry_desc *d)
{
	return d->src != 0 && d->dst != 0 && (d->src | d->dst) % sizeof(uint64_t) == 0;
}

/* Checks that the entries of a list are possible, and that their lengths add up to len. */
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

static inline struct hull
hull_with(struct hull h, const struct gantry_sge *e)
{
	return (struct hull){RTE_MIN(h.first, e->addr), RTE_MAX(h.last, e->addr + (e->len - 1))};
}

static struct hull
hull_of(const struct list *l)
{
	struct hull h = {UINT64_MAX, 0};
	uint32_t i;

	for (i = 0; i < l->n; i++)
		if (l->sge[i].len != 0)
			h = hull_with(h, &l->sge[i]);
	return h;
}

static bool
meets(const struct gantry_sge *e, struct hull h)
{
	return e->len != 0 && e->addr <= h.last && h.first <= e->addr + (e->len - 1);
}

/* Returns true if an entry of a has a byte in common with an entry of b. */
static bool
overlap(const struct list *a, const struct list *b)
{
	struct hull of_b = hull_of(b);
	uint32_t i, k;

	/*
	 * Usually the hulls of the two lists do not overlap, and then no pair of entries is
	 * compared.
	 */
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
gantry_lists_check(const struct gantry_desc *d)
{
	struct list src = src_list(d), dst = dst_list(d);
	enum gantry_status status;

	if (!addresses_are_possible(d))
		return GANTRY_BAD_ADDRESS;
	status = check_lens(&src, d->len);
	if (status == GANTRY_OK)
		status = check_lens(&dst, d->len);
	if (status == GANTRY_OK && overlap(&src, &dst))
		status = GANTRY_OVERLAP;
	return status;
}

/* ------------------------------------------------------------------ runs */

/* A run of COPY_SGs that is being issued. */
struct run {
	struct gantry_region_view *view;
	/* The regions of the entries that were looked up last. */
	const struct gantry_region *src, *dst;
	struct hwq_burst burst;
	struct hwq_burst_like like;
	uint32_t room; /* number of WQEs that may still be written */
};

/*
 * Returns true if the list has len bytes, no entry is empty, and each entry is in a region for
 * plain copies. *hit: the region of the last entry. *h: the hull of the list.
 */
static __rte_always_inline bool
is_plain(struct gantry_region_view *view, const struct gantry_region **hit, struct list l,
	uint64_t len, struct hull *h)
{
	const struct gantry_sge *e = l.sge, *end = e + l.n;

	*h = (struct hull){UINT64_MAX, 0};
	if (l.n > GANTRY_SGE_MAX)
		return false;
	for (; e != end; e++) {
		if (unlikely(e->len - 1 >= len) ||
			unlikely(!gantry_region_find_plain(view, hit, e->addr, e->len)))
			return false;
		len -= e->len;
		*h = hull_with(*h, e);
	}
	return len == 0;
}

/* Returns true if the descriptor's lists are plain, and do not overlap. */
static __rte_always_inline bool
takes(struct run *run, const struct gantry_desc *d)
{
	struct list src = src_list(d), dst = dst_list(d);
	struct hull from, to;

	return likely(addresses_are_possible(d)) &&
	       likely((d->remote_key | d->imm | d->arg[1]) == 0) &&
	       is_plain(run->view, &run->src, src, d->len, &from) &&
	       is_plain(run->view, &run->dst, dst, d->len, &to) &&
	       (likely(from.last < to.first || to.last < from.first) || !overlap(&src, &dst));
}

/*
 * Writes the WQEs of a descriptor that takes() accepted. A WQE ends where an entry of either list
 * ends. Returns how many WQEs were written, or 0 if the send queue is full.
 */
static __rte_always_inline uint32_t
put(struct run *run, const struct gantry_desc *d, const bool mmo)
{
	const struct gantry_sge *from = src_list(d).sge, *to = dst_list(d).sge;
	uint64_t src = from->addr, src_left = from->len, dst = to->addr, dst_left = to->len;
	uint64_t left = d->len;
	uint32_t n = 0;

	for (;;) {
		const uint64_t len = RTE_MIN(src_left, dst_left);

		/*
		 * takes() has found these regions already. They are looked up again, because
		 * another thread may have changed the lists meanwhile.
		 */
		if (unlikely(n++ == run->room) ||
			unlikely(!gantry_region_find_plain(run->view, &run->src, src, len)) ||
			unlikely(!gantry_region_find_plain(run->view, &run->dst, dst, len)))
			return 0;
		if (mmo)
			hwq_burst_memcpy_like(&run->burst, &run->like, run->dst->key_word, dst,
				run->src->key_word, src, len);
		else
			hwq_burst_rdma_like(&run->burst, &run->like, run->dst->rkey, dst,
				run->src->key_word, src, len);
		left -= len;
		if (left == 0)
			break;
		src += len;
		dst += len;
		src_left -= len;
		dst_left -= len;
		if (src_left == 0) {
			src = (++from)->addr;
			src_left = from->len;
		}
		if (dst_left == 0) {
			dst = (++to)->addr;
			dst_left = to->len;
		}
	}
	run->room -= n;
	return n;
}

/* Issues a run of plain COPY_SGs. mmo: a constant. */
static __rte_always_inline uint32_t
run(struct gantry_region_view *view, struct gantry_stream *s, struct gantry_conn *own,
	const struct gantry_desc *desc, uint32_t n, const bool mmo)
{
	const uint64_t head = gantry_desc_head_of(GANTRY_OP_COPY_SG, 0);
	struct run run = {.view = view, .src = view->src, .dst = view->dst};
	uint32_t slot = s->issue & s->mask, n_new = 0;
	uint64_t posted = own->posted;
	const struct gantry_desc *d, *end = desc + RTE_MIN(n, s->mask + 1 - slot);

	run.room = hwq_burst_start(&run.burst, own->sq, UINT_MAX);
	run.like = mmo ? hwq_burst_like_memcpy(&run.burst)
		       : hwq_burst_like_rdma(&run.burst, MLX5_OPCODE_RDMA_WRITE);
	for (d = desc; d != end; d++, slot++) {
		const uint64_t before = posted;
		uint32_t n_wqes;

		if (unlikely(gantry_desc_head(d) != head || d->len - 1 >= own->max_len) ||
			unlikely(!takes(&run, d)))
			break;
		n_wqes = put(&run, d, mmo);
		if (unlikely(n_wqes == 0))
			break;
		posted += n_wqes;
		n_new += n_wqes;
		gantry_slot_prepare(&s->comp[slot], d, GANTRY_OP_COPY_SG, d->len);
		s->where[slot] = gantry_where(GANTRY_CONN_OWN, posted - 1);
		if (n_wqes == 1)
			gantry_row_note(&s->row, own, s->issue + (d - desc), s->where[slot], 1);
		/*
		 * A CQE is due when `posted` enters the next quarter of the ring
		 * (gantry_conn_signals()).
		 */
		if (unlikely((before ^ posted) > own->signal_mask)) {
			hwq_burst_end_counted(&run.burst, n_new);
			hwq_sq_signal_last(own->sq);
			n_new = 0;
		}
	}
	view->src = run.src;
	view->dst = run.dst;
	if (n_new != 0)
		hwq_burst_end_counted(&run.burst, n_new);
	own->posted = posted;
	s->issue += d - desc;
	return d - desc;
}

uint32_t
gantry_lists_run(struct gantry_region_view *view, struct gantry_stream *s, struct gantry_conn *own,
	const struct gantry_desc *desc, uint32_t n, bool mmo)
{
	return mmo ? run(view, s, own, desc, n, true) : run(view, s, own, desc, n, false);
}
