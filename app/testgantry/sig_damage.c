/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Chooses which bits of a block are changed.
 */
#include "sig_damage.h"

#include <stddef.h>

#include "sig_guard.h"

/* Returns the n-th random number of a block, computed by SplitMix64. */
static uint64_t
draw(const struct damage_plan *plan, uint32_t block, uint32_t n)
{
	uint64_t x = plan->seed + (UINT64_C(4) * block + n + 1) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

bool
damage_has(const struct damage_plan *plan, uint32_t block)
{
	return draw(plan, block, 0) % 100 < plan->percent;
}

/*
 * One corruption in four is in the signature, at the end of the block. Bits are counted in the
 * order of T10-DIF's CRC, the highest bit of a byte first. In this order, data and guard are one
 * sequence of bits, and the CRC detects each burst that is not longer than the CRC. CRCs of 32 and
 * 64 bits process the lowest bit of a byte first. For such a CRC, a burst of 16 bits is a burst of
 * at most 24 bits, which the CRC detects too.
 */
static void
corrupt(const struct damage_plan *plan, uint32_t block, uint8_t *at)
{
	uint32_t begin = draw(plan, block, 1) % 4 == 0 ? plan->len - plan->sig_len : 0;
	uint32_t n_bits = 8 * (plan->len - begin) - plan->burst + 1;
	uint32_t first = 8 * begin + draw(plan, block, 2) % n_bits;
	/* the pattern is not 0 */
	uint32_t pattern = draw(plan, block, 3) % ((1u << plan->burst) - 1) + 1;

	for (uint32_t i = 0; i < plan->burst; i++)
		if ((pattern & 1u << i) != 0)
			at[(first + i) / 8] ^= 0x80 >> (first + i) % 8;
}

void
damage_apply(const struct damage_plan *plan, uint32_t first, uint32_t n, uint8_t *blocks)
{
	for (uint32_t i = 0; i < n; i++)
		if (damage_has(plan, first + i))
			corrupt(plan, first + i, blocks + (size_t)i * plan->len);
}

struct damage_plan
damage_plan_of(const struct options *o, enum place place)
{
	const enum gantry_sig_kind kind = place == DISK ? o->guard : o->wire;

	return (struct damage_plan){
		/* The wire's seed has bit 32 set, so it differs from all values of --seed. */
		.seed = o->seed + ((uint64_t)(place == WIRE) << 32),
		.percent = kind != GANTRY_SIG_NONE ? o->corrupt : 0,
		.len = o->block_size + sig_len(kind),
		.sig_len = sig_len(kind),
		.burst = kind == GANTRY_SIG_T10DIF_CSUM ? 1 : 16,
	};
}
