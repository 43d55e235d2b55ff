/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Moves a file set: reads chunks into the feeds, writes what comes back, verifies, publishes.
 *
 * Files are read in order, one after the other; those that are read to their end but not yet
 * written, verified and published follow behind, at most OPEN_MAX_FILES of them.
 *
 *     published ...| verifying ... | ... | reading ...| not opened yet
 *
 * Nothing here waits: flow_step() does what can be done now, so that workers stay busy while other
 * chunks are on their way from or to the disk.
 */
#include "flow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_lcore.h>

#include "feed.h"
#include "output.h"
#include "policy.h"

#define OPEN_MAX_FILES 64           /* open at once; each has two file descriptors */
#define FILL_LEN       (32u << 20)  /* read for one feed in one round; a chunk may be longer */
#define VERIFY_LEN     (256u << 10) /* read back and compared in one turn */
#define VERIFY_TURNS   8            /* turns in one round */
#define STALL_NS       UINT64_C(10000000000)

struct flow {
	const struct options *opt;
	struct file_set *set;
	struct report *report;
	struct gantry *engine;
	bool started;
	struct feed *feeds;
	size_t n_feeds;
	size_t n_opened;    /* the set's first files, which have been opened */
	size_t n_published; /* the set's first files, which have their names */
	uint64_t bytes_read;
	uint64_t bytes_moved;
	uint64_t last_completion_ns;
	uint64_t next_stall_ns; /* when to warn that nothing comes back */
	void *scratch[2];
};

/* ------------------------------------------------------------------ set up */

static int
open_engine(struct flow *f)
{
	struct gantry_policy policy = {0};
	struct gantry_conf conf = {
		.device = f->opt->device[0] != '\0' ? f->opt->device : NULL,
		.copy_path = f->opt->copy_path,
		.policy = &policy,
	};
	const char *device = conf.device != NULL ? conf.device : "an mlx5 device";
	int rc;

	if (f->opt->policy[0] != '\0' && policy_read(f->opt->policy, &policy) != 0)
		return -1;
	conf.rdma_copies = policy_names(&policy, GANTRY_CARRIER_RDMA);
	rc = gantry_create(&conf, &f->engine);
	if (rc == 0)
		return 0;
	if (rc == -ENODEV)
		error_print("there is no %s; ibv_devices lists what there is",
			conf.device != NULL ? device : "mlx5 device");
	else if (rc == -EOPNOTSUPP && policy.n != 0)
		error_print(
			"%s cannot follow the policy %s: the log lines above say why; testgantry "
			"--measure-policy FILE measures one that it can",
			device, f->opt->policy);
	else if (rc == -EOPNOTSUPP)
		error_print("%s lacks what --copy-path %s needs: use --copy-path auto", device,
			conf.copy_path == GANTRY_COPY_MMO ? "mmo" : "rdma");
	else
		error_print("cannot open %s: %s; the log lines above say more", device,
			strerror(-rc));
	return -1;
}

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
		printf("copies go as %s says\n", f->opt->policy);
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
	unsigned int have = rte_lcore_count() - 1; /* the main lcore reads and writes files */

	if (have == 0) {
		error_print("too few lcores: EAL has 1, and a main and at least one worker lcore "
			    "are needed: -l 0-1, or on one CPU --lcores 0@0,1@0, before '--'");
		return -1;
	}
	if (f->opt->nb_cores > have) {
		error_print("too few lcores: --nb-cores %u, and EAL has a main and %u worker "
			    "lcores: -l 0-%u, or on few CPUs --lcores 0@0,1@1,2@0..., before '--'",
			f->opt->nb_cores, have, f->opt->nb_cores);
		return -1;
	}
	f->n_feeds = f->opt->nb_cores != 0 ? f->opt->nb_cores : have;
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

static int
create_scratch(struct flow *f)
{
	for (int i = 0; i < 2; i++) {
		f->scratch[i] = malloc(VERIFY_LEN);
		if (f->scratch[i] == NULL) {
			error_print("out of memory");
			return -1;
		}
	}
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
	if (count_feeds(f) != 0 || create_scratch(f) != 0 || open_engine(f) != 0 ||
		create_feeds(f) != 0 || connect_feeds(f) != 0 || start_engine(f) != 0) {
		flow_destroy(f);
		return -1;
	}
	say_engine(f);
	report->base_ns = now_ns();
	f->last_completion_ns = report->base_ns;
	f->next_stall_ns = report->base_ns + STALL_NS;
	*flow = f;
	return 0;
}

/* ------------------------------------------------------------------ tear down */

void
flow_count(struct flow *f)
{
	for (size_t i = 0; i < f->n_feeds; i++)
		if (f->feeds[i].worker != NULL)
			gantry_stats_get(gantry_worker_queue(f->feeds[i].worker),
				&f->report->rows[i].now);
	f->report->end_ns = RTE_MAX(f->last_completion_ns, f->report->base_ns);
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
	free(f->scratch[0]);
	free(f->scratch[1]);
	free(f);
	return rc;
}

/* ------------------------------------------------------------------ feed the workers */

