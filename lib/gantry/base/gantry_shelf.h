/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shelf holds objects of one type, for example layouts. The control thread puts an object on the
 * shelf, and owners of queues read it by its id. In this file "thing" means such an object.
 *
 *   control thread                           any thread
 *     gantry_shelf_put()                       gantry_shelf_read()
 *       writes the words of a cell               reads the words, then the serial number: if it is
 *       publishes its serial number  ------->    still the same, the copy is whole
 *     gantry_shelf_remove()
 *       sets the serial number and the words to 0
 *
 * A serial number is used for one thing only. A cell is freed only with the shelf; until then later
 * things use the cell. So any thread may read a cell at any time, and needs neither a lock nor a
 * reference.
 */
#ifndef GANTRY_SHELF_H
#define GANTRY_SHELF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The greatest id of any shelf. */
#define GANTRY_SHELF_MAX 1023

struct gantry_shelf_cell {
	/*
	 * Serial number of the thing, counted over all things of the shelf; 0: the cell is empty.
	 */
	_Atomic uint64_t serial;
	_Atomic uint64_t word[];
};

struct gantry_shelf {
	/* The index is the id, from 1 on. An element is NULL if no thing has had this id yet. */
	_Atomic(struct gantry_shelf_cell *) cell[GANTRY_SHELF_MAX + 1];
	const char *name; /* name of the cells' memory (gantry_alloc()) */
	uint32_t max;     /* greatest id of this shelf */
	uint32_t n_words; /* number of words of one thing */
	uint64_t last_serial;
};

/*
 * Makes an empty shelf. Its things have `len` bytes, which is a multiple of 8, and ids up to max.
 * Control thread.
 */
void gantry_shelf_init(struct gantry_shelf *shelf, const char *name, uint32_t max, size_t len);

/*
 * Erases and frees the cells. The caller makes sure that no thread reads them any more. Control
 * thread.
 */
void gantry_shelf_fini(struct gantry_shelf *shelf);

/*
 * Puts a copy of a thing on the shelf. Returns 0, -ENOSPC if all ids are in use, or -ENOMEM.
 * Control thread.
 */
int gantry_shelf_put(struct gantry_shelf *shelf, const void *thing, uint16_t *id);

/*
 * Removes the thing from the shelf, and erases it. Returns 0, or -EINVAL if no thing has this id.
 * Control thread.
 */
int gantry_shelf_remove(struct gantry_shelf *shelf, uint16_t id);

/*
 * Returns the cell of an id, or NULL if no thing has had this id yet. The cell stays until the end
 * of the shelf. Any thread.
 */
static inline const struct gantry_shelf_cell *
gantry_shelf_cell(const struct gantry_shelf *shelf, uint16_t id)
{
	return id <= shelf->max ? atomic_load_explicit(&shelf->cell[id], memory_order_acquire)
				: NULL;
}

/* Returns the serial number of the thing in a cell, or 0 if the cell is empty. Any thread. */
static inline uint64_t
gantry_shelf_cell_serial(const struct gantry_shelf_cell *cell)
{
	return atomic_load_explicit(&cell->serial, memory_order_acquire);
}

/* Returns the serial number of the thing with this id, or 0 if no thing has this id. Any thread. */
static inline uint64_t
gantry_shelf_serial(const struct gantry_shelf *shelf, uint16_t id)
{
	const struct gantry_shelf_cell *cell = gantry_shelf_cell(shelf, id);

	return cell == NULL ? 0 : gantry_shelf_cell_serial(cell);
}

/*
 * Copies the thing with this serial number. Returns false if this thing is no longer on the shelf.
 * Any thread.
 */
bool gantry_shelf_read(const struct gantry_shelf *shelf, uint16_t id, uint64_t serial, void *thing);

#endif
