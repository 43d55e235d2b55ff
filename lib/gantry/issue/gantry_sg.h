/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between lists of buffers: the rules of the lists, and the next piece that one WQE copies.
 *
 *     src   |-- 0 --|---- 1 ----|- 2 -|          a piece ends where an entry of either list ends, or
 *     dst   |---- 0 ----|--- 1 -------|          after as many bytes as one WQE copies
 *     WQEs  |-------|---|-------|-----|
 */
#ifndef GANTRY_SG_H
#define GANTRY_SG_H

#include <stdbool.h>

#include "gantry_queue.h"

/*
 * GANTRY_OK, or the status that refuses a COPY_SG. Its fields are checked, but not the lists. If it is
 * GANTRY_OK, *by_rdma says whether only RDMA copies one of the buffers.
 */
enum gantry_status gantry_sg_check(struct gantry_queue *q, const struct gantry_desc *d,
	bool *by_rdma);

/* True: all sources of a COPY_SG are registered. */
bool gantry_sg_has_sources(struct gantry_queue *q, const struct gantry_desc *d);

/*
 * The piece of w that comes next, with its keys, in *piece. Moves nothing. False: its memory is not
 * registered any more. If the CPU carries it, the piece has no keys. Of w, src and dst point at the
 * current entries, and arg[] are the bytes of them that are done.
 */
bool gantry_sg_piece(struct gantry_queue *q, struct gantry_work *w, uint64_t max_len,
	struct gantry_work *piece);

/* Moves w forward by a piece of len bytes. */
void gantry_sg_advance(struct gantry_work *w, uint64_t len);

#endif
