/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts by id: where blocks of memory lie, seen from a base address.
 *
 *   control thread                           a queue's owner thread
 *     gantry_layout_create()                   gantry_layout_read()
 *       writes the words of a cell               reads the serial number, the words, and the serial
 *       publishes its serial number  ------->    number again: the same one if the copy is whole
 *     gantry_layout_destroy()
 *       the serial number is 0
 *
 * Cells are never freed while the engine lives, but serve the next layouts: so an owner may read one
 * at any time, and needs neither a lock nor a reference.
 */
#ifndef GANTRY_LAYOUT_H
#define GANTRY_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hwq_wire.h>

#include "gantry.h"

/* Pieces of one layout: what one UMR holds. A pattern takes one unit more. */
#define GANTRY_LAYOUT_PIECES HWQ_UMR_LAYOUT_MAX

struct gantry_layout_piece {
	uint64_t offset; /* from the base */
	uint32_t len;    /* bytes */
	uint32_t stride; /* from one round to the next; 0 in a list */
};

/* One layout: its pieces one after the other, `rounds` times. */
struct gantry_layout {
	uint64_t len;    /* bytes of all rounds */
	uint32_t rounds; /* 1: a list */
	uint32_t n;
	struct gantry_layout_piece piece[GANTRY_LAYOUT_PIECES];
};

#define GANTRY_LAYOUT_WORDS (sizeof(struct gantry_layout) / sizeof(uint64_t))

struct gantry_layout_cell {
	_Atomic uint64_t serial; /* of all layouts of the engine; 0: there is none */
	_Atomic uint64_t word[GANTRY_LAYOUT_WORDS];
};

/* The engine's layouts. */
struct gantry_layout_dir {
	_Atomic(struct gantry_layout_cell *)
		cell[GANTRY_MAX_LAYOUTS + 1]; /* by id; NULL: none yet */
	uint64_t last_serial;
};

/* Frees the cells. Control thread. */
void gantry_layout_dir_fini(struct gantry_layout_dir *dir);

/* The serial number of the layout; 0: there is no such layout. Any thread. */
static inline uint64_t
gantry_layout_serial(const struct gantry_layout_dir *dir, uint16_t id)
{
	struct gantry_layout_cell *cell = NULL;

	if (id <= GANTRY_MAX_LAYOUTS)
		cell = atomic_load_explicit(&dir->cell[id], memory_order_acquire);
	return cell == NULL ? 0 : atomic_load_explicit(&cell->serial, memory_order_acquire);
}

/* Copies the layout of this serial number. False: it was destroyed meanwhile. Any thread. */
bool gantry_layout_read(const struct gantry_layout_dir *dir, uint16_t id, uint64_t serial,
	struct gantry_layout *out);

#endif
