/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a device as an engine, and closes it. */
#include "gantry_trace.h" /* included before all other headers */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_lcore.h>

#include <hwq_fork.h>

#include "gantry_alloc.h"
#include "gantry_conf_check.h"
#include "gantry_deks.h"
#include "gantry_engine.h"
#include "gantry_event.h"
#include "gantry_layout.h"
#include "gantry_log.h"
#include "gantry_mem_export.h"
#include "gantry_path.h"
#include "gantry_policy.h"
#include "gantry_process.h"
#include "gantry_profile.h"
#include "gantry_profiles.h"
#include "gantry_queue.h"
#include "gantry_queue_life.h"
#include "gantry_seen.h"
#include "gantry_telemetry.h"

/*
 * The most bytes that one WQE moves, even if the device allows more. Hardware reads a length of 2
 * GiB as 0 (mlx5_wr_memcpy and set_data_ptr_seg of libmlx5), so the limit is half of it.
 */
#define MAX_WQE_LEN (UINT64_C(1) << 30)

/* Writes a line of lib/hwq's log to the engine's log. */
static void
log_line(const char *text)
{
	LOG_RATED(gantry_log_rate_others(), ERR, "%s", text);
}

static bool
has_mmo(const struct hwq_dev_caps *caps)
{
	return caps->max_memcpy_len != 0;
}

/*
 * Chooses the carrier of copies, and the most bytes that one WQE copies. Returns 0 or -EOPNOTSUPP.
 */
static int
choose_copy_path(struct gantry *g, const struct hwq_dev_caps *caps, const struct gantry_conf *conf)
{
	enum gantry_copy_path wish = conf->copy_path;
	bool mmo = has_mmo(caps);
	uint64_t limit = MAX_WQE_LEN;

	if (wish == GANTRY_COPY_MMO && !mmo) {
		LOG(ERR, "%s has no DMA MMO: choose copy path RDMA or AUTO", g->info.device);
		return -EOPNOTSUPP;
	}
	g->info.copy_path = mmo && wish != GANTRY_COPY_RDMA ? GANTRY_COPY_MMO : GANTRY_COPY_RDMA;
	g->info.carriers = 1u << GANTRY_CARRIER_USUAL | 1u << GANTRY_CARRIER_CPU;
	if (g->info.copy_path == GANTRY_COPY_MMO) {
		g->info.carriers |= 1u << GANTRY_CARRIER_MMO;
		limit = RTE_MIN(limit, caps->max_memcpy_len);
	}
	if (g->info.copy_path == GANTRY_COPY_RDMA || conf->rdma_copies) {
		g->info.carriers |= 1u << GANTRY_CARRIER_RDMA;
		limit = RTE_MIN(limit, caps->max_msg_len);
	}
	g->info.max_copy_len = limit;
	return 0;
}

/*
 * Opens the device that conf names, or the first device that has the features that conf asks for.
 */
static int
open_dev(struct gantry *g, const struct gantry_conf *conf)
{
	bool needs_mmo = conf->device == NULL && conf->copy_path == GANTRY_COPY_MMO;
	int ret;

	if (conf->ibv_ctx != NULL)
		ret = hwq_dev_open_on(conf->ibv_ctx, conf->pd, &g->dev);
	else
		ret = hwq_dev_open_if(conf->device, needs_mmo ? has_mmo : NULL, &g->dev);
	if (ret == -EOPNOTSUPP && needs_mmo)
		LOG(ERR, "no mlx5 device has DMA MMO: choose copy path RDMA or AUTO");
	else if (ret != 0)
		LOG(ERR, "cannot open %s: %s",
			conf->device == NULL ? "an mlx5 device" : conf->device, strerror(-ret));
	return ret;
}

/*
 * Logs one line about all features that the device lacks, and what the engine does without these
 * features.
 */
