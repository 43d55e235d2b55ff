/* SPDX-License-Identifier: BSD-3-Clause */
/* Posts flushed WQEs of the own connection again. Cold: runs only after an error CQE. */
#include "gantry_replay.h"

#include <hwq_sq_save.h>

#include "gantry_doorbell.h"
#include "gantry_finish.h"

/* Operations of the own connection that may run twice: a second run writes the same bytes. */
static const bool repeatable[GANTRY_OP_MAX] = {
	[GANTRY_OP_COPY] = true,
	[GANTRY_OP_COPY_SG] = true,
	[GANTRY_OP_FILL] = true,
	[GANTRY_OP_GATHER] = true,
	[GANTRY_OP_SCATTER] = true,
};

static uint8_t *
saved_at(const struct gantry_queue *q, uint64_t bb)
{
	return (uint8_t *)q->saved + bb * HWQ_BB_LEN;
}

/*
 * Returns true if the WQE at `index` is a UMR for the DC initiator. Such UMRs may be between the
 * WQEs of a descriptor that is issued in parts. They are never posted again, because their keys
 * were given up (gantry_keys_fail()) and may have other layouts by then.
 */
static bool
is_unowned(const struct gantry_queue *q, const struct gantry_conn *c, uint64_t index)
{
	return hwq_sq_is_umr(c->sq, gantry_conn_ring_index(c, index)) &&
	       gantry_keys_find_unowned(&q->keys, index) != NULL;
}

__rte_cold bool
gantry_replay_loses_key(const struct gantry_queue *q, const struct gantry_conn *c, uint64_t from,
	uint64_t end)
{
	uint64_t index;

	for (index = from; index != end;) {
		uint16_t at = gantry_conn_ring_index(c, index);

		if (hwq_sq_is_umr(c->sq, at) && !is_unowned(q, c, index))
			return true;
		index += hwq_sq_bb_at(c->sq, at);
	}
	return false;
}

__rte_cold bool
gantry_replay_save(struct gantry_queue *q, const struct gantry_conn *c, uint32_t slot,
	uint64_t from, uint64_t end)
{
	struct gantry_comp *comp = &c->stream->comp[slot];
	uint64_t index, n_bb;

	if (!repeatable[comp->op] || (comp->zero & GANTRY_REPLAYS_MASK) >= q->replays)
		return false;
	for (index = from; index != end; index += n_bb) {
		uint16_t at = gantry_conn_ring_index(c, index);

		n_bb = hwq_sq_bb_at(c->sq, at);
		if (!hwq_sq_is_fill(c->sq, at) && !is_unowned(q, c, index))
			q->saved_bb += hwq_sq_save(c->sq, at, saved_at(q, q->saved_bb));
	}
	comp->zero++;
	c->stream->where[slot] = GANTRY_WHERE_HELD | gantry_where(GANTRY_CONN_OWN, q->saved_bb);
	return true;
}

/*
 * Returns the first held slot from seq on, or the end of the issued slots. A slot that is issued in
 * part counts as issued.
 */
static uint64_t
next_held(const struct gantry_stream *s, uint64_t seq)
{
	while (seq != s->issue + s->splitting && (s->where[seq & s->mask] & GANTRY_WHERE_HELD) == 0)
		seq++;
	return seq;
}

/* Posts the WQEs of one held slot: the saved WQEBBs from `at` to `end`. Returns end. */
static uint32_t
post_until(struct gantry_queue *q, struct gantry_conn *c, uint32_t at, uint32_t end)
{
	unsigned int n_bb;

	for (; at != end; at += n_bb) {
		n_bb = hwq_sq_put_saved(c->sq, saved_at(q, at));
		/*
		 * The ring has enough free WQEBBs: the WQEs are from this ring, which is empty and
		 * begins at index 0.
		 */
		RTE_VERIFY(n_bb != 0);
		c->posted += n_bb;
		gantry_note_posted(q, GANTRY_CONN_OWN, n_bb);
		gantry_counter_add(&q->stats.own_others, n_bb);
	}
	return at;
}

__rte_cold void
gantry_replay_post(struct gantry_queue *q, struct gantry_conn *c)
{
	struct gantry_stream *s = c->stream;
	uint64_t seq = gantry_counter_get(&s->tail);
	uint32_t at = 0;

	while (at != q->saved_bb) {
		uint64_t *where;

		seq = next_held(s, seq);
		where = &s->where[seq & s->mask];
		at = post_until(q, c, at, gantry_where_index(*where & ~GANTRY_WHERE_HELD));
		*where = gantry_where_last(GANTRY_CONN_OWN, c);
		gantry_counter_add(&q->rare.replays, 1);
	}
	if (at != 0)
		gantry_ring(q, c, &q->stats.own_wqes);
	gantry_fill_replayed(&q->fill, &q->conn[GANTRY_CONN_OWN]);
	gantry_keys_replayed(&q->keys);
	q->saved_bb = 0;
}

__rte_cold void
gantry_replay_drop(struct gantry_queue *q, struct gantry_conn *c, enum gantry_status status)
{
	struct gantry_stream *s = c->stream;
	uint64_t seq = next_held(s, gantry_counter_get(&s->tail));

	for (; seq != s->issue + s->splitting; seq = next_held(s, seq + 1)) {
		s->comp[seq & s->mask].status = status;
		s->where[seq & s->mask] = GANTRY_WHERE_NOWHERE;
		if (seq == s->issue) {
			/* The slot was issued in part. Its further WQEs are not posted. */
			s->splitting = false;
			s->issue++;
			break;
		}
	}
	q->saved_bb = 0;
}
