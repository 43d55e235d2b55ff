/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random descriptors on several queues, while memory, peers and layouts come and go and the adapter fails,
 * compared with a model that knows the headers only. Each descriptor comes back exactly once, in its
 * order, with a status that the model allows, and every byte of memory is right.
 *
 * usage: test_gantry_random [SEED [DESCRIPTORS]]
 *
 * With SOFTHCA_THREADS=0 all of it is one thread, and a seed replays exactly. Else two of the queues are
 * inline and two belong to workers on lcores of their own.
 */
#include <stdlib.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_log.h>

#include <softhca.h>

#include "gantry_log.h"
#include "random/random.h"

#define PATIENCE 60 /* seconds without any completion */

struct random_run run;

uint64_t
chance(uint64_t n)
{
	return check_random(&run.rng) % n;
}

/* ------------------------------------------------------------------ a life of an engine */

static void
side_open(unsigned int i)
{
	static const char *const names[2][MAX_SIDES] = {
		{"inline", "unordered", "worker 1", "worker 2"},
		{"inline", "unordered", "small", "small unordered"},
	};
	struct side *s = &run.side[i];
	const struct gantry_worker_conf conf = {
		/* More failures than are ever in flight behind each other. */
		.queue = {.depth = i < 2 ? 128 : 16,
			.unordered = i == 1 || (run.pumped && i == 3),
			.layout_keys = i < 2 ? 16 : 3,
			.replays = 100,
			.deadline_ms = run.pumped ? 40 : 1500},
		.ring_size = 256,
		.burst = 8 + 20 * i,
	};

	*s = (struct side){.name = names[run.pumped][i], .n = i, .rng = check_random(&run.rng)};
	s->unordered = conf.queue.unordered;
	if (i < 2 || run.pumped) {
		CHECK_EQ(gantry_queue_create(run.g, &conf.queue, &s->q), 0);
	} else {
		CHECK_EQ(gantry_worker_create(run.g, i - 1, &conf, &s->w), 0);
		s->q = gantry_worker_queue(s->w);
	}
}

static void
life_open(void)
{
	struct gantry_info info;
	unsigned int i;

	CHECK_EQ(gantry_create(NULL, &run.g), 0);
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	gantry_info_get(run.g, &info);
	run.n_sides = MAX_SIDES;
	for (i = 0; i < run.n_sides; i++) {
		side_open(i);
		run.side[i].model.max_msg_len = info.max_msg_len;
	}
	world_open();
	/* Each queue to itself, and in pairs. */
	run.n_links = 0;
	for (i = 0; i < run.n_sides; i++)
		link_init(&run.link[run.n_links++], &run.side[i], &run.side[i]);
	for (i = 0; i < run.n_sides; i += 2)
		link_init(&run.link[run.n_links++], &run.side[i], &run.side[i + 1]);
	for (i = 0; i < run.n_links; i++)
		link_open(&run.link[i]);
	if (!run.pumped)
		CHECK_EQ(gantry_start(run.g), 0);
}

static void
life_close(void)
{
	unsigned int i;

	for (i = 0; i < run.n_sides; i++)
		if (run.side[i].w != NULL)
			CHECK_EQ(gantry_worker_stop(run.side[i].w), 0);
	for (i = 0; i < run.n_links; i++)
		link_close(&run.link[i]);
	for (i = 0; i < run.n_sides; i++) {
		struct side *s = &run.side[i];

		side_judge(s);
		CHECK_EQ(s->w != NULL ? gantry_worker_destroy(s->w) : gantry_queue_destroy(s->q),
			0);
	}
	world_close();
	CHECK_EQ(gantry_destroy(run.g), 0);
}

/* ------------------------------------------------------------------ a round */

/* One turn of every queue. */
static void
turn(bool draws)
{
	unsigned int i, k;

	for (i = 0; i < run.n_sides; i++) {
		struct side *s = &run.side[i];

		if (draws)
			side_draw(s, check_random(&s->rng) % 60);
		side_put(s);
		side_take(s, draws ? check_random(&s->rng) % 64 : 64);
		side_take_receives(s);
		for (k = 0; draws && k < s->n_ends; k++)
			end_post(s->end[k]);
	}
	world_retry();
}

