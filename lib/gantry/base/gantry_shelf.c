/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts objects on a shelf, copies them, and removes them. */
#include "gantry_shelf.h"

#include <errno.h>
#include <string.h>

#include "gantry_alloc.h"
#include "gantry_log.h"

void
gantry_shelf_init(struct gantry_shelf *shelf, const char *name, uint32_t max, size_t len)
{
	shelf->name = name;
	shelf->max = max;
	shelf->n_words = len / sizeof(uint64_t);
}

void
gantry_shelf_fini(struct gantry_shelf *shelf)
{
	uint32_t i;

	for (i = 1; i <= shelf->max; i++) {
		gantry_shelf_remove(shelf, i);
		gantry_free(atomic_load_explicit(&shelf->cell[i], memory_order_relaxed));
	}
}

/*
 * Finds a free id, and allocates the cell of this id if there is none. Returns 0, -ENOSPC or
 * -ENOMEM.
 */
static int
cell_find(struct gantry_shelf *shelf, uint16_t *id)
{
	struct gantry_shelf_cell *cell;
	uint32_t i;

	for (i = 1; i <= shelf->max; i++)
		if (gantry_shelf_serial(shelf, i) == 0)
			break;
	if (i > shelf->max) {
		LOG(ERR, "%s: all %u places are in use: destroy one", shelf->name, shelf->max);
		return -ENOSPC;
	}
	if (atomic_load_explicit(&shelf->cell[i], memory_order_relaxed) == NULL) {
		cell = gantry_alloc(shelf->name,
			sizeof(*cell) + shelf->n_words * sizeof(cell->word[0]),
			GANTRY_ALLOC_ANY_SOCKET);
		if (cell == NULL)
			return -ENOMEM;
		/* Pairs with the acquire in gantry_shelf_cell(). */
		atomic_store_explicit(&shelf->cell[i], cell, memory_order_release);
	}
	*id = i;
	return 0;
}

static void
cell_write(struct gantry_shelf *shelf, uint16_t id, const uint8_t *thing)
{
	struct gantry_shelf_cell *cell =
		atomic_load_explicit(&shelf->cell[id], memory_order_relaxed);
	uint64_t word;
	uint32_t i;

	/*
	 * These stores pair with the acquires in gantry_shelf_read(). After a reader has read one
	 * of these words, it cannot read the serial number that the cell had before
	 * gantry_shelf_remove().
	 */
	for (i = 0; i < shelf->n_words; i++) {
		memcpy(&word, thing + i * sizeof(word), sizeof(word));
		atomic_store_explicit(&cell->word[i], word, memory_order_release);
	}
	/* Pairs with the acquire in gantry_shelf_cell_serial(). */
	atomic_store_explicit(&cell->serial, ++shelf->last_serial, memory_order_release);
}

int
gantry_shelf_put(struct gantry_shelf *shelf, const void *thing, uint16_t *id)
{
	uint16_t i;
	int ret = cell_find(shelf, &i);

	if (ret != 0)
		return ret;
	cell_write(shelf, i, thing);
	*id = i;
	return 0;
}

int
gantry_shelf_remove(struct gantry_shelf *shelf, uint16_t id)
{
	struct gantry_shelf_cell *cell;
	uint32_t i;

	if (gantry_shelf_serial(shelf, id) == 0)
		return -EINVAL;
	cell = atomic_load_explicit(&shelf->cell[id], memory_order_relaxed);
	atomic_store_explicit(&cell->serial, 0, memory_order_relaxed);
	/*
	 * As in cell_write(): after a reader has read one of these zeros, it cannot read the
	 * earlier serial number.
	 */
	for (i = 0; i < shelf->n_words; i++)
		atomic_store_explicit(&cell->word[i], 0, memory_order_release);
	return 0;
}

bool
gantry_shelf_read(const struct gantry_shelf *shelf, uint16_t id, uint64_t serial, void *thing)
{
	const struct gantry_shelf_cell *cell =
		atomic_load_explicit(&shelf->cell[id], memory_order_acquire);
	uint64_t word;
	uint32_t i;

	for (i = 0; i < shelf->n_words; i++) {
		word = atomic_load_explicit(&cell->word[i], memory_order_acquire);
		memcpy((uint8_t *)thing + i * sizeof(word), &word, sizeof(word));
	}
	return atomic_load_explicit(&cell->serial, memory_order_relaxed) == serial;
}
