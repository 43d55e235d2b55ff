/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transactions: profiles, what is refused, and what becomes of a transaction on each way out. Signatures that are
 * expected come from this file's own functions, bit by bit from the standards' polynomials.
 */
#include <errno.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include <softhca.h>

#include "gantry_env.h"

static struct gantry *g;

/* ------------------------------------------------------------------ profiles */

static const struct gantry_sig_domain none;
static const struct gantry_sig_domain dif = {GANTRY_SIG_T10DIF_CRC, 512, GANTRY_SIG_REF_REMAP};
static const struct gantry_sig_domain crc = {GANTRY_SIG_CRC32C, 4096, 0};

static int
profile(struct gantry_sig_domain mem, struct gantry_sig_domain wire, uint8_t check, int copy,
	uint16_t *id)
{
	const struct gantry_profile_conf conf = {.mem = mem,
		.wire = wire,
		.check = check,
		.copy = copy < 0 ? 0 : copy,
		.copy_is_set = copy >= 0};

	return gantry_profile_create(g, &conf, id);
}

static void
a_profile_is_refused_for_each_field_that_is_wrong(void)
{
	struct gantry_sig_domain d = dif;
	uint16_t id = 77;

	CHECK_EQ(profile(none, none, GANTRY_SIG_ALL, -1, &id), -EINVAL);
	d.kind = GANTRY_SIG_KIND_MAX;
	CHECK_EQ(profile(d, none, 0, -1, &id), -EINVAL);
	d = dif;
	d.block_size = 1024;
	CHECK_EQ(profile(none, d, 0, -1, &id), -EINVAL);
	d.block_size = 0;
	CHECK_EQ(profile(d, none, 0, -1, &id), -EINVAL);
	d = dif;
	d.flags = 1u << 3;
	CHECK_EQ(profile(d, none, 0, -1, &id), -EINVAL);
	d = crc;
	d.flags = GANTRY_SIG_REF_REMAP;
	CHECK_EQ(profile(none, d, 0, -1, &id), -EINVAL);
	d = none;
	d.block_size = 512;
	CHECK_EQ(profile(dif, d, 0, -1, &id), -EINVAL);
	CHECK_EQ(profile(dif, none, GANTRY_SIG_ALL + 1, -1, &id), -EINVAL);
	CHECK_EQ(profile(dif, dif, 0, GANTRY_SIG_ALL + 1, &id), -EINVAL);
	CHECK_EQ(profile(dif, none, 0, GANTRY_SIG_GUARD, &id), -EINVAL);
	d = dif;
	d.block_size = 4096;
	CHECK_EQ(profile(dif, d, 0, GANTRY_SIG_GUARD, &id), -EINVAL);
	CHECK_EQ(id, 77);
	CHECK_EQ(profile(dif, dif, 0, GANTRY_SIG_GUARD, &id), 0);
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
}

static void
an_engine_has_so_many_profiles(void)
{
	uint16_t id[GANTRY_MAX_PROFILES], one = 0;
	uint32_t i;

	for (i = 0; i < GANTRY_MAX_PROFILES; i++) {
		CHECK_EQ(profile(dif, none, GANTRY_SIG_ALL, -1, &id[i]), 0);
		CHECK_EQ(id[i], i + 1);
	}
	CHECK_EQ(profile(dif, none, GANTRY_SIG_ALL, -1, &one), -ENOSPC);
	CHECK_EQ(gantry_profile_destroy(g, id[7]), 0);
	CHECK_EQ(gantry_profile_destroy(g, id[7]), -EINVAL);
	CHECK_EQ(profile(crc, crc, GANTRY_SIG_GUARD, -1, &one), 0);
	CHECK_EQ(one, id[7]);
	for (i = 0; i < GANTRY_MAX_PROFILES; i++)
		CHECK_EQ(gantry_profile_destroy(g, id[i]), 0);
	CHECK_EQ(gantry_profile_destroy(g, 0), -EINVAL);
	CHECK_EQ(gantry_profile_destroy(g, GANTRY_MAX_PROFILES + 1), -EINVAL);
	CHECK_EQ(gantry_profile_destroy(g, UINT16_MAX), -EINVAL);
}

/* What ibv_devinfo(1) of the adapter says is what the engine says (doc/softhca.md: Block signatures). */
static void
the_engine_tells_what_the_device_has(void)
{
	struct gantry_info info;

	gantry_info_get(g, &info);
	CHECK_EQ(info.sig_kinds & ~RTE_BIT32(GANTRY_SIG_CRC64_XP10),
		RTE_BIT32(GANTRY_SIG_T10DIF_CRC) | RTE_BIT32(GANTRY_SIG_T10DIF_CSUM) |
			RTE_BIT32(GANTRY_SIG_CRC32) | RTE_BIT32(GANTRY_SIG_CRC32C));
	CHECK_EQ(info.sig_block_sizes, 0x1f);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a profile is refused for each field that is wrong",
			a_profile_is_refused_for_each_field_that_is_wrong},
		{"an engine has so many profiles", an_engine_has_so_many_profiles},
		{"the engine tells what the device has", the_engine_tells_what_the_device_has},
	};

	env_init(0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, NULL, 0);
}
