/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arena, which most tests of the engine use: an engine, memory `src` and `dst` for moving
 * bytes, and memory `broken`, whose key the device does not know.
 *
 * Piece i of src goes to piece i of dst, and its descriptor has the cookie i. Include this header
 * last: headers of the engine have parameters named src, dst and g.
 */
#ifndef GANTRY_ARENA_H
#define GANTRY_ARENA_H

#include "gantry_env.h"

#define ARENA_LEN (UINT64_C(1) << 20)

extern struct gantry *g;
/* ARENA_LEN bytes each. Peers may read and write both; peers may execute atomics on dst. */
extern uint8_t *src, *dst;
extern struct gantry_mem *src_mem, *dst_mem;
/* Memory whose key the device does not know. NULL before arena_break(). */
extern uint8_t *broken;
extern struct gantry_mem *broken_mem;
/*
 * The length of a piece: the smaller of 4096 and the length that one WQE copies. A test may set
 * another length.
 */
extern uint64_t piece;

/*
 * Creates the engine and its memory. Call it after env_init(). conf may be NULL. src gets the bytes
 * of seed 1.
 */
void arena_create(const struct gantry_conf *conf);
/* Sets `broken`: registers memory, then deregisters its key without the engine. */
void arena_break(void);
/*
 * Runs the cases (env_run()), unregisters the memory, destroys the engine, and returns the exit
 * code (env_done()).
 */
int arena_run(const struct check_case *cases, unsigned int n, int argc, char **argv);

struct gantry_desc arena_copy(uint32_t i);
struct gantry_desc arena_write(uint32_t i, uint16_t peer);
/* A copy from broken to piece i of dst. */
struct gantry_desc arena_failing_copy(uint32_t i);
/* Fills src with the bytes of this seed, and each byte of dst with ENV_UNTOUCHED. */
void arena_reset(uint64_t seed);
/* Calls env_is_moved() for piece i of src and dst. */
bool arena_is_moved(uint32_t i);

#endif
