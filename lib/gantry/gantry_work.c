/* SPDX-License-Identifier: BSD-3-Clause */
/* The WQEs of work that is not a plain copy of one WQE. */
#include "gantry_work.h"

/* Writes WQEs that move as many bytes as one WQE can: a long operation is several of them. */
static bool
next_piece(struct gantry_conn *c, struct gantry_work *w, uint8_t kind)
{
	uint64_t len = RTE_MIN(w->len, c->max_len);

	if (!gantry_work_put(c, w, kind, len))
		return false;
	w->src += len;
	w->dst += len;
	w->len -= len;
	return true;
}

bool
gantry_work_next(struct gantry_queue *q, struct gantry_conn *c, struct gantry_work *w)
{
	RTE_SET_USED(q);
	switch ((enum gantry_work_kind)w->kind) {
	case GANTRY_WORK_MEMCPY:
		return next_piece(c, w, GANTRY_WORK_MEMCPY);
	case GANTRY_WORK_WRITE:
		return next_piece(c, w, GANTRY_WORK_WRITE);
	case GANTRY_WORK_READ:
		return next_piece(c, w, GANTRY_WORK_READ);
	}
	return false;
}
