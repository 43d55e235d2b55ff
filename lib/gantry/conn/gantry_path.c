/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks settings of connections, and merges those of a peer with those of its engine. */
#include "gantry_path.h"

#include <errno.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include <infiniband/verbs.h>

#include "gantry_log.h"

#define MIN_MTU 256
#define MAX_MTU 4096

static bool
in_range(const char *what, unsigned int value, unsigned int max)
{
	if (value <= max)
		return true;
	LOG(ERR, "gantry_path::%s is %u: 0 to %u are possible", what, value, max);
	return false;
}

int
gantry_path_check(const struct gantry_path *path)
{
	bool mtu = path->mtu == 0 ||
		   (path->mtu >= MIN_MTU && path->mtu <= MAX_MTU && rte_is_power_of_2(path->mtu));

	if (!mtu)
		LOG(ERR, "gantry_path::mtu is %u: 256, 512, 1024, 2048 and 4096 are possible",
			path->mtu);
	if (!mtu || !in_range("gid_index", path->gid_index, 256) ||
		!in_range("timeout", path->timeout, HWQ_PATH_MAX_TIMEOUT) ||
		!in_range("retries", path->retries, HWQ_PATH_MAX_RETRIES) ||
		!in_range("rnr_retries", path->rnr_retries, HWQ_PATH_MAX_RETRIES) ||
		!in_range("min_rnr_timer", path->min_rnr_timer, HWQ_PATH_MAX_RNR_TIMER))
		return -EINVAL;
	return 0;
}

/* enum ibv_mtu: 256 bytes are IBV_MTU_256, twice as many the next one. */
static uint8_t
mtu_code(uint16_t bytes)
{
	return bytes == 0 ? 0 : IBV_MTU_256 + rte_bsf32(bytes / MIN_MTU);
}

#define EITHER(field) (path->field != 0 ? path->field : other->field)

struct gantry_path
gantry_path_merge(const struct gantry_path *path, const struct gantry_path *other, uint8_t first)
{
	const uint8_t other_port = other->port != 0 ? other->port : first;
	const bool same_port = path->port == 0 || path->port == other_port;

	return (struct gantry_path){
		.port = EITHER(port),
		/* Each port has a GID table of its own. */
		.gid_index = same_port ? EITHER(gid_index) : path->gid_index,
		.traffic_class = EITHER(traffic_class),
		.mtu = EITHER(mtu),
		.timeout = EITHER(timeout),
		.retries = EITHER(retries),
		.rnr_retries = EITHER(rnr_retries),
		.min_rnr_timer = EITHER(min_rnr_timer),
	};
}

struct hwq_path
gantry_path_to_hwq(const struct gantry_path *path)
{
	return (struct hwq_path){
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
