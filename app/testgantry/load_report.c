/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The table of a load: a row for each point of the sweep and each operation of the mix.
 */
#include "load_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_lcore.h>

#include "report.h"

static const char *const axis_names[LOAD_AXES] = {
	[AXIS_CORES] = "lcores",
	[AXIS_PEERS] = "peers",
	[AXIS_REGIONS] = "regions",
	[AXIS_SGE] = "sge",
	[AXIS_LAYOUTS] = "layouts",
	[AXIS_DEPTH] = "depth",
	[AXIS_BURST] = "burst",
	[AXIS_SIZE] = "size",
};

static const double percents[] = {50, 99, 99.9};

/* The operations of the mix have use for it. */
static bool
is_used(const struct options *o, enum load_axis axis)
{
	switch (axis) {
	case AXIS_PEERS:
		return load_mix_has(&o->load.mix, load_op_has_peer);
	case AXIS_SGE:
		return load_mix_has(&o->load.mix, load_op_has_pieces);
	case AXIS_LAYOUTS:
		return load_mix_has(&o->load.mix, load_op_has_layout);
	default:
		return true;
	}
}

/* It has several values, which are a column of the table. */
static bool
is_swept(const struct options *o, enum load_axis axis)
{
	return o->load.list[axis].n > 1;
}

/* The values that stay. */
static void
print_fixed(const struct options *o)
{
	const char *separator = "";
	struct load_point p;

	load_point_get(o, 0, &p);
	if (p.value[AXIS_CORES] == 0)
		p.value[AXIS_CORES] = rte_lcore_count() - 1;
	for (int i = 0; i < LOAD_AXES; i++) {
		if (is_swept(o, i) || !is_used(o, i))
			continue;
		printf("%s%s %" PRIu64, separator, axis_names[i], p.value[i]);
		separator = ", ";
	}
	printf("\n");
}

void
load_report_begin(const struct options *o, const struct gantry *engine)
{
	struct gantry_info info;
	char head[16];

	gantry_info_get(engine, &info);
	printf("device %s: %s; latencies, in us, end when the completion is taken\n", info.device,
		o->load.via == LOAD_VIA_RING ? "the main lcore enqueues to worker lcores"
					     : "each worker lcore submits to its own queue");
	print_fixed(o);
	for (int i = 0; i < LOAD_AXES; i++)
		if (is_swept(o, i))
			printf("%7s ", axis_names[i]);
	printf("%-9s %12s %9s %8s", "op", "ops", "Mops/s", "GB/s");
	for (size_t i = 0; i < RTE_DIM(percents); i++) {
		snprintf(head, sizeof(head), "%g%%", percents[i]);
		printf(" %9s", head);
	}
	printf(" %9s\n", "longest");
	fflush(stdout);
}

void
load_report_end(const struct options *o, uint64_t verified)
{
	if (o->load.verify)
		printf("%" PRIu64 " more operations were verified: every byte is equal\n",
			verified);
	else
		printf("nothing was verified: --verify off\n");
	fflush(stdout);
}

static double
to_us(uint64_t tsc)
{
	return tsc * 1e6 / rte_get_tsc_hz();
}

/* bytes: that were moved. */
static void
print_row(const struct load_result *r, const char *name, const struct load_hist *h, uint64_t bytes)
{
	const double s = r->seconds > 0 ? r->seconds : 1;

	for (int i = 0; i < LOAD_AXES; i++)
		if (is_swept(r->opt, i))
			printf("%7" PRIu64 " ", r->point.value[i]);
	printf("%-9s %12" PRIu64 " %9.4f %8.3f", name, h->n, h->n / s / 1e6, bytes / s / 1e9);
	for (size_t i = 0; i < RTE_DIM(percents); i++)
		printf(" %9.1f", to_us(load_hist_percentile(h, percents[i])));
	printf(" %9.1f\n", to_us(h->max));
}

void
load_report_point(const struct load_result *r)
{
	const struct load_mix *mix = &r->opt->load.mix;
	struct load_hist *all = calloc(1, sizeof(*all));
	uint64_t bytes, sum = 0;
	int n = 0;

	for (int i = 0; i < LOAD_OPS; i++) {
		if (mix->weight[i] == 0)
			continue;
		bytes = r->hist[i].n * load_op_len(&load_ops[i], r->point.value[AXIS_SIZE]);
		print_row(r, load_ops[i].name, &r->hist[i], bytes);
		if (all != NULL)
			load_hist_merge(all, &r->hist[i]);
		sum += bytes;
		n++;
	}
	if (n > 1 && all != NULL)
		print_row(r, "all", all, sum);
	free(all);
	fflush(stdout);
}
