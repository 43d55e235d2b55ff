/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Creates the lanes, and moves files until both processes know that every file is verified.
 */
#include "pair_files.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "lcores.h"
#include "output.h"
#include "pair_turn.h"
#include "quote.h"

#define NAP_MIN_US 20 /* shortest pause of a thread without work */
#define NAP_MAX_US 500
#define IDLE_TURNS 64 /* turns without work before an lcore pauses */

struct pair_flow {
	struct pair *pair;
	struct talk *talk;
	struct source source;
	struct sink sink;
	struct file_lane *lanes;
	size_t n_lanes;
	bool workers_run;  /* with --via ring */
	size_t n_launched; /* with --via inline: number of lanes whose lcores make turns */
	bool done;         /* TALK_DONE was sent or received */
	uint64_t begin_ns;
	/* the bytes and files at the last progress; time at which to say that nothing moves */
	uint64_t last_done, stall_ns;
};

static bool
is_inline(const struct pair_flow *f)
{
	return f->pair->opt->load.via == LOAD_VIA_INLINE;
}

/* ------------------------------------------------------------------ set up */

/* Bytes of the memory of a receive. */
static uint32_t
recv_len(const struct pair_flow *f)
{
	const struct options *o = f->pair->opt;

	if (f->pair->connects || o->mode == MODE_WRITE)
		return 0;
	return PAIR_CHUNK_LEN + (o->mode == MODE_SEND ? o->chunk_len : 0);
}

static unsigned int
mem_flags(const struct pair_flow *f)
{
	const enum mode mode = f->pair->opt->mode;

	if (f->pair->connects)
		return mode == MODE_READ ? GANTRY_MEM_REMOTE_READ : 0;
	return mode == MODE_WRITE ? GANTRY_MEM_REMOTE_WRITE : 0;
}

/* Creates the lanes, and sends the address of each. */
static int
create_lanes(struct pair_flow *f)
{
	struct pair *p = f->pair;
	struct report *report = &p->app->report;
	unsigned int lcore_id = rte_get_next_lcore(-1, 1, 0);
	struct lane_address address;

	f->lanes = calloc(f->n_lanes, sizeof(*f->lanes));
	if (f->lanes == NULL) {
		error_print("out of memory for %zu lcores", f->n_lanes);
		return -1;
	}
	if (report_reset(report, f->n_lanes) != 0)
		return -1;
	for (size_t i = 0; i < f->n_lanes; i++) {
		report->rows[i].lcore_id = lcore_id;
		report->rows[i].base_sleeps = report->rows[i].sleeps = lcores_sleeps(lcore_id);
		f->lanes[i].source = p->connects ? &f->source : NULL;
		f->lanes[i].sink = p->connects ? NULL : &f->sink;
		if (pair_lane_create(&f->lanes[i].lane, p->engine, p->opt, lcore_id, mem_flags(f),
			    recv_len(f), &address) != 0 ||
			turn_init(&f->lanes[i]) != 0 ||
			talk_say(f->talk, TALK_LANE, &address, sizeof(address)) != 0)
			return -1;
		lcore_id = rte_get_next_lcore(lcore_id, 1, 0);
	}
	return 0;
}

static int
connect_lanes(struct pair_flow *f)
{
	struct lane_address far;
	struct talk_frame frame;

	for (size_t i = 0; i < f->n_lanes; i++) {
		if (talk_wait(f->talk, TALK_LANE, sizeof(far), &frame) != 0)
			return -1;
		memcpy(&far, frame.data, sizeof(far));
		if (pair_lane_connect(&f->lanes[i].lane, &far) != 0)
			return -1;
	}
	return 0;
}

/* With --via inline: makes turns on the lane's lcore. */
static int
make_turns(void *arg)
{
	struct file_lane *lane = arg;
	unsigned int idle = 0;
	int n = 0;

	error_keep(&lane->error);
	while (n >= 0 && !atomic_load(&lane->stop)) {
		n = turn_make(lane);
		idle = n == 0 ? idle + 1 : 0;
		if (idle > IDLE_TURNS)
			usleep(NAP_MIN_US);
		else if (n == 0)
			sched_yield(); /* another process may need this CPU */
	}
	error_keep(NULL);
	if (n < 0)
		atomic_store(&lane->failed, true);
	atomic_store_explicit(&lane->ended, true, memory_order_release); /* pairs with join() */
	return 0;
}

