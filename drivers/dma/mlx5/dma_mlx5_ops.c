/* SPDX-License-Identifier: BSD-3-Clause */
/* Configures, starts, stops and closes a device, and reports its state. */
#include "dma_mlx5_ops.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include <rte_common.h>

#include "dma_mlx5_data.h"
#include "dma_mlx5_log.h"
#include "dma_mlx5_mem.h"
#include "dma_mlx5_vchan.h"

static int
info_get(const struct rte_dma_dev *dev, struct rte_dma_info *info, uint32_t info_sz)
{
	const struct dma_mlx5 *d = dev->data->dev_private;

	RTE_SET_USED(info_sz);
	info->dev_capa = RTE_DMA_CAPA_MEM_TO_MEM | RTE_DMA_CAPA_HANDLES_ERRORS |
			 RTE_DMA_CAPA_OPS_COPY | RTE_DMA_CAPA_OPS_COPY_SG | RTE_DMA_CAPA_OPS_FILL;
	if (d->any != NULL)
		info->dev_capa |= RTE_DMA_CAPA_SVA;
	info->max_vchans = DMA_MLX5_MAX_VCHANS;
	info->min_desc = DMA_MLX5_MIN_DESC;
	info->max_desc = d->max_desc;
	info->max_sges = DMA_MLX5_MAX_SGES;
	return 0;
}

static int
destroy_vchans(struct dma_mlx5 *d)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; ret == 0 && i < RTE_DIM(d->vchan); i++)
		ret = dma_mlx5_vchan_destroy(&d->vchan[i]);
	return ret;
}

static int
configure(struct rte_dma_dev *dev, const struct rte_dma_conf *conf, uint32_t conf_sz)
{
	RTE_SET_USED(conf);
	RTE_SET_USED(conf_sz);
	return destroy_vchans(dev->data->dev_private);
}

static int
vchan_setup(struct rte_dma_dev *dev, uint16_t vchan, const struct rte_dma_vchan_conf *conf,
	uint32_t conf_sz)
{
	struct dma_mlx5 *d = dev->data->dev_private;
	int ret = dma_mlx5_vchan_destroy(&d->vchan[vchan]);

	RTE_SET_USED(conf_sz);
	return ret == 0 ? dma_mlx5_vchan_create(d, conf->nb_desc, &d->vchan[vchan]) : ret;
}

static int
start(struct rte_dma_dev *dev)
{
	struct dma_mlx5 *d = dev->data->dev_private;
	unsigned int n = dev->data->dev_conf.nb_vchans, i;
	int ret;

	for (i = 0; i < n; i++) {
		if (d->vchan[i] == NULL) {
			DMA_MLX5_LOG(ERR,
				"%s: virtual channel %u is not set up: call rte_dma_vchan_setup()",
				dev->data->dev_name, i);
			return -EINVAL;
		}
	}
	ret = dma_mlx5_mem_start(d);
	for (i = 0; ret == 0 && i < n; i++)
		dma_mlx5_vchan_start(d->vchan[i]);
	return ret;
}

static int
stop(struct rte_dma_dev *dev)
{
	struct dma_mlx5 *d = dev->data->dev_private;
	unsigned int i;

	for (i = 0; i < dev->data->dev_conf.nb_vchans; i++)
		dma_mlx5_vchan_stop(d->vchan[i]);
	return 0;
}

static int
close_dev(struct rte_dma_dev *dev)
{
	struct dma_mlx5 *d = dev->data->dev_private;
	int ret = destroy_vchans(d);

	if (ret == 0)
		ret = dma_mlx5_mem_end(d);
	if (ret == 0)
		ret = gantry_destroy(d->g);
	if (ret != 0)
		DMA_MLX5_LOG(ERR, "%s: closing: %s; call rte_dma_close() again",
			dev->data->dev_name, strerror(-ret));
	return ret;
}

/* ------------------------------------------------------------------ reports */

/* Returns virtual channel i if it is set up and `vchan` includes it; otherwise NULL. */
static struct dma_mlx5_vchan *
meant(const struct dma_mlx5 *d, uint16_t vchan, unsigned int i)
{
	return vchan == i || vchan == RTE_DMA_ALL_VCHAN ? d->vchan[i] : NULL;
}

static uint64_t
since(const dma_mlx5_counter *count, const dma_mlx5_counter *base)
{
	return dma_mlx5_count_get(count) - dma_mlx5_count_get(base);
}

