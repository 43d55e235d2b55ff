/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Measures a load. For each point of the sweep it creates the lanes, runs their loops, verifies and
 * reports.
 *
 *     --via ring                                --via inline
 *     main lcore: the loops of all lanes        main lcore: shows progress
 *       | rte_ring                              worker lcore: the loop of its lane
 *     worker lcore: the engine's worker
 */
#include "load.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "device.h"
#include "job.h"
#include "lcores.h"
#include "load_files.h"
#include "load_lane.h"
#include "load_report.h"
#include "load_verify.h"
#include "report.h"
#include "sig_guard.h"

#define DEFAULT_S 2 /* seconds of a measurement if neither --duration nor --total-ops is given */
#define STALL_NS  (10 * NSEC_PER_S)

/* One measurement. */
struct run {
	struct load_shared shared;
	struct load_lane *lanes;
	uint32_t n_lanes;
	/*
	 * Numbers of lanes that run on their own lcores. waiting: lanes that have not reached the
	 * start yet. running: lanes that have not ended yet. inside: lanes that their lcores may
	 * still access.
	 */
	atomic_uint waiting, running, inside;
	_Atomic uint64_t start_tsc; /* 0: not started */
	uint64_t next_look_ns, next_stall_ns;
	/* time when a completion was last seen, or when nothing was in flight */
	uint64_t last_ns;
	uint64_t last_got; /* number of completions at that time */
};

/* ------------------------------------------------------------------ set up */

static int
count_lanes(struct run *r)
{
	uint64_t *cores = &r->shared.point.value[AXIS_CORES];
	unsigned int have;

	if (lcores_workers(*cores, &have) != 0)
		return -1;
	*cores = have;
	r->n_lanes = have;
	return 0;
}

static int
open_lanes(struct run *r)
{
	uint64_t random = r->shared.opt->seed;
	unsigned int lcore_id = -1;

	r->lanes = calloc(r->n_lanes, sizeof(r->lanes[0]));
	if (r->lanes == NULL) {
		error_print("out of memory for %" PRIu32 " lanes", r->n_lanes);
		return -1;
	}
	for (uint32_t i = 0; i < r->n_lanes; i++) {
		lcore_id = rte_get_next_lcore(lcore_id, 1, 0);
		if (lane_open(&r->lanes[i], &r->shared, lcore_id) != 0 ||
			memory_create(&r->lanes[i], &random) != 0)
			return -1;
	}
	for (uint32_t i = 0; i < r->n_lanes; i++)
		if (lane_connect(&r->lanes[i], &r->lanes[(i + 1) % r->n_lanes]) != 0)
			return -1;
	for (uint32_t i = 0; i < r->n_lanes; i++)
		if (lane_fill(&r->lanes[i], &random) != 0)
			return -1;
	return 0;
}

/* Closes the lanes. Workers must be stopped. */
static int
close_lanes(struct run *r)
{
	const uint32_t n = r->lanes != NULL ? r->n_lanes : 0;
	int rc = 0;

	for (uint32_t i = 0; i < n; i++)
		lane_disconnect(&r->lanes[i]);
	for (uint32_t i = 0; i < n; i++)
		rc |= lane_destroy_queue(&r->lanes[i]);
	for (uint32_t i = 0; i < n; i++)
		lane_close(&r->lanes[i]);
	free(r->lanes);
	return rc;
}

/* Creates the layout of gather and scatter: pieces at the offsets of lane_piece(). */
static int
create_layout(struct load_shared *s)
{
	const struct load_lane l = {.shared = s}; /* lane_piece() reads only this field of a lane */
	const uint64_t n = s->point.value[AXIS_SGE], size = s->point.value[AXIS_SIZE];
	struct gantry_block block[GANTRY_SGE_MAX];
	const struct gantry_layout_conf conf = {.block = block, .n = n};
	uint64_t at = 0;
	int rc;

	for (uint64_t i = 0; i < n; i++) {
		block[i] = (struct gantry_block){0};
		block[i].offset = lane_piece(&l, at, &block[i].len);
		at += block[i].len;
	}
	rc = gantry_layout_create(s->engine, &conf, &s->layout);
	if (at == size && rc == 0)
		return 0;
	error_print("cannot prepare a layout of --sge %" PRIu64
		    " pieces: %s; the log lines above say more",
		n, strerror(-rc));
	return -1;
}

