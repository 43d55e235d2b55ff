/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine's tests of failures share: one engine, and memory in pieces of one length. Piece i of `src` goes to piece
 * i of `dst`, by the descriptor with cookie i. Included behind all other headers, whose functions have such names inside.
 */
#ifndef GANTRY_PIECES_H
#define GANTRY_PIECES_H

#include "gantry_env.h"

static struct gantry *g;
static uint64_t piece = 64, arena_len;
static uint8_t *src, *dst, *broken;
static struct gantry_mem *src_mem, *dst_mem, *broken_mem;

/* Two arenas of len bytes. */
static inline void
pieces_make(uint64_t len, unsigned int flags)
{
	arena_len = len;
	src = env_mem(g, len, flags, &src_mem);
	dst = env_mem(g, len, flags, &dst_mem);
}

/* And one whose key the device no longer knows. */
static inline void
pieces_break(void)
{
	broken = env_mem(g, arena_len, 0, &broken_mem);
	env_break(broken_mem);
}

/* Ends what pieces_make() and pieces_break() have made, and the rest. Returns the exit code. */
static inline int
pieces_done(void)
{
	if (broken != NULL)
		env_mend(broken_mem);
	return env_done(g, (struct gantry_mem *const[]){src_mem, dst_mem, broken_mem},
		broken != NULL ? 3 : 2);
}

static inline void
reset_pieces(uint64_t seed)
{
	env_fill(src, arena_len, seed);
	memset(dst, ENV_UNTOUCHED, arena_len);
}

/* Since reset_pieces(). */
static inline bool
is_moved(uint32_t i)
{
	return env_is_moved(src + i * piece, dst + i * piece, piece);
}

static inline struct gantry_desc
good_copy(uint32_t i)
{
	return WITH(env_copy(src + i * piece, dst + i * piece, piece), cookie, i);
}

/* It fails in the device. */
static inline struct gantry_desc
failing_copy(uint32_t i)
{
	return WITH(env_copy(broken, dst + i * piece, piece), cookie, i);
}

static inline struct gantry_desc
good_write(uint32_t i, uint16_t peer)
{
	struct gantry_desc d = good_copy(i);

	d.op = GANTRY_OP_WRITE;
	d.peer = peer;
	d.remote_key = gantry_mem_remote_key(dst_mem);
	return d;
}

#endif