static void
say_missing(const struct gantry_info *info, const struct hwq_dev_caps *caps)
{
	const struct {
		bool has;
		const char *name;
	} features[] = {
		{caps->devx, "DEVX (no layouts)"},
		{has_mmo(caps), "DMA MMO (copies go by loopback RDMA)"},
		{info->sig_kinds != 0, "block signatures (no transactions)"},
		{info->crypto != 0, "AES-XTS (no encryption)"},
		{info->max_dm_len != 0, "device memory"},
		{info->any_memory, "memory on demand (all memory is registered)"},
		{caps->dc, "DC (peers by RC alone)"},
		{info->atomics, "atomics"},
	};
	char line[512];
	size_t i, used = 0;

	for (i = 0; i < RTE_DIM(features); i++)
		if (!features[i].has)
			used += snprintf(line + used, sizeof(line) - used, "%s%s",
				used == 0 ? "" : ", ", features[i].name);
	if (used != 0)
		LOG(INFO, "%s lacks: %s", info->device, line);
}

/*
 * Engines whose creation failed, and whose device then could not be closed. The control threads of
 * all engines use this list.
 */
static TAILQ_HEAD(, gantry) unclosed = TAILQ_HEAD_INITIALIZER(unclosed);
static pthread_mutex_t unclosed_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Closes the device of an engine whose creation failed. If this fails, close_again() tries again
 * later.
 */
static void
close_or_keep(struct gantry *g)
{
	if (hwq_dev_close(g->dev) == 0) {
		gantry_free(g);
		return;
	}
	pthread_mutex_lock(&unclosed_lock);
	TAILQ_INSERT_TAIL(&unclosed, g, next);
	pthread_mutex_unlock(&unclosed_lock);
}

static void
close_again(void)
{
	struct gantry *g, *next;

	pthread_mutex_lock(&unclosed_lock);
	for (g = TAILQ_FIRST(&unclosed); g != NULL; g = next) {
		next = TAILQ_NEXT(g, next);
		if (g->pid == getpid() && hwq_dev_close(g->dev) == 0) {
			TAILQ_REMOVE(&unclosed, g, next);
			gantry_free(g);
		}
	}
	pthread_mutex_unlock(&unclosed_lock);
}

/* ------------------------------------------------------------------ creation, destruction */

int
gantry_before_eal(void)
{
	return hwq_fork_refuse_init();
}