/* The open file to read from, or NULL: all are read, or too many are open. 0 or -1. */
static int
file_to_read(struct flow *f, struct file **file)
{
	struct file *last = f->n_opened > 0 ? &f->set->file[f->n_opened - 1] : NULL;

	while (last == NULL || last->read == last->size) {
		*file = NULL;
		if (f->n_opened == f->set->n || f->n_opened - f->n_published == OPEN_MAX_FILES)
			return 0;
		last = &f->set->file[f->n_opened++];
		if (output_open(f->set, last) != 0)
			return -1;
	}
	*file = last;
	return 0;
}

static int
fill_one(struct flow *f, struct feed *feed, struct file *file)
{
	const struct chunk c = {
		.file = file,
		.offset = file->read,
		.len = RTE_MIN(f->opt->chunk_len, file->size - file->read),
	};

	if (output_read(file, feed_next_source(feed), c.len) != 0)
		return -1;
	feed_fill(feed, &c);
	f->bytes_read += c.len;
	return 0;
}

/* Reads and sends one burst of chunks, if the feed has room for it. Returns how many, or -1. */
static int
fill_feed(struct flow *f, struct feed *feed)
{
	uint32_t burst = RTE_MIN(f->opt->burst, feed->depth);
	uint64_t limit = f->bytes_read + FILL_LEN;
	struct file *file;
	uint32_t n = 0;

	if (feed_room(feed) < burst) {
		feed_send(feed);
		return 0;
	}
	while (n < burst && f->bytes_read < limit) {
		if (file_to_read(f, &file) != 0)
			return -1;
		if (file == NULL)
			break;
		if (fill_one(f, feed, file) != 0)
			return -1;
		n++;
	}
	feed_send(feed);
	return n;
}

/* ------------------------------------------------------------------ collect */

static int
collect_one(struct flow *f, struct feed *feed, const struct gantry_comp *comp)
{
	const void *data;
	struct chunk c;

	if (feed_accept(feed, comp, &c, &data) != 0)
		return -1;
	f->bytes_moved += c.len;
	return output_write(c.file, data, c.len, c.offset);
}

/* Returns the completions collected, or -1. */
static int
collect_feed(struct flow *f, struct feed *feed)
{
	struct gantry_comp comp[32];
	unsigned int n = gantry_dequeue_burst(feed->worker, comp, RTE_DIM(comp));

	for (unsigned int i = 0; i < n; i++) {
		if (collect_one(f, feed, &comp[i]) != 0) {
			feed->done += n - i - 1; /* these came back too; nobody checks them */
			return -1;
		}
	}
	if (n > 0)
		f->last_completion_ns = now_ns();
	return n;
}

/* ------------------------------------------------------------------ verify */

/* Verifies a part of the oldest open file. Returns 1; 0 it is not written to its end yet; -1. */
static int
verify_turn(struct flow *f)
{
	struct file *file = &f->set->file[f->n_published];
	int rc;

	if (f->n_published == f->n_opened || file->written != file->size)
		return 0;
	rc = output_verify(file, f->scratch[0], f->scratch[1], VERIFY_LEN);
	if (rc < 0)
		return -1;
	if (rc == 1) {
		if (output_publish(file) != 0)
			return -1;
		f->n_published++;
	}
	return 1;
}

static int
verify_some(struct flow *f)
{
	int n = 0;
	int rc;

	for (int turn = 0; turn < VERIFY_TURNS; turn++) {
		rc = verify_turn(f);
		if (rc <= 0)
			return rc < 0 ? -1 : n;
		n++;
	}
	return n;
}

/* ------------------------------------------------------------------ step */

static void
warn_of_stall(struct flow *f)
{
	uint64_t now = now_ns();
	uint64_t n = 0;

	if (now < RTE_MAX(f->next_stall_ns, f->last_completion_ns + STALL_NS))
		return;
	for (size_t i = 0; i < f->n_feeds; i++)
		n += feed_in_flight(&f->feeds[i]);
	error_print("no completion for %.0f s, %" PRIu64 " chunks are in flight; still waiting",
		(now - f->last_completion_ns) / 1e9, n);
	f->next_stall_ns = now + STALL_NS;
}

enum flow_state
flow_step(struct flow *f)
{
	int work = 0;
	int n;

	for (size_t i = 0; i < f->n_feeds; i++) {
		n = collect_feed(f, &f->feeds[i]);
		if (n < 0)
			return FLOW_FAILED;
		work += n;
		n = fill_feed(f, &f->feeds[i]);
		if (n < 0)
			return FLOW_FAILED;
		work += n;
	}
	n = verify_some(f);
	if (n < 0)
		return FLOW_FAILED;
	work += n;
	if (f->n_published == f->set->n)
		return FLOW_DONE;
	if (work > 0)
		return FLOW_BUSY;
	warn_of_stall(f);
	return FLOW_IDLE;
}

void
flow_progress(const struct flow *f, struct progress *p)
{
	*p = (struct progress){
		.bytes_moved = f->bytes_moved,
		.bytes_total = f->set->bytes,
		.files_verified = f->n_published,
		.files_total = f->set->n,
	};
}
