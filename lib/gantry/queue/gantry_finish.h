/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work that is done when a completion is handed out, in addition to copying it.
 *
 * Until then, gantry_comp::zero is a word of the engine about the slot:
 *   GANTRY_FINISH_*          what gantry_finish() has to do
 *   GANTRY_REPLAYS_MASK      how often the slot's WQEs were posted again
 * A completion with status GANTRY_OK and a word of 0 is plain: gantry_finish() has nothing to do.
 */
#ifndef GANTRY_FINISH_H
#define GANTRY_FINISH_H

#include <string.h>

#include "gantry_queue.h"

#define GANTRY_REPLAYS_MASK UINT32_C(0xff)
/*
 * `result` is the address of the cell that has an atomic's result: gantry_finish() reads the
 * result, and gives the cell back.
 */
#define GANTRY_FINISH_ATOMIC (UINT32_C(1) << 8)
/* The memory of a later part of a COPY_SG was no longer registered. This part was not copied. */
#define GANTRY_FINISH_MEMORY_GONE (UINT32_C(1) << 9)
/*
 * The slot uses a key whose UMR belongs to an earlier slot. This UMR may not have run
 * (gantry_recover.c).
 */
#define GANTRY_FINISH_BORROWS (UINT32_C(1) << 10)

/*
 * Returns status and `zero` as one word. The word is 0 if the completion succeeded and
 * gantry_finish() has nothing to do.
 */
static inline uint64_t
gantry_comp_left(const struct gantry_comp *comp)
{
	const struct gantry_comp mask = {.status = UINT8_MAX, .zero = UINT32_MAX};
	uint64_t word, bits;

	static_assert(offsetof(struct gantry_comp, status) == 8, "status and zero are in one word");
	static_assert(offsetof(struct gantry_comp, zero) == 12, "status and zero are in one word");
	static_assert(GANTRY_OK == 0, "a plain completion is 0 in both");
	memcpy(&word, (const uint8_t *)comp + 8, sizeof(word));
	memcpy(&bits, (const uint8_t *)&mask + 8, sizeof(bits));
	return word & bits;
}

/* Returns true if left is gantry_comp_left() of an atomic that succeeded. */
static inline bool
gantry_left_is_atomic(uint64_t left)
{
	return left == gantry_comp_left(&(const struct gantry_comp){.zero = GANTRY_FINISH_ATOMIC});
}

/*
 * Finishes the completion of an atomic that succeeded: reads the old value from its cell, and gives
 * the cell back. Owner thread.
 */
static inline void
gantry_finish_atomic(struct gantry_queue *q, struct gantry_comp *comp)
{
	const uint64_t *cell = (const uint64_t *)(uintptr_t)comp->result;

	comp->zero = 0;
	comp->result = *cell;
	gantry_cell_put(&q->cells, cell);
}

/* Returns true if the completion, after gantry_finish(), is a success. */
static inline bool
gantry_comp_is_good(const struct gantry_comp *comp)
{
	return comp->status == GANTRY_OK && (comp->zero & GANTRY_FINISH_MEMORY_GONE) == 0;
}

/*
 * Finishes the completion in *comp, so that it can be handed out. The slot of the completion is
 * done and not plain. Gives back the objects that the slot holds, and counts the status. Owner
 * thread; cold.
 */
void gantry_finish(struct gantry_queue *q, struct gantry_comp *comp);

#endif
