/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves data between lists of plain memory, of memory on demand, and of memory whose bytes may move
 * later.
 */
#ifndef SOFTHCA_RARE_H
#define SOFTHCA_RARE_H

#include "odp.h"

/* As sg_move(), for lists that are not all plain memory. */
enum sg_end sg_move_rare(struct key_use *use, const struct sg *dst, const struct sg *src);
/* Moves src->len bytes from src to dst. */
static inline enum sg_end
sg_move(struct key_use *use, const struct sg *dst, const struct sg *src)
{
	if (__builtin_expect((dst->rare | src->rare) != 0, 0))
		return sg_move_rare(use, dst, src);
	sg_copy(dst, src);
	return SG_MOVED;
}

#endif
