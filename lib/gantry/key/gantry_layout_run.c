/* SPDX-License-Identifier: BSD-3-Clause */
/* Issues plain gathers and scatters. */
#include "gantry_layout_run.h"

#include "gantry_conn.h"
#include "gantry_key_cache.h"
#include "gantry_burst.h"
#include "gantry_region.h"
#include "gantry_slot.h"
#include "gantry_stream.h"

/* Properties that successive descriptors with the same layout at the same base have in common. */
struct place {
	uint64_t head; /* gantry_desc_head() of the descriptors */
	uint64_t base;
	uint64_t span;
	uint64_t max_len; /* the most bytes of the layout that one WQE carries */
};

static inline struct place
place_of(const struct gantry_conn *own, const struct gantry_desc *d, uint64_t base, uint64_t span,
	uint64_t len)
{
	/*
	 * Addresses must not wrap around, even if the layout has no piece at the end of the address
	 * space.
	 */
	const uint64_t max_len = RTE_MIN(RTE_MIN(own->max_len, len), UINT64_MAX - base);

	return (struct place){gantry_desc_head(d), base, span, max_len};
}

/*
 * Returns true if d, which has the layout of p, is plain. *hit: the region of the side of d that
 * has no layout.
 */
static __rte_always_inline bool
takes(struct gantry_region_view *view, const struct gantry_region **hit, const struct place *p,
	const struct gantry_desc *d, uint64_t addr)
{
	return likely(d->len - 1 < p->max_len) &&
	       likely((d->remote_key | d->imm | d->arg[0] | d->arg[1]) == 0) &&
	       likely(gantry_region_find_plain(view, hit, addr, d->len)) &&
	       likely(!gantry_layout_meets(p->base, p->span, addr, d->len));
}

/*
 * Returns the key of a descriptor, or GANTRY_NO_KEY if no key has its layout, or the descriptor
 * does not belong to the run.
 */
static inline uint16_t
key_of(const struct gantry_keys *keys, const struct gantry_desc *d, bool gather)
{
	if (d->op != (gather ? GANTRY_OP_GATHER : GANTRY_OP_SCATTER) ||
		(d->zero | d->flags | d->peer) != 0)
		return GANTRY_NO_KEY;
	return gantry_keys_lookup(keys, GANTRY_CONN_OWN, !gather, d->layout,
		gather ? d->src : d->dst);
}

/*
 * Posts a UMR for a plain descriptor. The UMR belongs to the descriptor's slot; enough free WQEBBs
 * are left for the descriptor's WQE. Returns the key, or GANTRY_NO_KEY if the descriptor is not
 * plain, no key is free, or the send queue is full.
 */
static __rte_noinline uint16_t
lay_out(struct gantry_keys *keys, const struct gantry_desc *d, bool gather)
{
	const uint64_t base = gather ? d->src : d->dst, addr = gather ? d->dst : d->src;
	const struct gantry_region *plain = gather ? keys->view->dst : keys->view->src;
	struct gantry_conn *own = &keys->conn[GANTRY_CONN_OWN];
	const struct gantry_key_plan *plan = keys->plan;
	uint16_t pi = own->sq->pi, key;
	enum gantry_status status;
	struct place p;
	uint32_t n_bb;

	if ((d->zero | d->flags | d->peer) != 0 ||
		gantry_keys_prepare(keys, GANTRY_CONN_OWN, !gather, d->layout, base, d->len) !=
			GANTRY_OK)
		return GANTRY_NO_KEY;
	p = place_of(own, d, base, plan->span, plan->layout.len);
	if (!takes(keys->view, &plain, &p, d, addr))
		return GANTRY_NO_KEY;
	gantry_keys_find(keys, &status);
	/*
	 * The send queue needs free WQEBBs for the UMR, for NOPs in front of it at the ring's end,
	 * and for the WQE.
	 */
	if (status != GANTRY_OK || hwq_sq_free_bb(own->sq) < 2 * gantry_keys_umr_bb(keys))
		return GANTRY_NO_KEY;
	key = gantry_keys_post(keys);
	if (key == GANTRY_NO_KEY)
		return key;
	n_bb = (uint16_t)(own->sq->pi - pi);
	if (gantry_conn_signals(own, n_bb))
		hwq_sq_signal_last(own->sq);
	own->posted += n_bb;
	return key;
}

/*
 * Issues a run of plain gathers or scatters. gather: a constant, true for gathers, false for
 * scatters. key: the key of the first descriptor. owns: true if the UMR of this key belongs to the
 * slot of the first descriptor.
 */
static __rte_always_inline uint32_t
run(struct gantry_keys *keys, struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n,
	uint32_t borrows, uint16_t key, bool owns, const bool gather)
{
	const struct gantry_key *k = &keys->key[key];
	struct gantry_conn *own = &keys->conn[GANTRY_CONN_OWN];
	const struct gantry_region **hit = gather ? &keys->view->dst : &keys->view->src;
	const struct gantry_region *plain = *hit;
	struct gantry_comp *comp = &s->comp[s->issue & s->mask], *first = comp;
	struct place p = place_of(own, desc, gather ? desc->src : desc->dst, k->span, k->len);
	uint32_t flags = gantry_keys_is_fresh(keys, key) ? HWQ_WQE_AFTER_UMR : 0, any_flags = flags;
	const struct gantry_desc *d, *end;
	struct hwq_burst burst;

	end = desc + gantry_burst_begin(&burst, s, own, n);
	for (d = desc; d != end; d++, comp++) {
		const uint64_t base = gather ? d->src : d->dst, addr = gather ? d->dst : d->src;

		if (gantry_desc_head(d) != p.head || base != p.base) {
			uint16_t other = key_of(keys, d, gather);

			if (other == GANTRY_NO_KEY)
				break;
			gantry_keys_used(keys, key, own->posted + (d - desc));
			key = other;
			k = &keys->key[key];
			p = place_of(own, d, base, k->span, k->len);
			flags = gantry_keys_is_fresh(keys, key) ? HWQ_WQE_AFTER_UMR : 0;
			any_flags |= flags;
		}
		if (!takes(keys->view, &plain, &p, d, addr))
			break;
		hwq_burst_rdma_with(&burst, gather ? MLX5_OPCODE_RDMA_READ : MLX5_OPCODE_RDMA_WRITE,
			k->number, 0, plain->key_word, addr, d->len, flags);
		gantry_slot_prepare(comp, d, gather ? GANTRY_OP_GATHER : GANTRY_OP_SCATTER, d->len);
		comp->zero = flags != 0 ? borrows : 0;
	}
	*hit = plain;
	n = d - desc;
	if (n == 0)
		return 0;
	if (owns)
		first->zero = 0;
	gantry_keys_used(keys, key, own->posted + n);
	gantry_counter_add(&keys->hits, n - owns);
	gantry_counter_add(&keys->misses, owns);
	gantry_burst_end(&burst, s, own, GANTRY_CONN_OWN, n, any_flags == 0);
	return n;
}

uint32_t
gantry_layouts_run(struct gantry_keys *keys, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n, uint32_t borrows)
{
	const bool gather = desc->op == GANTRY_OP_GATHER;
	uint16_t key;
	bool owns;

	if (unlikely(keys->key == NULL))
		return 0;
	key = key_of(keys, desc, gather);
	owns = key == GANTRY_NO_KEY;
	if (owns)
		key = lay_out(keys, desc, gather);
	if (key == GANTRY_NO_KEY)
		return 0;
	return gather ? run(keys, s, desc, n, borrows, key, owns, true)
		      : run(keys, s, desc, n, borrows, key, owns, false);
}
