/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cells: registered words of 8 bytes to which the device writes the results of atomics.
 *
 * An atomic takes a cell when its WQE is written, and gives the cell back when its completion is
 * handed out. Completions are handed out in order, so a cell may keep a result for a while. If no
 * cell is free, the atomic waits, as it does for a full send queue.
 */
#ifndef GANTRY_CELL_H
#define GANTRY_CELL_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <hwq_mr.h>

#define GANTRY_CELLS 256

struct gantry_cells {
	uint64_t *cell; /* GANTRY_CELLS words; NULL: not allocated yet */
	uint8_t *free;  /* numbers of the free cells, in the memory behind the words */
	uint32_t n_free;
	struct hwq_mr mr; /* registration of the words */
};

/*
 * Allocates and registers the cells, unless they exist. Control thread, while the owner uses no
 * atomics. Returns 0, -ENOMEM, or the negative errno of ibv_reg_mr(3).
 */
int gantry_cells_init(struct gantry_cells *cells, struct hwq_dev *dev, int socket);

/*
 * Ends the registration. Returns 0 or the negative errno of ibv_dereg_mr(3). After an error, call
 * this function again.
 */
int gantry_cells_fini(struct gantry_cells *cells);

/* Takes a free cell. Returns NULL if no cell is free. Owner thread. */
static inline uint64_t *
gantry_cell_get(struct gantry_cells *cells)
{
	return cells->n_free != 0 ? &cells->cell[cells->free[--cells->n_free]] : NULL;
}

/* Makes a cell free again. Owner thread. */
static inline void
gantry_cell_put(struct gantry_cells *cells, const uint64_t *cell)
{
	cells->free[cells->n_free++] = cell - cells->cell;
}

#endif
