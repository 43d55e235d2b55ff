/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves a part of a message's data, for messages whose data come in several records. */
#include "move.h"

enum sg_end
move_part(struct key_use *use, const struct sg *whole, uint64_t off, const struct sg *data)
{
	uint64_t done = 0;
	struct sg to, from;
	enum sg_end end;

	while (done < data->len) {
		const uint64_t room = sg_part(whole, off + done, data->len - done, &to);

		(void)sg_part(data, done, room, &from);
		to.len = from.len;
		end = sg_move(use, &to, &from);
		if (end != SG_MOVED)
			return end;
		done += from.len;
	}
	return SG_MOVED;
}
