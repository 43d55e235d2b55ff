/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies by the CPU, piece by piece. */
#include "gantry_cpu.h"

#include "gantry_finish.h"
#include "gantry_run.h"
#include "gantry_sg.h"

static void
spend(struct gantry_queue *q, uint64_t len)
{
	q->cpu_left -= RTE_ALIGN_CEIL(len, sizeof(uint64_t));
}

static void
carry_copy(struct gantry_queue *q, struct gantry_work *w)
{
	uint64_t len = RTE_MIN(w->len, q->cpu_left);

	memcpy((void *)(uintptr_t)w->dst, (const void *)(uintptr_t)w->src, len);
	w->src += len;
	w->dst += len;
	w->len -= len;
	spend(q, len);
}

/*
 * The length of each piece but the last is a multiple of the pattern's length. So each piece begins
 * with the pattern's first byte.
 */
static void
carry_fill(struct gantry_queue *q, struct gantry_work *w)
{
	uint64_t pattern = w->arg[0], len = RTE_MIN(w->len, q->cpu_left), at;
	uint8_t *dst = (uint8_t *)(uintptr_t)w->dst;

	for (at = 0; at + sizeof(pattern) <= len; at += sizeof(pattern))
		memcpy(dst + at, &pattern, sizeof(pattern));
	memcpy(dst + at, &pattern, len - at);
	w->dst += len;
	w->len -= len;
	spend(q, len);
}

static void
carry_lists(struct gantry_queue *q, struct gantry_work *w)
{
	struct gantry_work piece;

	while (w->len != 0 && q->cpu_left != 0) {
		if (!gantry_sg_piece(q, w, q->cpu_left, &piece)) {
			w->finish |= GANTRY_FINISH_MEMORY_GONE;
			w->len = 0;
			return;
		}
		memcpy((void *)(uintptr_t)piece.dst, (const void *)(uintptr_t)piece.src, piece.len);
		gantry_sg_advance(w, piece.len);
		spend(q, piece.len);
	}
}

void
gantry_cpu_carry(struct gantry_queue *q, struct gantry_work *w)
{
	if (w->kind == GANTRY_WORK_SG)
		carry_lists(q, w);
	else if (w->kind == GANTRY_WORK_FILL)
		carry_fill(q, w);
	else
		carry_copy(q, w);
	w->done = w->len == 0;
}

/*
 * Returns true if d is a correct copy without flags whose memory is in the regions of the last
 * hits.
 */
static bool
is_plain(const struct gantry_queue *q, const struct gantry_desc *d)
{
	return gantry_desc_head(d) == gantry_desc_head_of(GANTRY_OP_COPY, 0) &&
	       (gantry_run_spare(d, false) | d->arg[0] | d->arg[1]) == 0 &&
	       gantry_region_hit(q->view.src, d->src, d->len) &&
	       gantry_region_hit(q->view.dst, d->dst, d->len) &&
	       !gantry_plain_overlap(d->src, d->dst, d->len);
}

uint32_t
gantry_cpu_run(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n && is_plain(q, &desc[i]) && desc[i].len <= q->cpu_left; i++) {
		const struct gantry_desc *d = &desc[i];
		uint32_t slot = s->issue++ & s->mask;

		memcpy((void *)(uintptr_t)d->dst, (const void *)(uintptr_t)d->src, d->len);
		spend(q, d->len);
		gantry_slot_prepare(&s->comp[slot], d, d->op, d->len);
		s->where[slot] = GANTRY_WHERE_NOWHERE;
	}
	gantry_counter_add(&q->rare.copies[GANTRY_CARRIER_CPU], i);
	return i;
}
