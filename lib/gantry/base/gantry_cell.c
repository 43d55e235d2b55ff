/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates and registers the words for results of atomics. */
#include "gantry_cell.h"

#include <errno.h>
#include <string.h>

#include "gantry_alloc.h"

static_assert(GANTRY_CELLS <= 256, "a cell's number is a byte");

#define CELLS_LEN (GANTRY_CELLS * sizeof(uint64_t))

int
gantry_cells_init(struct gantry_cells *cells, struct hwq_dev *dev, int socket)
{
	uint64_t *cell;
	uint32_t i;
	int ret;

	if (cells->cell != NULL)
		return 0;
	cell = gantry_alloc("gantry_cells", CELLS_LEN + GANTRY_CELLS, socket);
	if (cell == NULL)
		return -ENOMEM;
	ret = hwq_mr_register(dev, cell, CELLS_LEN, HWQ_ACCESS_LOCAL_WRITE, &cells->mr);
	if (ret != 0) {
		gantry_free(cell);
		return ret;
	}
	cells->cell = cell;
	cells->free = (uint8_t *)&cell[GANTRY_CELLS];
	for (i = 0; i < GANTRY_CELLS; i++)
		cells->free[i] = i;
	cells->n_free = GANTRY_CELLS;
	return 0;
}

int
gantry_cells_fini(struct gantry_cells *cells)
{
	int ret;

	if (cells->cell == NULL)
		return 0;
	ret = hwq_mr_deregister(&cells->mr);
	if (ret != 0)
		return ret;
	gantry_free(cells->cell);
	memset(cells, 0, sizeof(*cells));
	return 0;
}
