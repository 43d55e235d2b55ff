/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Prints the table of a load: a row for each point of the sweep and each operation of the mix.
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
	[AXIS_RATE] = "rate",
	[AXIS_SIZE] = "size",
};

/* Returns true if the setting has several values, which are a column of the table. */
static bool
is_swept(const struct options *o, enum load_axis axis)
{
	return o->load.list[axis].n > 1;
}

/* Prints the settings that have one value in all points. */
static void
print_fixed(const struct options *o)
{
	const char *separator = "";
	struct load_point p;
	char told[256];

	load_point_get(o, 0, &p);
	if (p.value[AXIS_CORES] == 0)
		p.value[AXIS_CORES] = rte_lcore_count() - 1;
	for (int i = 0; i < LOAD_AXES; i++) {
		if (is_swept(o, i) || !load_uses(o, i))
			continue;
		printf("%s%s %" PRIu64, separator, axis_names[i], p.value[i]);
		separator = ", ";
	}
	options_told(o, told, sizeof(told));
	printf("%s%s\n", told[0] != '\0' ? separator : "", told);
}

void
load_report_begin(const struct options *o, const struct gantry *engine)
{
	struct gantry_info info;
	char head[16];

	gantry_info_get(engine, &info);
	printf("device %s: %s\nlatencies, in us, begin when an operation is %s, and end when its "
	       "completion is taken\n",
		info.device,
		o->load.via == LOAD_VIA_RING ? "the main lcore enqueues to worker lcores"
					     : "each worker lcore submits to its own queue",
		o->load.rate != 0 ? "due" : "handed over");
	print_fixed(o);
	for (int i = 0; i < LOAD_AXES; i++)
		if (is_swept(o, i))
			printf("%7s ", axis_names[i]);
	printf("%-9s %12s %9s %8s", "op", "ops", "Mops/s", "GB/s");
	for (uint32_t i = 0; i < o->load.percents.n; i++) {
		snprintf(head, sizeof(head), "%g%%", o->load.percents.value[i]);
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

/* Prints a row of the table. bytes: number of moved bytes. */
static void
print_row(const struct load_result *r, const char *name, const struct load_hist *h, uint64_t bytes)
{
	const double s = r->seconds > 0 ? r->seconds : 1;

	for (int i = 0; i < LOAD_AXES; i++)
		if (is_swept(r->opt, i))
			printf("%7" PRIu64 " ", r->point.value[i]);
	printf("%-9s %12" PRIu64 " %9.4f %8.3f", name, h->n, h->n / s / 1e6, bytes / s / 1e9);
	for (uint32_t i = 0; i < r->opt->load.percents.n; i++)
		printf(" %9.1f", to_us(load_hist_percentile(h, r->opt->load.percents.value[i])));
	printf(" %9.1f\n", to_us(h->max));
}

void
load_result_sum(const struct load_result *r, struct load_hist *all)
{
	for (int i = 0; i < LOAD_OPS; i++)
		load_hist_merge(all, &r->hist[i]);
}

static uint64_t
bytes_of(const struct load_result *r, int op)
{
	return r->hist[op].n * load_op_len(&load_ops[op], r->point.value[AXIS_SIZE]);
}

uint64_t
load_result_bytes(const struct load_result *r)
{
	uint64_t bytes = 0;

	for (int i = 0; i < LOAD_OPS; i++)
		bytes += bytes_of(r, i);
	return bytes;
}

void
load_report_point(const struct load_result *r)
{
	const struct load_mix *mix = &r->opt->load.mix;
	struct load_hist *all = calloc(1, sizeof(*all));
	int n = 0;

	for (int i = 0; i < LOAD_OPS; i++) {
		if (mix->weight[i] == 0)
			continue;
		print_row(r, load_ops[i].name, &r->hist[i], bytes_of(r, i));
		n++;
	}
	if (n > 1 && all != NULL) {
		load_result_sum(r, all);
		print_row(r, "all", all, load_result_bytes(r));
	}
	if (r->unsent != 0)
		printf("%" PRIu64 " more were due, but not submitted when the time was over\n",
			r->unsent);
	free(all);
	fflush(stdout);
}
