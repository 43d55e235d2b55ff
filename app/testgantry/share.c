/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Copies between two functions of a card, and compares all bytes.
 */
#include "share.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_random.h>

#include "device.h"
#include "job.h"
#include "quote.h"
#include "report.h"

#define LEN    (16u << 20) /* bytes of a region */
#define DEPTH  16
#define ROUNDS 4 /* copies of each length */

static const uint64_t lens[] = {1, 63, 4096, 65536, 2097152, 2097153, LEN / 2};

/* One function: an engine, two regions, and the regions of the other function. */
struct end {
	const char *name;
	struct gantry *engine;
	struct gantry_queue *queue;
	uint8_t *region[2];
	struct gantry_mem *mem[2];
	uint8_t *import[2];
	struct gantry_mem *import_mem[2];
};

/* ------------------------------------------------------------------ set up */

static int
failed(const struct end *e, const char *what, int rc)
{
	error_print("--export: %s: cannot %s: %s; the log lines above say more",
		quote_name(e->name), what, strerror(-rc));
	return -1;
}

static int
end_open(struct end *e, const struct options *o, const char *device)
{
	const struct gantry_conf conf = {.copy_path = o->copy_path};
	const struct gantry_queue_conf queue_conf = {.depth = DEPTH};
	struct options one = *o;
	struct gantry_info info;
	int rc;

	snprintf(one.device, sizeof(one.device), "%s", device);
	if (device_open(&one, conf, &e->engine) != 0)
		return -1;
	gantry_info_get(e->engine, &info);
	e->name = info.device;
	if ((info.shares & GANTRY_SHARE_EXPORT) == 0) {
		error_print("--export: %s lets no other function use its memory: doc/hardware.md, "
			    "Functions of a card",
			quote_name(e->name));
		return -1;
	}
	rc = gantry_queue_create(e->engine, &queue_conf, &e->queue);
	if (rc != 0)
		return failed(e, "create a queue", rc);
	for (unsigned int i = 0; i < 2; i++) {
		e->region[i] = aligned_alloc(4096, LEN);
		if (e->region[i] == NULL)
			return failed(e, "allocate memory", -ENOMEM);
		for (size_t at = 0; at < LEN; at += sizeof(uint64_t))
			memcpy(e->region[i] + at, &(uint64_t){rte_rand()}, sizeof(uint64_t));
		rc = gantry_mem_register(e->engine, e->region[i], LEN, 0, &e->mem[i]);
		if (rc != 0)
			return failed(e, "register memory", rc);
	}
	return 0;
}

/* Lets `to` import the regions of `from`. */
static int
end_share(struct end *from, struct end *to)
{
	struct gantry_mem_record record;
	void *at;
	int rc;

	for (unsigned int i = 0; i < 2; i++) {
		rc = gantry_mem_export(from->mem[i], 0, &record);
		if (rc != 0)
			return failed(from, "export memory", rc);
		rc = gantry_mem_import(to->engine, &record, 0, &to->import_mem[i], &at);
		if (rc != 0)
			return failed(to, "import memory", rc);
		to->import[i] = at;
	}
	return 0;
}

static void
end_close(struct end *e)
{
	for (unsigned int i = 0; i < 2; i++) {
		if (e->import_mem[i] != NULL)
			(void)gantry_mem_unregister(e->import_mem[i], 1000);
		if (e->mem[i] != NULL)
			(void)gantry_mem_unregister(e->mem[i], 1000);
		free(e->region[i]);
	}
	if (e->queue != NULL)
		(void)gantry_queue_destroy(e->queue);
	if (e->engine != NULL)
		(void)gantry_destroy(e->engine);
}

/* ------------------------------------------------------------------ copies */

/* A way of the bytes: what the copying function sees, and where the bytes really are. */
struct way {
	const char *text;
	struct end *by;
	const struct end *other;
	uint8_t *src_seen, *dst_seen, *src, *dst;
};

