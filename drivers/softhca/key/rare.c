/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves data in other ways than by a plain copy: memory on demand, and memory whose bytes may move
 * later.
 */
#include "rare.h"

#include "key.h"

enum sg_end
sg_move_rare(struct key_use *use, const struct sg *dst, const struct sg *src)
{
	if (use->user->move_later(use, dst, src))
		return SG_MOVED;
	if (((dst->rare | src->rare) & ACC_ON_DEMAND) != 0)
		return odp_move(use, dst, src);
	sg_copy(dst, src);
	return SG_MOVED;
}
