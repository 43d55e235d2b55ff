/* SPDX-License-Identifier: BSD-3-Clause */
/* The arena of most tests of the engine: see gantry_arena.h. */
#include "gantry_arena.h"

#include <rte_common.h>

struct gantry *g;
uint8_t *src, *dst, *broken;
struct gantry_mem *src_mem, *dst_mem, *broken_mem;
uint64_t piece;

void
arena_create(const struct gantry_conf *conf)
{
	struct gantry_info info;

	CHECK_EQ(gantry_create(conf, &g), 0);
	gantry_info_get(g, &info);
	piece = RTE_MIN(UINT64_C(4096), info.max_copy_len);
	src = env_mem(g, ARENA_LEN, ENV_REMOTE, &src_mem);
	dst = env_mem(g, ARENA_LEN, ENV_REMOTE | GANTRY_MEM_REMOTE_ATOMIC, &dst_mem);
	env_fill(src, ARENA_LEN, 1);
}

void
arena_break(void)
{
	broken = env_mem(g, ARENA_LEN, 0, &broken_mem);
	env_break(broken_mem);
}

int
arena_run(const struct check_case *cases, unsigned int n, int argc, char **argv)
{
	env_run(cases, n, argc, argv);
	if (broken_mem != NULL)
		env_mend(broken_mem);
	return env_done(g, (struct gantry_mem *const[]){src_mem, dst_mem, broken_mem},
		broken_mem != NULL ? 3 : 2);
}

struct gantry_desc
arena_copy(uint32_t i)
{
	struct gantry_desc d = env_copy(src + i * piece, dst + i * piece, piece);

	d.cookie = i;
	return d;
}

struct gantry_desc
arena_write(uint32_t i, uint16_t peer)
{
	struct gantry_desc d = arena_copy(i);

	d.op = GANTRY_OP_WRITE;
	d.peer = peer;
	d.remote_key = gantry_mem_remote_key(dst_mem);
	return d;
}

struct gantry_desc
arena_failing_copy(uint32_t i)
{
	return WITH(arena_copy(i), src, (uintptr_t)broken);
}

void
arena_reset(uint64_t seed)
{
	env_fill(src, ARENA_LEN, seed);
	memset(dst, ENV_UNTOUCHED, ARENA_LEN);
}

bool
arena_is_moved(uint32_t i)
{
	return env_is_moved(src + i * piece, dst + i * piece, piece);
}
