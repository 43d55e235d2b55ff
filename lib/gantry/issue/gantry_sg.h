/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between lists of buffers: the rules of the lists, and the next piece that one WQE copies.
 *
 *     src   |-- 0 --|---- 1 ----|- 2 -|
 *     dst   |---- 0 ----|--- 1 -------|
 *     WQEs  |-------|---|-------|-----|
 *
 * A piece ends where an entry of src or of dst ends, or after as many bytes as one WQE copies.
 */
#ifndef GANTRY_SG_H
#define GANTRY_SG_H

#include <stdbool.h>

#include "gantry_queue.h"

/*
 * Checks the lists of a COPY_SG whose fields are checked already. Returns GANTRY_OK, or the status
 * that refuses the descriptor. If it returns GANTRY_OK, *limits has the bits GANTRY_REGION_NO_* of
 * all buffers.
 */
enum gantry_status gantry_sg_check(struct gantry_queue *q, const struct gantry_desc *d,
	unsigned int *limits);

/* Returns true if all sources of a COPY_SG are registered. */
bool gantry_sg_has_sources(struct gantry_queue *q, const struct gantry_desc *d);

/*
 * Writes the next piece of w, with its keys, to *piece. *w does not change. Returns false if the
 * memory of the piece is no longer registered. If the CPU carries out the piece, it has no keys. In
 * *w, src and dst point to the current entries, and arg[] counts the bytes of these entries that
 * are done.
 */
bool gantry_sg_piece(struct gantry_queue *q, struct gantry_work *w, uint64_t max_len,
	struct gantry_work *piece);

/* Moves w forward by a piece of len bytes. */
void gantry_sg_advance(struct gantry_work *w, uint64_t len);

#endif
