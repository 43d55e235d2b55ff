/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves a part of a message's data, for messages whose data come in several records. */
#include "move.h"

enum sg_end
move_part(struct key_use *use, const struct sg *to, uint64_t to_off, const struct sg *from,
	uint64_t from_off, uint64_t len)
{
	struct sg_place dst_at, src_at, dst_begin;
	struct sg dst, src;
	enum sg_end end;

	if (len == 0)
		return SG_MOVED;
	dst_at = sg_find(to, to_off);
	src_at = sg_find(from, from_off);
	for (; len != 0; len -= src.len) {
		dst_begin = dst_at;
		(void)sg_take(to, &dst_at, len, &dst);
		if (sg_take(from, &src_at, dst.len, &src) != dst.len) {
			dst_at = dst_begin;
			(void)sg_take(to, &dst_at, src.len, &dst);
		}
		end = sg_move(use, &dst, &src);
		if (end != SG_MOVED)
			return end;
	}
	return SG_MOVED;
}