/*
 * Creates the profile of transactions: the device checks signatures, and does not send them to the
 * peer.
 */
static int
create_profile(struct load_shared *s)
{
	const struct gantry_profile_conf conf = {
		.mem = {.kind = s->opt->guard,
			.block_size = s->opt->block_size,
			.flags = sig_has_tags(s->opt->guard) ? GANTRY_SIG_REF_REMAP : 0},
		.check = GANTRY_SIG_ALL,
	};
	int rc = gantry_profile_create(s->engine, &conf, &s->profile);

	if (rc == 0)
		return 0;
	error_print("cannot prepare transactions: %s; the log lines above say more", strerror(-rc));
	return -1;
}

static int
create_shared(struct load_shared *s)
{
	const struct load_mix *mix = &s->opt->load.mix;

	if (load_mix_has(mix, load_op_has_layout) && create_layout(s) != 0)
		return -1;
	return load_mix_has(mix, load_op_is_txn) ? create_profile(s) : 0;
}

static void
destroy_shared(struct load_shared *s)
{
	if (s->layout != 0)
		gantry_layout_destroy(s->engine, s->layout);
	if (s->profile != 0)
		gantry_profile_destroy(s->engine, s->profile);
}

/* ------------------------------------------------------------------ the loops */

static void
begin(struct run *r, uint32_t i, uint64_t start_tsc)
{
	const struct load_conf *conf = &r->shared.opt->load;
	uint64_t seconds = conf->duration, total = UINT64_MAX;

	if (conf->total_ops != 0)
		total = conf->total_ops / r->n_lanes + (i < conf->total_ops % r->n_lanes);
	else if (seconds == 0)
		seconds = DEFAULT_S;
	lane_begin(&r->lanes[i], start_tsc,
		seconds != 0 ? start_tsc + seconds * rte_get_tsc_hz() : UINT64_MAX, total, i,
		r->n_lanes);
}

static bool
all_have_ended(const struct run *r)
{
	for (uint32_t i = 0; i < r->n_lanes; i++)
		if (!lane_has_ended(&r->lanes[i]))
			return false;
	return true;
}

static void
warn_of_stall(struct run *r, uint64_t now, uint64_t in_flight)
{
	if (in_flight == 0 || now < r->next_stall_ns)
		return;
	error_print("no completion for %.0f s, %" PRIu64 " operations are in flight; still waiting",
		(now - r->last_ns) / 1e9, in_flight);
	r->next_stall_ns = now + STALL_NS;
}

/*
 * While lanes run: shows their progress, makes them stop after a signal, and warns if no completion
 * comes.
 */
static void
look(struct run *r)
{
	uint64_t now = now_ns(), put = 0, got = 0;

	r->next_look_ns = now + JOB_LOOK_MS * NSEC_PER_S / 1000;
	if (stop_signal != 0 && !atomic_exchange(&r->shared.stop, true))
		job_say_stopping();
	for (uint32_t i = 0; i < r->n_lanes; i++) {
		/*
		 * Read got before put: a lane submits before it completes, so got never exceeds
		 * put.
		 */
		got += atomic_load_explicit(&r->lanes[i].shown_got, memory_order_acquire);
		put += atomic_load_explicit(&r->lanes[i].shown_put, memory_order_relaxed);
	}
	progress_count(got);
	if (got != r->last_got || put == got) {
		r->last_got = got;
		r->last_ns = now;
		r->next_stall_ns = now + STALL_NS;
	}
	warn_of_stall(r, now, put - got);
}

/* Runs one lane on its worker lcore. */
static int
run_lane(void *arg)
{
	struct load_lane *l = arg;
	struct run *r = container_of(l->shared, struct run, shared);
	uint64_t start_tsc;

	atomic_fetch_sub_explicit(&r->waiting, 1, memory_order_release);
	while ((start_tsc = atomic_load_explicit(&r->start_tsc, memory_order_acquire)) == 0)
		sched_yield();
	begin(r, l - r->lanes, start_tsc);
	while (!lane_has_ended(l))
		lane_turn(l);
	atomic_fetch_sub_explicit(&r->running, 1, memory_order_release);
	/* Other lanes may still send messages to this lane's receives. */
	while (atomic_load_explicit(&r->running, memory_order_acquire) != 0)
		lane_turn(l);
	atomic_fetch_sub_explicit(&r->inside, 1, memory_order_release);
	return 0;
}

