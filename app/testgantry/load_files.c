/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Makes the fields of a measurement, and writes them to the files.
 */
#include "load_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "quote.h"
#include "report.h"

#define FIELDS_MAX 256
#define TEXT_LEN   256

static_assert(40 + LOAD_OPS * (2 + LOAD_PERCENTS_MAX) <= FIELDS_MAX, "of each operation, too");

/*
 * A value, as text that is valid in both files. The text contains no character that needs an
 * escape.
 */
struct field {
	char name[40];
	char value[TEXT_LEN];
	bool text;
};

struct fields {
	uint32_t n;
	struct field field[FIELDS_MAX];
};

struct out {
	const char *option, *path;
	FILE *file; /* NULL: the user did not ask for this file */
	bool begun;
};

struct load_files {
	struct out csv, json;
	struct fields fields;
};

/* ------------------------------------------------------------------ fields */

static void __attribute__((format(printf, 3, 4)))
add(struct fields *f, const char *name, const char *format, ...)
{
	struct field *field = &f->field[f->n++];
	va_list args;

	snprintf(field->name, sizeof(field->name), "%s", name);
	va_start(args, format);
	vsnprintf(field->value, sizeof(field->value), format, args);
	va_end(args);
	field->text = false;
}

static void
add_text(struct fields *f, const char *name, const char *text)
{
	add(f, name, "%s", text);
	f->field[f->n - 1].text = true;
}

static double
to_us(uint64_t tsc)
{
	return tsc * 1e6 / rte_get_tsc_hz();
}

/* Adds the fields of latencies. prefix: beginning of the fields' names. */
static void
add_latencies(struct fields *f, const char *prefix, const struct load_percents *percents,
	const struct load_hist *h)
{
	char name[40];

	for (uint32_t i = 0; i < percents->n; i++) {
		snprintf(name, sizeof(name), "%sp%g_us", prefix, percents->value[i]);
		add(f, name, "%.3f", to_us(load_hist_percentile(h, percents->value[i])));
	}
	snprintf(name, sizeof(name), "%smax_us", prefix);
	add(f, name, "%.3f", to_us(h->max));
}

static void
add_settings(struct fields *f, const char *device, const struct load_result *r)
{
	static const char *const names[LOAD_AXES] = {
		[AXIS_CORES] = "lcores",
		[AXIS_PEERS] = "peers",
		[AXIS_REGIONS] = "regions",
		[AXIS_SGE] = "sge",
		[AXIS_LAYOUTS] = "layouts",
		[AXIS_DEPTH] = "depth",
		[AXIS_BURST] = "burst",
		[AXIS_RATE] = "rate_per_s",
		[AXIS_SIZE] = "size_bytes",
	};
	char mix[TEXT_LEN], told[TEXT_LEN];

	load_mix_print(&r->opt->load.mix, mix, sizeof(mix));
	add_text(f, "device", device);
	add_text(f, "load", mix);
	add_text(f, "via", r->opt->load.via == LOAD_VIA_RING ? "ring" : "inline");
	options_told(r->opt, told, sizeof(told));
	add_text(f, "options", told);
	for (int i = 0; i < LOAD_AXES; i++)
		add(f, names[i], "%" PRIu64, load_uses(r->opt, i) ? r->point.value[i] : 0);
}

static void
add_sums(struct fields *f, const struct load_result *r, const struct load_hist *all, uint64_t bytes)
{
	const double s = r->seconds > 0 ? r->seconds : 1, n = RTE_MAX(all->n, UINT64_C(1));

	add(f, "complete", "%d", r->complete);
	add(f, "seconds", "%.9f", r->seconds);
	add(f, "ops", "%" PRIu64, all->n);
	add(f, "unsent_ops", "%" PRIu64, r->unsent);
	add(f, "verified_ops", "%" PRIu64, r->verified);
	add(f, "ops_per_s", "%.3f", all->n / s);
	add(f, "bytes_per_s", "%.3f", bytes / s);
	add(f, "doorbells_per_op", "%.6f", r->doorbells / n);
	add(f, "wqes_per_op", "%.6f", r->wqes / n);
	add(f, "cqes_per_op", "%.6f", r->cqes / n);
	add(f, "mean_us", "%.3f", to_us(all->sum) / n);
}

