/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Opens the device, creates workers, and moves a file set.
 */
#include "flow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_lcore.h>

#include "device.h"
#include "lcores.h"
#include "output.h"
#include "quote.h"

#define STALL_NS UINT64_C(10000000000)

struct flow {
	const struct options *opt;
	struct file_set *set;
	struct report *report;
	struct gantry *engine;
	bool started;
	struct feed *feeds;
	size_t n_feeds;
	struct mover *mover;
	struct mover_progress progress; /* progress at the last call of flow_look() */
	uint64_t next_stall_ns;         /* time at which to warn that no completion comes */
};

/* ------------------------------------------------------------------ set up */

static void
say_engine(const struct flow *f)
{
	struct gantry_info info;

	gantry_info_get(f->engine, &info);
	printf("device %s, %zu worker lcore%s: ", info.device, f->n_feeds,
		f->n_feeds == 1 ? "" : "s");
	if (f->opt->mode == MODE_WRITE)
		printf("RDMA write to a peer\n");
	else if (f->opt->mode == MODE_READ)
		printf("RDMA read from a peer\n");
	else if (f->opt->policy[0] != '\0')
		printf("copies go as the policy %s says\n", quote_name(f->opt->policy));
	else if (info.copy_path == GANTRY_COPY_MMO)
		printf("copies go by DMA MMO, up to %" PRIu64 " bytes a WQE\n", info.max_copy_len);
	else if (f->opt->copy_path == GANTRY_COPY_AUTO)
		printf("no MMO on this device: copies go by loopback RDMA\n");
	else
		printf("copies go by loopback RDMA, as asked\n");
	fflush(stdout);
}

static int
count_feeds(struct flow *f)
{
	unsigned int n;

	if (lcores_workers(f->opt->nb_cores, &n) != 0)
		return -1;
	f->n_feeds = n;
	return 0;
}

static int
create_feeds(struct flow *f)
{
	unsigned int lcore_id = rte_get_next_lcore(-1, 1, 0);

	f->feeds = calloc(f->n_feeds, sizeof(*f->feeds));
	if (f->feeds == NULL) {
		error_print("out of memory for %zu workers", f->n_feeds);
		return -1;
	}
	if (report_reset(f->report, f->n_feeds) != 0)
		return -1;
	for (size_t i = 0; i < f->n_feeds; i++) {
		f->report->rows[i].lcore_id = lcore_id;
		f->report->rows[i].base_sleeps = f->report->rows[i].sleeps =
			lcores_sleeps(lcore_id);
		if (feed_create(&f->feeds[i], f->engine, lcore_id, f->opt) != 0)
			return -1;
		lcore_id = rte_get_next_lcore(lcore_id, 1, 0);
	}
	return 0;
}

static int
connect_feeds(struct flow *f)
{
	if (f->opt->mode == MODE_COPY)
		return 0;
	for (size_t i = 0; i < f->n_feeds; i++)
		if (feed_connect(&f->feeds[i], &f->feeds[(i + 1) % f->n_feeds]) != 0)
			return -1;
	return 0;
}

static int
start_engine(struct flow *f)
{
	int rc = gantry_start(f->engine);

	if (rc != 0) {
		error_print("cannot start the workers: %s", strerror(-rc));
		return -1;
	}
	f->started = true;
	return 0;
}

int
flow_create(const struct options *o, struct file_set *set, struct report *report,
	struct flow **flow)
{
	struct flow *f = calloc(1, sizeof(*f));

	if (f == NULL) {
		error_print("out of memory");
		return -1;
	}
	f->opt = o;
	f->set = set;
	f->report = report;
	if (count_feeds(f) != 0 || device_open_for_copies(f->opt, &f->engine) != 0 ||
		create_feeds(f) != 0 || connect_feeds(f) != 0 || start_engine(f) != 0)
		goto fail;
	say_engine(f);
	report->base_ns = now_ns();
	f->next_stall_ns = report->base_ns + STALL_NS;
	if (mover_create(o, set, f->feeds, f->n_feeds, &f->mover) != 0)
		goto fail;
	mover_look(f->mover, &f->progress);
	*flow = f;
	return 0;

fail:
	flow_destroy(f);
	return -1;
}

/* ------------------------------------------------------------------ tear down */

void
flow_count(struct flow *f)
{
	for (size_t i = 0; i < f->n_feeds; i++) {
		if (f->feeds[i].worker == NULL)
			continue;
		gantry_stats_get(gantry_worker_queue(f->feeds[i].worker), &f->report->rows[i].now);
		f->report->rows[i].sleeps = lcores_sleeps(f->feeds[i].lcore_id);
	}
	/*
	 * While chunks are in flight, the workers' counters may be greater than the mover's
	 * counters. So the period ends now, and not with the mover's last completion.
	 */
	f->report->end_ns = f->progress.in_flight != 0 ? now_ns() : f->progress.last_completion_ns;
	f->report->end_ns = RTE_MAX(f->report->end_ns, f->report->base_ns);
}

static int
destroy_feeds(struct flow *f)
{
	int rc = 0;

	if (f->feeds == NULL)
		return 0;
	flow_count(f);
	for (size_t i = 0; i < f->n_feeds; i++)
		rc |= feed_destroy(&f->feeds[i]);
	free(f->feeds);
	return rc;
}

void
flow_stop_files(struct flow *f)
{
	mover_stop(f->mover);
	mover_look(f->mover, &f->progress);
	outputs_discard(f->set);
}

int
flow_destroy(struct flow *f)
{
	int rc;

	if (f->started)
		gantry_stop(f->engine);
	rc = destroy_feeds(f);
	if (f->engine != NULL && gantry_destroy(f->engine) != 0) {
		error_print("the engine was still in use when it was closed");
		rc = -1;
	}
	if (f->mover != NULL)
		mover_destroy(f->mover);
	free(f);
	return rc;
}

/* ------------------------------------------------------------------ look */

static void
warn_of_stall(struct flow *f)
{
	const struct mover_progress *p = &f->progress;
	uint64_t now = now_ns();

	if (p->in_flight == 0 || now < RTE_MAX(f->next_stall_ns, p->last_completion_ns + STALL_NS))
		return;
	error_print("no completion for %.0f s, %" PRIu64 " chunks are in flight; still waiting",
		(now - p->last_completion_ns) / 1e9, p->in_flight);
	f->next_stall_ns = now + STALL_NS;
}

enum mover_state
flow_look(struct flow *f)
{
	enum mover_state state = mover_look(f->mover, &f->progress);

	if (state == MOVER_FAILED)
		error_print("%s", mover_error(f->mover));
	else if (state == MOVER_BUSY)
		warn_of_stall(f);
	return state;
}

void
flow_progress(const struct flow *f, struct progress *p)
{
	*p = (struct progress){
		.verb = "moved",
		.bytes_moved = f->progress.bytes_moved,
		.bytes_total = f->set->bytes - f->progress.bytes_in_holes,
		.bytes_in_holes = f->progress.bytes_in_holes,
		.files_verified = f->progress.files_verified,
		.files_total = f->set->n,
	};
}