/* Runs the lanes with --via inline. Returns 0, or -1 with the error printed. */
static int
run_on_lcores(struct run *r)
{
	int rc = 0;

	atomic_store(&r->waiting, r->n_lanes);
	atomic_store(&r->running, r->n_lanes);
	atomic_store(&r->inside, r->n_lanes);
	for (uint32_t i = 0; i < r->n_lanes; i++) {
		rc = rte_eal_remote_launch(run_lane, &r->lanes[i], r->lanes[i].lcore_id);
		if (rc == 0)
			continue;
		error_print("cannot start lcore %u: %s", r->lanes[i].lcore_id, strerror(-rc));
		atomic_store(&r->shared.stop, true);
		atomic_fetch_sub(&r->waiting, r->n_lanes - i);
		atomic_fetch_sub(&r->running, r->n_lanes - i);
		atomic_fetch_sub(&r->inside, r->n_lanes - i);
		break;
	}
	while (atomic_load_explicit(&r->waiting, memory_order_acquire) != 0)
		sched_yield();
	atomic_store_explicit(&r->start_tsc, rte_rdtsc(), memory_order_release);
	while (atomic_load_explicit(&r->running, memory_order_acquire) != 0) {
		usleep(JOB_LOOK_MS * 1000);
		look(r);
	}
	/*
	 * This loop is for ThreadSanitizer. EAL's library is not built with ThreadSanitizer, which
	 * therefore does not see that rte_eal_wait_lcore() orders the two threads.
	 */
	while (atomic_load_explicit(&r->inside, memory_order_acquire) != 0)
		sched_yield();
	for (uint32_t i = 0; i < r->n_lanes; i++)
		rte_eal_wait_lcore(r->lanes[i].lcore_id);
	return rc;
}

/*
 * With --via ring: runs the loops of all lanes on the calling thread. Returns 0, or -1 with the
 * error printed.
 */
static int
run_here(struct run *r)
{
	uint64_t start_tsc = rte_rdtsc();

	for (uint32_t i = 0; i < r->n_lanes; i++)
		begin(r, i, start_tsc);
	while (!all_have_ended(r)) {
		for (uint32_t i = 0; i < r->n_lanes; i++)
			lane_turn(&r->lanes[i]);
		if (now_ns() >= r->next_look_ns)
			look(r);
	}
	return 0;
}

static int
report_failure(const struct load_lane *l)
{
	if (l->failure.status == GANTRY_OK)
		error_print("lcore %u: %s", l->lcore_id, l->failure.what);
	else
		error_print("lcore %u: %s failed: %s (syndrome 0x%02x, vendor syndrome 0x%02x)",
			l->lcore_id, l->failure.what, gantry_status_name(l->failure.status),
			l->failure.syndrome, l->failure.vendor_syndrome);
	return -1;
}

/* ------------------------------------------------------------------ a point */

static void
add_stats(const struct run *r, struct load_result *result, int sign)
{
	struct gantry_stats s;

	for (uint32_t i = 0; i < r->n_lanes; i++) {
		gantry_stats_get(r->lanes[i].queue, &s);
		result->doorbells += sign * s.doorbells;
		result->wqes += sign * s.wqes;
		result->cqes += sign * s.cqes;
	}
}

static void
sum_up(const struct run *r, struct load_result *result)
{
	uint64_t tsc = 0;

	for (uint32_t i = 0; i < r->n_lanes; i++) {
		const struct load_lane *l = &r->lanes[i];

		tsc = RTE_MAX(tsc, l->last_tsc - l->start_tsc);
		result->unsent += l->unsent;
		for (int op = 0; op < LOAD_OPS; op++)
			load_hist_merge(&result->hist[op], &l->hist[op]);
	}
	result->seconds = (double)tsc / rte_get_tsc_hz();
}

/* Measures one point. Returns 0, JOB_STOPPED, or -1 with the error printed. */
static int
measure(struct run *r, struct load_result *result)
{
	int rc;

	add_stats(r, result, -1);
	progress_reset();
	r->last_ns = now_ns();
	r->next_stall_ns = r->last_ns + STALL_NS;
	rc = r->shared.opt->load.via == LOAD_VIA_RING ? run_here(r) : run_on_lcores(r);
	progress_end();
	add_stats(r, result, 1);
	sum_up(r, result);
	for (uint32_t i = 0; rc == 0 && i < r->n_lanes; i++)
		if (r->lanes[i].failure.what != NULL)
			rc = report_failure(&r->lanes[i]);
	if (rc != 0)
		return rc;
	return stop_signal == 0 ? 0 : JOB_STOPPED;
}