int
gantry_create(const struct gantry_conf *conf, struct gantry **out)
{
	static const struct gantry_conf defaults;
	const struct hwq_dev_caps *caps;
	struct gantry *g;
	int ret;

	if (conf == NULL)
		conf = &defaults;
	/* Before rte_eal_init() there are no lcores. */
	if (rte_lcore_count() == 0) {
		LOG(ERR, "gantry_create(): call rte_eal_init() first");
		return -EINVAL;
	}
	if (!GANTRY_IS_CLEAN("gantry_conf", conf))
		return -EINVAL;
	if ((unsigned int)conf->copy_path > GANTRY_COPY_RDMA) {
		LOG(ERR, "gantry_conf::copy_path is %d: use a value of gantry_copy_path",
			(int)conf->copy_path);
		return -EINVAL;
	}
	ret = gantry_path_check(&conf->path);
	if (ret != 0)
		return ret;
	if (conf->path.port == GANTRY_PORTS_IN_TURN &&
		(conf->path.mask & GANTRY_PATH_GID_INDEX) != 0) {
		LOG(ERR, "gantry_conf::path: GANTRY_PORTS_IN_TURN excludes gid_index, which "
			 "belongs to one port");
		return -EINVAL;
	}
	if (conf->ibv_ctx != NULL ? conf->device != NULL : conf->pd != NULL) {
		LOG(ERR,
			"gantry_conf: set ibv_ctx or device but not both, and pd only with ibv_ctx");
		return -EINVAL;
	}
	g = gantry_alloc("gantry", sizeof(*g), GANTRY_ALLOC_ANY_SOCKET);
	if (g == NULL)
		return -ENOMEM;
	g->path = conf->path;
	g->ports_in_turn = conf->path.port == GANTRY_PORTS_IN_TURN;
	if (g->ports_in_turn)
		g->path.port = 0;
	g->pid = getpid();
	STAILQ_INIT(&g->pools);
	STAILQ_INIT(&g->given_up);
	TAILQ_INIT(&g->queues);
	TAILQ_INIT(&g->unmade);
	TAILQ_INIT(&g->workers);
	gantry_shelf_init(&g->layouts, "gantry_layout", GANTRY_MAX_LAYOUTS,
		sizeof(struct gantry_layout));
	gantry_shelf_init(&g->profiles, "gantry_profile", GANTRY_MAX_PROFILES,
		sizeof(struct gantry_profile));
	gantry_deks_init(&g->deks);

	hwq_log_set(log_line);
	close_again();
	ret = open_dev(g, conf);
	if (ret != 0)
		goto free_engine;
	caps = hwq_dev_caps(g->dev);
	g->info.max_depth = GANTRY_MAX_DEPTH;
	g->info.max_peers = GANTRY_MAX_PEERS;
	g->info.max_wqes = caps->max_qp_wr;
	g->info.max_reads = caps->max_rd_atomic;
	g->info.n_ports = caps->n_ports;
	g->info.device = hwq_dev_name(g->dev);
	g->info.numa_node = hwq_dev_numa_node(g->dev);
	g->max_msg_len = RTE_MIN(caps->max_msg_len, MAX_WQE_LEN);
	g->info.max_msg_len = g->max_msg_len;
	g->info.atomics = caps->atomics;
	g->info.max_dm_len = caps->max_dm_len;
	g->info.any_memory = caps->any_memory;
	g->info.sig_kinds = gantry_profile_kinds(caps);
	g->info.sig_block_sizes = caps->sig_block_size;
	g->info.crypto = gantry_deks_caps(caps);
	g->info.layouts = caps->devx;
	ret = choose_copy_path(g, caps, conf);
	if (ret == 0)
		ret = gantry_policy_check(&g->info, conf->policy);
	if (ret == 0)
		ret = gantry_mem_shares(g);
	if (ret != 0)
		goto close_dev;
	if (conf->policy != NULL)
		g->policy = *conf->policy;
	ret = gantry_region_dir_init(&g->regions);
	if (ret != 0)
		goto close_dev;
	ret = gantry_event_start(g);
	if (ret != 0) {
		LOG(ERR, "%s: cannot start the thread that reads events: %s", g->info.device,
			strerror(-ret));
		goto fini_regions;
	}

	gantry_failures_init(&g->failures);
	gantry_seen_add_engine(g);
	gantry_telemetry_start();
	gantry_trace_engine_create(g->id, g->info.device);
	LOG(INFO, "%s: copies by %s, at most %" PRIu64 " bytes a WQE", g->info.device,
		g->info.copy_path == GANTRY_COPY_MMO ? "DMA MMO" : "loopback RDMA write",
		g->info.max_copy_len);
	say_missing(&g->info, caps);
	*out = g;
	return 0;

fini_regions:
	gantry_region_dir_fini(&g->regions);
close_dev:
	close_or_keep(g);
	return ret;
free_engine:
	gantry_free(g);
	return ret;
}

int
gantry_destroy(struct gantry *g)
{
	int ret = gantry_process_check(g->pid);

	if (ret != 0)
		return ret;
	if (!TAILQ_EMPTY(&g->queues) || !TAILQ_EMPTY(&g->workers)) {
		LOG(ERR, "%s: the engine still has queues or workers: destroy those first",
			g->info.device);
		return -EBUSY;
	}
	while (!STAILQ_EMPTY(&g->given_up)) {
		ret = gantry_mem_unregister(STAILQ_FIRST(&g->given_up), 0);
		if (ret != 0)
			return ret;
	}
	if (g->n_mems != 0) {
		LOG(ERR, "%s: the engine still has memory: call gantry_mem_unregister() first",
			g->info.device);
		return -EBUSY;
	}
	ret = gantry_queues_end(g);
	if (ret == 0)
		ret = gantry_deks_end(&g->deks);
	if (ret != 0)
		return ret;
	gantry_seen_remove_engine(g);
	gantry_event_stop(g);
	ret = hwq_dev_close(g->dev);
	if (ret != 0)
		return ret;
	gantry_failures_fini(&g->failures);
	gantry_trace_engine_destroy(g->id);
	gantry_region_dir_fini(&g->regions);
	gantry_shelf_fini(&g->layouts);
	gantry_shelf_fini(&g->profiles);
	gantry_deks_fini(&g->deks);
	gantry_free(g);
	close_again();
	return 0;
}

void
gantry_info_get(const struct gantry *g, struct gantry_info *info)
{
	*info = g->info;
	info->device_lost = atomic_load_explicit(&g->device_lost, memory_order_relaxed);
	info->number = g->id;
	info->ports_down = atomic_load_explicit(&g->ports_down, memory_order_relaxed);
}
