/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks settings of connections, and merges those of a peer with those of its engine. */
#include "gantry_path.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include <infiniband/verbs.h>

#include "gantry_conf_check.h"
#include "gantry_log.h"

#define MIN_MTU 256
#define MAX_MTU 4096

/* The fields that are used only if the mask has their bit, and the greatest value of each field. */
static const struct {
	uint32_t bit;
	const char *name, *bit_name;
	size_t at, len;
	uint32_t max;
} masked[] = {
#define MASKED(name, bit, max)                                                                     \
	{                                                                                          \
		bit, #name, #bit, offsetof(struct gantry_path, name),                              \
			sizeof(((struct gantry_path *)0)->name), max                               \
	}
	MASKED(gid_index, GANTRY_PATH_GID_INDEX, 255),
	MASKED(traffic_class, GANTRY_PATH_TRAFFIC_CLASS, 255),
	MASKED(timeout, GANTRY_PATH_TIMEOUT, HWQ_PATH_MAX_TIMEOUT),
	MASKED(retries, GANTRY_PATH_RETRIES, HWQ_PATH_MAX_RETRIES),
	MASKED(rnr_retries, GANTRY_PATH_RNR_RETRIES, HWQ_PATH_MAX_RETRIES),
	MASKED(min_rnr_timer, GANTRY_PATH_MIN_RNR_TIMER, HWQ_PATH_MAX_RNR_TIMER),
};

static uint32_t
value_of(const struct gantry_path *path, size_t i)
{
	const uint8_t *at = (const uint8_t *)path + masked[i].at;

	return masked[i].len == sizeof(uint16_t) ? *(const uint16_t *)at : *at;
}

/*
 * Checks the fields that have a bit in the mask. Returns 0, or logs the name of the wrong field and
 * returns -EINVAL.
 */
static int
check_masked(const struct gantry_path *path)
{
	uint32_t known = 0;
	size_t i;

	for (i = 0; i < RTE_DIM(masked); i++) {
		const uint32_t value = value_of(path, i);

		known |= masked[i].bit;
		if (!gantry_is_given("gantry_path", masked[i].name, masked[i].bit_name,
			    (path->mask & masked[i].bit) != 0, value) ||
			!gantry_is_at_most("gantry_path", masked[i].name, value, masked[i].max))
			return -EINVAL;
	}
	return gantry_mask_is_known("gantry_path", path->mask, known) ? 0 : -EINVAL;
}

int
gantry_path_check(const struct gantry_path *path)
{
	bool mtu = path->mtu == 0 ||
		   (path->mtu >= MIN_MTU && path->mtu <= MAX_MTU && rte_is_power_of_2(path->mtu));

	if (!mtu)
		LOG(ERR, "gantry_path::mtu is %u: 256, 512, 1024, 2048 and 4096 are possible",
			path->mtu);
	if (!mtu || !GANTRY_IS_CLEAN("gantry_path", path))
		return -EINVAL;
	return check_masked(path);
}

/*
 * Returns the enum ibv_mtu of an MTU in bytes: IBV_MTU_256 for 256, the next value of the enum for
 * 512, and so on. Returns 0 for 0.
 */
static uint8_t
mtu_code(uint16_t bytes)
{
	return bytes == 0 ? 0 : IBV_MTU_256 + rte_bsf32(bytes / MIN_MTU);
}

#define EITHER(field)     (path->field != 0 ? path->field : other->field)
#define GIVEN(field, bit) ((path->mask & (bit)) != 0 ? path->field : other->field)

struct gantry_path
gantry_path_merge(const struct gantry_path *path, const struct gantry_path *other, uint8_t first)
{
	const uint8_t other_port = other->port != 0 ? other->port : first;
	const bool same_port = path->port == 0 || path->port == other_port;
	/* Each port has a GID table of its own, so the GID index of another port is not used. */
	const uint32_t inherited = same_port ? UINT32_MAX : ~GANTRY_PATH_GID_INDEX;

	return (struct gantry_path){
		.port = EITHER(port),
		.mtu = EITHER(mtu),
		.mask = path->mask | (other->mask & inherited),
		.gid_index = same_port ? GIVEN(gid_index, GANTRY_PATH_GID_INDEX) : path->gid_index,
		.traffic_class = GIVEN(traffic_class, GANTRY_PATH_TRAFFIC_CLASS),
		.timeout = GIVEN(timeout, GANTRY_PATH_TIMEOUT),
		.retries = GIVEN(retries, GANTRY_PATH_RETRIES),
		.rnr_retries = GIVEN(rnr_retries, GANTRY_PATH_RNR_RETRIES),
		.min_rnr_timer = GIVEN(min_rnr_timer, GANTRY_PATH_MIN_RNR_TIMER),
	};
}

static_assert(GANTRY_PATH_GID_INDEX == HWQ_PATH_GID_INDEX &&
		      GANTRY_PATH_TIMEOUT == HWQ_PATH_TIMEOUT &&
		      GANTRY_PATH_RETRIES == HWQ_PATH_RETRIES &&
		      GANTRY_PATH_RNR_RETRIES == HWQ_PATH_RNR_RETRIES &&
		      GANTRY_PATH_MIN_RNR_TIMER == HWQ_PATH_MIN_RNR_TIMER,
	"gantry_path and hwq_path have the same mask");

struct hwq_path
gantry_path_to_hwq(const struct gantry_path *path)
{
	return (struct hwq_path){
		/* lib/hwq has no bit for the traffic class: 0 is the default. */
		.mask = path->mask & ~GANTRY_PATH_TRAFFIC_CLASS,
		.port = path->port,
		.gid_index = path->gid_index,
		.traffic_class = path->traffic_class,
		.mtu = mtu_code(path->mtu),
		.timeout = path->timeout,
		.retries = path->retries,
		.rnr_retries = path->rnr_retries,
		.min_rnr_timer = path->min_rnr_timer,
	};
}