static int
stats_get(const struct rte_dma_dev *dev, uint16_t vchan, struct rte_dma_stats *stats,
	uint32_t stats_sz)
{
	const struct dma_mlx5 *d = dev->data->dev_private;
	const struct dma_mlx5_vchan *v;
	unsigned int i;

	RTE_SET_USED(stats_sz);
	for (i = 0; i < RTE_DIM(d->vchan); i++) {
		v = meant(d, vchan, i);
		if (v == NULL)
			continue;
		stats->errors += since(&v->counts.errors, &v->base.errors);
		stats->completed += since(&v->counts.completed, &v->base.completed);
		stats->submitted += since(&v->counts.submitted, &v->base.submitted);
	}
	return 0;
}

static void
reset(dma_mlx5_counter *base, const dma_mlx5_counter *count)
{
	atomic_store_explicit(base, dma_mlx5_count_get(count), memory_order_relaxed);
}

static int
stats_reset(struct rte_dma_dev *dev, uint16_t vchan)
{
	struct dma_mlx5 *d = dev->data->dev_private;
	struct dma_mlx5_vchan *v;
	unsigned int i;

	for (i = 0; i < RTE_DIM(d->vchan); i++) {
		v = meant(d, vchan, i);
		if (v == NULL)
			continue;
		reset(&v->base.errors, &v->counts.errors);
		reset(&v->base.completed, &v->counts.completed);
		reset(&v->base.submitted, &v->counts.submitted);
	}
	return 0;
}

static int
vchan_status(const struct rte_dma_dev *dev, uint16_t vchan, enum rte_dma_vchan_status *status)
{
	const struct dma_mlx5 *d = dev->data->dev_private;
	struct gantry_info info;
	bool is_idle;

	if (d->vchan[vchan] == NULL)
		return -EINVAL;
	is_idle = dma_mlx5_data_settle(d->vchan[vchan]);
	/*
	 * Read the engine's state last, because the queue may be empty only because the device has
	 * failed meanwhile.
	 */
	gantry_info_get(d->g, &info);
	*status = !is_idle           ? RTE_DMA_VCHAN_ACTIVE
		  : info.device_lost ? RTE_DMA_VCHAN_HALTED_ERROR
				     : RTE_DMA_VCHAN_IDLE;
	/* The caller waits, perhaps on the CPU that the emulated adapter's thread needs. */
	if (*status == RTE_DMA_VCHAN_ACTIVE)
		sched_yield();
	return 0;
}

static int
dump(const struct rte_dma_dev *dev, FILE *f)
{
	static const char *const path[] = {
		[GANTRY_COPY_MMO] = "DMA MMO",
		[GANTRY_COPY_RDMA] = "loopback RDMA write",
	};
	const struct dma_mlx5 *d = dev->data->dev_private;
	const struct dma_mlx5_vchan *v;
	struct gantry_stats stats;
	struct gantry_info info;
	unsigned int i;

	gantry_info_get(d->g, &info);
	fprintf(f, "    device: %s%s\n    copies by: %s\n", info.device,
		info.device_lost ? " (it has failed)" : "", path[info.copy_path]);
	for (i = 0; i < RTE_DIM(d->vchan); i++) {
		v = d->vchan[i];
		if (v == NULL)
			continue;
		gantry_stats_get(v->q, &stats);
		fprintf(f,
			"    vchan %u: %u operations at most, submitted %" PRIu64
			", completed %" PRIu64 ", failed %" PRIu64 "\n"
			"      WQEs %" PRIu64 ", doorbells %" PRIu64 ", CQEs %" PRIu64
			", recoveries %" PRIu64 ", replays %" PRIu64 "\n",
			i, v->depth, dma_mlx5_count_get(&v->counts.submitted),
			dma_mlx5_count_get(&v->counts.completed),
			dma_mlx5_count_get(&v->counts.errors), stats.wqes, stats.doorbells,
			stats.cqes, stats.recoveries, stats.replays);
	}
	return 0;
}

const struct rte_dma_dev_ops dma_mlx5_ops = {
	.dev_info_get = info_get,
	.dev_configure = configure,
	.dev_start = start,
	.dev_stop = stop,
	.dev_close = close_dev,
	.vchan_setup = vchan_setup,
	.stats_get = stats_get,
	.stats_reset = stats_reset,
	.vchan_status = vchan_status,
	.dev_dump = dump,
};