static int
make_fields(struct fields *f, const char *device, const struct load_result *r)
{
	const struct load_conf *conf = &r->opt->load;
	struct load_hist *all = calloc(1, sizeof(*all));
	char prefix[24];

	if (all == NULL) {
		error_print("out of memory");
		return -1;
	}
	f->n = 0;
	load_result_sum(r, all);
	add_settings(f, device, r);
	add_sums(f, r, all, load_result_bytes(r));
	add_latencies(f, "", &conf->percents, all);
	for (int i = 0; i < LOAD_OPS; i++) {
		/* If the mix has one operation, its figures are the totals. */
		if (conf->mix.weight[i] == 0 || conf->mix.weight[i] == conf->mix.sum)
			continue;
		snprintf(prefix, sizeof(prefix), "%s_ops", load_ops[i].name);
		add(f, prefix, "%" PRIu64, r->hist[i].n);
		snprintf(prefix, sizeof(prefix), "%s_", load_ops[i].name);
		add_latencies(f, prefix, &conf->percents, &r->hist[i]);
	}
	free(all);
	return 0;
}

/* ------------------------------------------------------------------ files */

/* A text may contain a comma, so texts are quoted in the CSV file. */
static void
write_csv(struct out *o, const struct fields *f)
{
	for (uint32_t i = 0; !o->begun && i < f->n; i++)
		fprintf(o->file, "%s%s", f->field[i].name, i + 1 < f->n ? "," : "\n");
	for (uint32_t i = 0; i < f->n; i++)
		fprintf(o->file, f->field[i].text ? "\"%s\"%s" : "%s%s", f->field[i].value,
			i + 1 < f->n ? "," : "\n");
	o->begun = true;
}

static void
write_json(struct out *o, const struct fields *f)
{
	fputs(o->begun ? ",\n\t\t{" : "{\n\t\"points\": [\n\t\t{", o->file);
	for (uint32_t i = 0; i < f->n; i++)
		fprintf(o->file, f->field[i].text ? "%s\"%s\": \"%s\"" : "%s\"%s\": %s",
			i > 0 ? ", " : "", f->field[i].name, f->field[i].value);
	fputc('}', o->file);
	o->begun = true;
}

static void
end_json(struct out *o)
{
	if (o->file != NULL)
		fputs(o->begun ? "\n\t]\n}\n" : "{\n\t\"points\": []\n}\n", o->file);
}

static int
refuse(const struct out *o)
{
	error_print("--%s: cannot write the measurements to %s: %s; name a file that can be "
		    "written",
		o->option, quote_name(o->path), strerror(errno));
	return -1;
}

static int
open_out(struct out *o, const char *option, const char *path)
{
	o->option = option;
	o->path = path;
	if (path[0] == '\0')
		return 0;
	o->file = fopen(path, "we");
	return o->file != NULL ? 0 : refuse(o);
}

static int
flush_out(struct out *o)
{
	return o->file == NULL || (fflush(o->file) == 0 && ferror(o->file) == 0) ? 0 : refuse(o);
}

static int
close_out(struct out *o)
{
	return o->file == NULL || fclose(o->file) == 0 ? 0 : refuse(o);
}

int
load_files_open(const struct options *o, struct load_files **files)
{
	struct load_files *f = calloc(1, sizeof(*f));

	if (f == NULL) {
		error_print("out of memory");
		return -1;
	}
	if (open_out(&f->csv, "csv", o->load.csv) == 0 &&
		open_out(&f->json, "json", o->load.json) == 0) {
		*files = f;
		return 0;
	}
	load_files_close(f);
	return -1;
}

int
load_files_point(struct load_files *f, const char *device, const struct load_result *r)
{
	if (f->csv.file == NULL && f->json.file == NULL)
		return 0;
	if (make_fields(&f->fields, device, r) != 0)
		return -1;
	if (f->csv.file != NULL)
		write_csv(&f->csv, &f->fields);
	if (f->json.file != NULL)
		write_json(&f->json, &f->fields);
	return flush_out(&f->csv) | flush_out(&f->json);
}

int
load_files_close(struct load_files *f)
{
	int rc;

	end_json(&f->json);
	rc = close_out(&f->csv);
	rc |= close_out(&f->json);
	free(f);
	return rc;
}