static int
start_lanes(struct pair_flow *f)
{
	int rc = 0;

	if (!is_inline(f)) {
		rc = gantry_start(f->pair->engine);
		f->workers_run = rc == 0;
	}
	for (size_t i = 0; is_inline(f) && rc == 0 && i < f->n_lanes; i++) {
		rc = rte_eal_remote_launch(make_turns, &f->lanes[i], f->lanes[i].lane.lcore_id);
		f->n_launched += rc == 0;
	}
	if (rc == 0)
		return 0;
	error_print("cannot start the lcores: %s", strerror(-rc));
	return -1;
}

/* Waits until both processes are ready. */
static int
meet(struct pair_flow *f)
{
	struct talk_frame frame;

	if (talk_say(f->talk, TALK_READY, NULL, 0) != 0)
		return -1;
	return talk_wait(f->talk, TALK_READY, 0, &frame);
}

/*
 * Sends or receives the names of all files. So the receiving process knows each file before its
 * chunks come.
 */
static int
open_files(struct pair_flow *f)
{
	struct pair *p = f->pair;

	if (p->connects)
		return source_init(&f->source, &p->app->set, f->talk, p->opt->chunk_len) == 0
			       ? source_say_names(&f->source)
			       : -1;
	sink_init(&f->sink, &p->app->set, f->talk);
	return sink_hear_names(&f->sink, p->opt->out);
}

/* ------------------------------------------------------------------ run */

static int
handle(struct pair_flow *f, const struct talk_frame *frame)
{
	if (frame->type == TALK_DONE) {
		f->done = true;
		if (f->pair->connects || sink_is_done(&f->sink))
			return 0;
		error_print("the other process has ended before all files were verified");
		return -1;
	}
	return f->pair->connects ? source_verified(&f->source, frame)
				 : sink_digest(&f->sink, frame);
}

/* Makes the error of a lane's lcore the error of this process. Returns -1. */
static int
take_error(struct file_lane *lane)
{
	error_print("%s", lane->error != NULL ? lane->error : "out of memory");
	return -1;
}

/*
 * With --via ring, makes a turn of every lane. With --via inline, checks whether an lcore has
 * failed. Returns as turn_make().
 */
static int
look_at_lanes(struct pair_flow *f)
{
	int n = 0, any = 0;

	for (size_t i = 0; n >= 0 && i < f->n_lanes; i++) {
		if (!is_inline(f))
			n = turn_make(&f->lanes[i]);
		else if (atomic_load(&f->lanes[i].failed))
			n = take_error(&f->lanes[i]);
		any |= n > 0;
	}
	return n < 0 ? -1 : any;
}

static void
show_progress(struct pair_flow *f, struct progress *p)
{
	if (f->pair->connects)
		source_progress(&f->source, p);
	else
		sink_progress(&f->sink, p);
}

/* Logs that no byte has moved for a while, although both processes live: perhaps a disk is slow. */
static void
say_stall(struct pair_flow *f, const struct progress *p, bool stepped)
{
	const uint64_t now = now_ns(), done = p->bytes_moved + p->files_verified;

	if (!stepped && done == f->last_done && now < f->stall_ns)
		return;
	if (!stepped && done == f->last_done) {
		progress_end();
		printf("nothing has moved for %u s; still waiting\n", f->pair->opt->give_up);
		fflush(stdout);
	}
	f->last_done = done;
	f->stall_ns = now + f->pair->opt->give_up * NSEC_PER_S;
}

/* Does all work that needs no waiting. Returns 1, 0 if there was nothing to do, or -1. */
static int
do_some(struct pair_flow *f)
{
	struct talk_frame frame;
	struct progress p;
	int heard, moved, stepped;

	heard = talk_look(f->talk, &frame);
	if (heard < 0 || (heard == 1 && handle(f, &frame) != 0))
		return -1;
	moved = look_at_lanes(f);
	if (moved < 0) {
		pair_ask_reason(f->pair);
		return -1;
	}
	stepped = f->pair->connects ? source_step(&f->source) : sink_step(&f->sink);
	if (stepped < 0)
		return -1;
	show_progress(f, &p);
	progress_show(&p);
	say_stall(f, &p, stepped > 0);
	return heard + moved + stepped > 0;
}