static int
verify(struct run *r, struct load_result *result)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && r->shared.opt->load.verify && i < r->n_lanes; i++)
		rc = load_verify(&r->lanes[i], &result->verified);
	return rc;
}

/* Data that all points of a sweep share. */
struct sweep {
	const struct options *opt;
	struct gantry *engine;
	struct load_files *files;
	uint64_t verified; /* number of verified operations */
};

/*
 * Measures one point, verifies its operations, and reports the result. Returns 0, JOB_STOPPED, or
 * -1 with the error printed.
 */
static int
find_out(struct run *r, struct load_result *result, struct sweep *s)
{
	struct gantry_info info;
	int rc = measure(r, result);

	if (rc == 0)
		rc = verify(r, result);
	result->point = r->shared.point;
	result->complete = rc == 0;
	s->verified += result->verified;
	load_report_point(result);
	gantry_info_get(s->engine, &info);
	if (load_files_point(s->files, info.device, result) != 0 && rc == 0)
		rc = -1;
	return rc;
}

/* Returns 0, JOB_STOPPED, or -1 with the error printed. */
static int
run_point(struct sweep *s, uint64_t number)
{
	struct run r = {.shared = {.opt = s->opt, .engine = s->engine}};
	struct load_result result = {.opt = s->opt};
	bool started = false;
	int rc = -1;

	load_point_get(s->opt, number, &r.shared.point);
	result.hist = calloc(LOAD_OPS, sizeof(result.hist[0]));
	if (result.hist == NULL)
		error_print("out of memory");
	else if (count_lanes(&r) == 0 && create_shared(&r.shared) == 0 && open_lanes(&r) == 0)
		rc = 0;
	if (rc == 0 && s->opt->load.via == LOAD_VIA_RING) {
		rc = gantry_start(s->engine);
		if (rc != 0)
			error_print("cannot start the workers: %s", strerror(-rc));
		started = rc == 0;
	}
	if (rc == 0)
		rc = find_out(&r, &result, s);
	if (started)
		gantry_stop(s->engine);
	if (close_lanes(&r) != 0 && rc == 0)
		rc = -1;
	destroy_shared(&r.shared);
	free(result.hist);
	return rc;
}

/* Returns 0, JOB_STOPPED, or -1 with the error printed. */
static int
run_points(struct sweep *s)
{
	const uint64_t n = load_points(s->opt);
	uint64_t i = 0;
	int rc = 0;

	load_report_begin(s->opt, s->engine);
	while (rc == 0 && i < n)
		rc = run_point(s, i++);
	if (rc == 0)
		load_report_end(s->opt, s->verified);
	if (rc == JOB_STOPPED)
		job_say_stopped("the table has %" PRIu64 " of %" PRIu64
				" measurements; the last one was stopped early",
			i, n);
	return rc;
}

/*
 * Checks that the device supports the carrier that --by names. Returns 0, or -1 with the error
 * printed.
 */
static int
check_carrier(const struct sweep *s)
{
	struct gantry_info info;

	gantry_info_get(s->engine, &info);
	if (s->opt->load.by == GANTRY_CARRIER_USUAL || (info.carriers & 1u << s->opt->load.by) != 0)
		return 0;
	error_print("--by: %s has no such carrier of copies: give another one%s", info.device,
		s->opt->load.by == GANTRY_CARRIER_RDMA ? ", or add --copy-path rdma" : "");
	return -1;
}

int
load_run(const struct options *o)
{
	struct sweep s = {.opt = o};
	int rc = load_files_open(o, &s.files);

	if (rc != 0)
		return rc;
	rc = device_open_for_copies(o, &s.engine);
	if (rc == 0)
		rc = check_carrier(&s);
	if (rc == 0)
		rc = run_points(&s);
	if (s.engine != NULL && gantry_destroy(s.engine) != 0) {
		error_print("the engine was still in use when it was closed");
		rc = rc == JOB_STOPPED ? rc : -1;
	}
	if (load_files_close(s.files) != 0 && rc == 0)
		rc = -1;
	return rc;
}
