/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts: the positions of blocks of memory, relative to a base address. The engine has its
 * layouts on a shelf.
 */
#ifndef GANTRY_LAYOUT_H
#define GANTRY_LAYOUT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <hwq_wire.h>

#include "gantry.h"

/*
 * The most pieces of one layout, which is the number of pieces that one UMR can have. A pattern has
 * at most GANTRY_LAYOUT_PIECES - 1 pieces, because its UMR has one entry more.
 */
#define GANTRY_LAYOUT_PIECES HWQ_UMR_LAYOUT_MAX

struct gantry_layout_piece {
	uint64_t offset; /* bytes from the base to the piece */
	uint32_t len;    /* bytes of the piece in one round */
	uint32_t stride; /* bytes from one round to the next; 0 in a list */
};

/* A layout: its pieces in their order, `rounds` times. */
struct gantry_layout {
	uint64_t len;    /* bytes of all rounds */
	uint32_t rounds; /* 1: the layout is a list */
	uint32_t n;
	struct gantry_layout_piece piece[GANTRY_LAYOUT_PIECES];
};

/*
 * Returns true if [base, base + span) and [addr, addr + len) have a byte in common. Neither range
 * is empty.
 */
static inline bool
gantry_layout_meets(uint64_t base, uint64_t span, uint64_t addr, uint64_t len)
{
	return addr - base < span || base - addr < len;
}

static_assert(sizeof(struct gantry_layout) % sizeof(uint64_t) == 0, "a layout is whole words");

#endif
