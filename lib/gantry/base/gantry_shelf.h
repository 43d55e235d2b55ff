/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shelf: what the control thread prepares and owners of queues use by its id, for example layouts.
 *
 *   control thread                           any thread
 *     gantry_shelf_put()                       gantry_shelf_read()
 *       writes the words of a cell               reads the serial number, the words, and the serial
 *       publishes its serial number  ------->    number again: the same one if the copy is whole
 *     gantry_shelf_remove()
 *       the serial number is 0, and so are the words
 *
 * A serial number names one thing for ever. Cells are not freed before the shelf ends, but serve the next things: so
 * any thread may read one at any time, and needs neither a lock nor a reference.
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
	_Atomic uint64_t serial; /* of all things of the shelf; 0: there is none */
	_Atomic uint64_t word[];
};

struct gantry_shelf {
	_Atomic(struct gantry_shelf_cell *)
		cell[GANTRY_SHELF_MAX + 1]; /* by id, from 1 on; NULL: none yet */
	const char *name;                   /* of the cells' memory */
	uint32_t max;                       /* the greatest id */
	uint32_t n_words;                   /* of one thing */
	uint64_t last_serial;
};

/* An empty shelf for things of `len` bytes, a multiple of 8, with ids up to max. Control thread. */
void gantry_shelf_init(struct gantry_shelf *shelf, const char *name, uint32_t max, size_t len);

/* Erases the cells, and frees them. Control thread; nobody reads any more. */
void gantry_shelf_fini(struct gantry_shelf *shelf);

/* Puts a copy of a thing on the shelf. 0, -ENOSPC or -ENOMEM. Control thread. */
int gantry_shelf_put(struct gantry_shelf *shelf, const void *thing, uint16_t *id);

/* Takes the thing off, and erases it. 0, or -EINVAL: there is none. Control thread. */
int gantry_shelf_remove(struct gantry_shelf *shelf, uint16_t id);

/* The cell of an id, which stays until the shelf ends; NULL: the id has had none yet. Any thread. */
static inline const struct gantry_shelf_cell *
gantry_shelf_cell(const struct gantry_shelf *shelf, uint16_t id)
{
	return id <= shelf->max ? atomic_load_explicit(&shelf->cell[id], memory_order_acquire)
				: NULL;
}

/* The serial number of what is in a cell; 0: nothing. Any thread. */
static inline uint64_t
gantry_shelf_cell_serial(const struct gantry_shelf_cell *cell)
{
	return atomic_load_explicit(&cell->serial, memory_order_acquire);
}

/* The serial number of the thing; 0: there is none. Any thread. */
static inline uint64_t
gantry_shelf_serial(const struct gantry_shelf *shelf, uint16_t id)
{
	const struct gantry_shelf_cell *cell = gantry_shelf_cell(shelf, id);

	return cell == NULL ? 0 : gantry_shelf_cell_serial(cell);
}

/* Copies the thing of this serial number. False: it was taken off meanwhile. Any thread. */
bool gantry_shelf_read(const struct gantry_shelf *shelf, uint16_t id, uint64_t serial, void *thing);

#endif