/* Until everything has come back. */
static void
drain(void)
{
	uint64_t end = rte_get_timer_cycles() + PATIENCE * rte_get_timer_hz();
	unsigned int i;
	bool busy;

	do {
		turn(false);
		busy = false;
		for (i = 0; i < run.n_sides; i++)
			busy |= run.side[i].settled != run.side[i].made;
		for (i = 0; busy && i < run.n_sides; i++)
			if (run.side[i].settled != run.side[i].made && rte_get_timer_cycles() > end)
				side_fail(&run.side[i], NULL, "nothing comes back");
	} while (busy);
}

/*
 * Descriptors in flight all the time, then none. In a pumped run, what depends on time or on threads
 * (events, deadlines) happens only while nothing is drawn: so what is drawn depends on the seed alone.
 */
static void
play_round(void)
{
	bool faults = chance(3) != 0;
	unsigned int turns = 4 + chance(24), i;

	run.rounds++;
	for (i = 0; i < turns; i++) {
		if (faults && chance(4) == 0)
			fault_arm(run.pumped);
		if (chance(3) == 0)
			world_change();
		turn(true);
	}
	if (faults && chance(2)) {
		for (i = 0; i < run.n_sides; i++)
			side_draw(&run.side[i], chance(WINDOW));
		for (i = chance(6); i != 0; i--)
			fault_arm(false);
	}
	drain();
	softhca_faults_clear();
	world_mend();
	fault_clear();
	for (i = 0; i < run.n_sides; i++)
		side_judge(&run.side[i]);
}

/* ------------------------------------------------------------------ the whole run */

/* Lives, until that many descriptors have come back. Returns what identifies the run. */
static uint64_t
play(uint64_t goal)
{
	uint64_t digest = 0, made = 0, before;
	unsigned int i, rounds;

	while (made < goal) {
		run.lives++;
		life_open();
		before = made;
		for (rounds = 0; made < goal && rounds < 60; rounds++) {
			alarm(4 * PATIENCE); /* ends a call that never returns */
			play_round();
			for (made = before, i = 0; i < run.n_sides; i++)
				made += run.side[i].made;
		}
		life_close();
		for (i = 0; i < run.n_sides; i++)
			digest = digest * 31 + run.side[i].digest;
	}
	return digest;
}

/* The numbers for the suite. usertools/random.sh runs more. */
#ifdef GANTRY_ALLOC_LIBC
#define GOAL_PUMPED  20000
#define GOAL_THREADS 2000
#else
#define GOAL_PUMPED  100000
#define GOAL_THREADS 8000
#endif

int
main(int argc, char **argv)
{
	const char *threads = getenv("SOFTHCA_THREADS");
	uint64_t goal, digest;
	unsigned int i;

	run.pumped = threads != NULL && atoi(threads) == 0;
	run.seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	run.rng = run.seed;
	goal = run.pumped ? GOAL_PUMPED : GOAL_THREADS;
	if (argc > 2)
		goal = strtoull(argv[2], NULL, 0);
	printf("seed %llu, %llu descriptors, %s\n", (unsigned long long)run.seed,
		(unsigned long long)goal, run.pumped ? "pumped" : "threads");
	fflush(stdout);
	env_init(run.pumped ? 0 : 2);
	digest = play(goal);
	for (i = 0; i < GANTRY_STATUS_MAX; i++)
		printf("%12llu %s\n", (unsigned long long)run.by_status[i], gantry_status_name(i));
	printf("%12llu messages\n%12llu cancelled\n%12llu refused calls\n%12llu faults\n",
		(unsigned long long)run.messages, (unsigned long long)run.cancelled,
		(unsigned long long)run.refused_calls, (unsigned long long)run.faults);
	printf("%12llu lives\n%12llu rounds\ndigest 0x%016llx\n", (unsigned long long)run.lives,
		(unsigned long long)run.rounds, (unsigned long long)digest);
	rte_eal_cleanup();
	return 0;
}