/* Returns 0 when this process has nothing more to do, or -1. */
static int
move_files(struct pair_flow *f)
{
	unsigned int nap_us = NAP_MIN_US;
	int n = 1;

	while (n >= 0 && stop_signal == 0 && !f->done &&
		!(f->pair->connects && source_is_done(&f->source))) {
		n = do_some(f);
		if (n == 0)
			usleep(nap_us);
		nap_us = n == 0 ? RTE_MIN(2 * nap_us, NAP_MAX_US) : NAP_MIN_US;
	}
	return n < 0 || stop_signal != 0 ? -1 : 0;
}

/* Waits until the lcore of a lane makes no more turns. From here on its fields are visible. */
static void
join(const struct file_lane *lane)
{
	/* Pairs with make_turns(). */
	while (!atomic_load_explicit(&lane->ended, memory_order_acquire))
		usleep(NAP_MIN_US);
	rte_eal_wait_lcore(lane->lane.lcore_id);
}

static void
stop_lanes(struct pair_flow *f)
{
	if (f->workers_run)
		gantry_stop(f->pair->engine);
	for (size_t i = 0; i < f->n_launched; i++)
		atomic_store(&f->lanes[i].stop, true);
	for (size_t i = 0; i < f->n_launched; i++) {
		join(&f->lanes[i]);
		pair_lane_settle(&f->lanes[i].lane);
	}
	f->workers_run = false;
	f->n_launched = 0;
}

/*
 * Tells the other process that this process is done, and waits until the other process is done. So
 * no process closes a connection that the other process still uses.
 */
static int
part(struct pair_flow *f)
{
	struct talk_frame frame;

	stop_lanes(f);
	if (talk_say(f->talk, TALK_DONE, NULL, 0) != 0)
		return -1;
	return f->done ? 0 : talk_wait(f->talk, TALK_DONE, 0, &frame);
}

/* ------------------------------------------------------------------ the end */

static void
say_done(const struct pair_flow *f, const struct progress *p)
{
	const double seconds = (now_ns() - f->begin_ns) / 1e9;
	const struct file_set *set = &f->pair->app->set;

	progress_print_moved(p);
	printf("%s and verified in both processes in %.2f s (%.2f GB/s with reading, writing and "
	       "verifying): every byte is equal",
		p->verb, seconds, seconds > 0 ? p->bytes_moved / 1e9 / seconds : 0);
	files_end_line(set);
}

static void
count(struct pair_flow *f)
{
	struct report *report = &f->pair->app->report;

	for (size_t i = 0; i < f->n_lanes; i++) {
		gantry_stats_get(f->lanes[i].lane.q, &report->rows[i].now);
		report->rows[i].sleeps = lcores_sleeps(report->rows[i].lcore_id);
	}
	report->base_ns = f->begin_ns;
	report->end_ns = now_ns();
}

static int
close_all(struct pair_flow *f)
{
	int rc = 0;

	stop_lanes(f);
	for (size_t i = 0; f->lanes != NULL && i < f->n_lanes; i++)
		rc |= pair_lane_close(&f->lanes[i].lane);
	for (size_t i = 0; f->lanes != NULL && i < f->n_lanes; i++) {
		pair_lane_free(&f->lanes[i].lane);
		turn_fini(&f->lanes[i]);
	}
	free(f->lanes);
	outputs_discard(&f->pair->app->set);
	if (f->pair->connects)
		source_fini(&f->source);
	else
		sink_fini(&f->sink);
	return rc;
}

int
pair_files(struct pair *p, unsigned int n_lanes)
{
	struct pair_flow f = {.pair = p, .talk = p->talk, .n_lanes = n_lanes};
	struct progress progress;
	int rc = -1;

	if (open_files(&f) == 0 && create_lanes(&f) == 0 && connect_lanes(&f) == 0 &&
		start_lanes(&f) == 0 && meet(&f) == 0) {
		f.begin_ns = now_ns();
		f.stall_ns = f.begin_ns + p->opt->give_up * NSEC_PER_S;
		rc = move_files(&f);
		if (rc == 0)
			rc = part(&f);
		count(&f);
		progress_end();
		report_print(stdout, &p->app->report);
	}
	show_progress(&f, &progress);
	if (rc == 0)
		say_done(&f, &progress);
	else
		pair_fail(p);
	rc |= close_all(&f);
	if (rc != 0 && f.begin_ns != 0)
		printf("%zu of %zu files were verified%s\n", progress.files_verified,
			progress.files_total,
			p->connects ? "" : " and stay; unfinished outputs are removed");
	return rc;
}