/* Copies, and waits. Returns 0, JOB_STOPPED, or -1 with the error printed. */
static int
copy(const struct way *w, uint64_t from, uint64_t to, uint64_t len)
{
	const struct gantry_desc d = {.op = GANTRY_OP_COPY,
		.src = (uintptr_t)w->src_seen + from,
		.dst = (uintptr_t)w->dst_seen + to,
		.len = len};
	struct gantry_comp comp;

	if (gantry_submit(w->by->queue, &d, 1) != 1) {
		error_print("--export: the queue takes no descriptor");
		return -1;
	}
	while (gantry_poll(w->by->queue, &comp, 1) == 0)
		if (stop_signal != 0)
			return JOB_STOPPED;
	if (comp.status == GANTRY_OK)
		return 0;
	error_print("--export: %s: a copy of %" PRIu64 " bytes ended with %s, syndrome 0x%02x",
		w->by->name, len, gantry_status_name(comp.status), comp.syndrome);
	return -1;
}

/* Runs all lengths of a way, compares the whole destination after each copy, and prints a line. */
static int
run_way(const struct way *w)
{
	uint8_t *want = malloc(LEN);
	uint64_t bytes = 0, cycles = 0;
	unsigned int n = 0;
	int rc = 0;

	if (want == NULL)
		return failed(w->by, "allocate memory", -ENOMEM);
	memcpy(want, w->dst, LEN);
	for (unsigned int i = 0; rc == 0 && i < RTE_DIM(lens) * ROUNDS; i++) {
		const uint64_t len = lens[i / ROUNDS], from = rte_rand_max(LEN - len + 1);
		const uint64_t to = rte_rand_max(LEN - len + 1), begin = rte_rdtsc();

		rc = copy(w, from, to, len);
		cycles += rte_rdtsc() - begin;
		memcpy(want + to, w->src + from, len);
		if (rc == 0 && memcmp(want, w->dst, LEN) != 0) {
			error_print("--export: %s: after a copy of %" PRIu64
				    " bytes the destination has other bytes",
				w->by->name, len);
			rc = -1;
		}
		bytes += len;
		n++;
	}
	free(want);
	if (rc == 0)
		printf("%s %s %s: %u copies, %.1f MiB, all bytes equal; %.2f GiB/s\n", w->by->name,
			w->text, w->other->name, n, (double)bytes / (1 << 20),
			(double)bytes * (double)rte_get_tsc_hz() / (double)cycles / (1u << 30));
	return rc;
}

/* Runs the ways in which `by` is the importer. */
static int
run_by(struct end *by, const struct end *other)
{
	const struct way ways[] = {
		{"copies from", by, other, by->import[0], by->region[0], other->region[0],
			by->region[0]},
		{"copies to", by, other, by->region[1], by->import[1], by->region[1],
			other->region[1]},
		{"copies inside", by, other, by->import[1], by->import[0], other->region[1],
			other->region[0]},
	};
	int rc = 0;

	for (unsigned int i = 0; rc == 0 && i < RTE_DIM(ways); i++)
		rc = run_way(&ways[i]);
	return rc;
}

int
share_run(const struct options *o)
{
	struct end a = {.name = o->device}, b = {.name = o->export};
	int rc = end_open(&a, o, o->device);

	if (rc == 0)
		rc = end_open(&b, o, o->export);
	if (rc == 0)
		rc = end_share(&a, &b);
	if (rc == 0)
		rc = end_share(&b, &a);
	if (rc == 0)
		rc = run_by(&b, &a);
	if (rc == 0)
		rc = run_by(&a, &b);
	if (rc == JOB_STOPPED)
		rc = job_say_stopped("not all ways were run");
	/* Importers end before owners. */
	for (unsigned int i = 0; i < 2; i++) {
		if (a.import_mem[i] != NULL && gantry_mem_unregister(a.import_mem[i], 1000) == 0)
			a.import_mem[i] = NULL;
	}
	end_close(&b);
	end_close(&a);
	return rc;
}
