/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random descriptors on several queues, while memory, peers and layouts are created and removed,
 * and while faults of the adapter occur. The results are compared with a model that is written only
 * from the headers. Each descriptor must complete exactly once, in order, with a status that the
 * model allows. Every byte of memory must be right.
 *
 * usage: test_gantry_random [SEED [DESCRIPTORS]]
 *        test_gantry_random --empty DESCRIPTORS [SEED]
 *        test_gantry_random --soak SECONDS [SEED]
 *        test_gantry_random --device NAME SECONDS [SEED]
 *
 * With SOFTHCA_THREADS=0 everything runs in one thread, and a seed replays exactly: the test
 * executes itself twice, and both runs must be the same. Otherwise two of the queues are inline,
 * and two belong to workers on their own lcores. With --empty most descriptors are messages without
 * data: for each message that succeeded there must be a receive that succeeded. With --soak the
 * test runs for the given time, and the memory, file descriptors and threads of the process must
 * not grow. --device does the same on the named device, which may be real: fault.c then causes
 * failures without the adapter's faults.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_log.h>

#include <softhca.h>

#include "gantry_log.h"
#include "random/random.h"

/* The file descriptors of this program are less than this number. */
#define MAX_FDS 1024
/* Number of descriptors of a run that is executed twice. */
#define REPLAYED "15000"
/* Statuses that need not occur in a short run. */
#define RARE                                                                                       \
	(MODEL_BIT(GANTRY_NO_RESOURCES) | MODEL_BIT(GANTRY_TIMED_OUT) |                            \
		MODEL_BIT(GANTRY_UNREACHABLE) | MODEL_BIT(GANTRY_DEVICE_LOST) |                    \
		MODEL_BIT(GANTRY_BAD_PROFILE) | MODEL_BIT(GANTRY_BAD_DEK) |                        \
		MODEL_BIT(GANTRY_SIG_ERROR))

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
		{"inline", "unordered", "worker 1", "unordered worker"},
		{"inline", "unordered", "small", "small unordered"},
	};
	struct side *s = &run.side[i];
	const struct gantry_worker_conf conf = {
		/*
		 * The limit `replays` is greater than the possible number of failures in a row, so
		 * a flushed copy is always executed again.
		 */
		.queue = {.depth = i < 2 ? 128 : 16,
			.unordered = i == 1 || i == 3,
			.layout_keys = i < 2 ? 16 : 3,
			.replays = 100,
			.deadline_ms = run.pumped ? DEADLINE_PUMPED_MS : DEADLINE_MS},
		.ring_size = 128,
		.recv_ring_size = 64,
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
	const struct gantry_conf conf = {.device = run.device, .rdma_copies = true};
	struct gantry_info info;
	unsigned int i;

	CHECK_EQ(gantry_create(&conf, &run.g), 0);
	env_need(run.g, ENV_LAYOUTS);
	env_need(run.g, ENV_DC);
	replay_begin();
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	gantry_info_get(run.g, &info);
	run.n_sides = MAX_SIDES;
	for (i = 0; i < run.n_sides; i++) {
		side_open(i);
		run.side[i].model.max_msg_len = info.max_msg_len;
		run.side[i].model.carriers = info.carriers;
	}
	world_open();
	keys_open();
	/* Each queue has a connection to itself, and pairs of queues are connected. */
	run.n_links = 0;
	for (i = 0; i < run.n_sides; i++)
		link_init(&run.link[run.n_links++], &run.side[i], &run.side[i]);
	for (i = 0; i < run.n_sides; i += 2)
		link_init(&run.link[run.n_links++], &run.side[i], &run.side[i + 1]);
	for (i = 0; i < run.n_links; i++)
		link_open(&run.link[i]);
	dc_init();
	dc_open();
	if (!run.pumped)
		CHECK_EQ(gantry_start(run.g), 0);
}

static void
life_close(void)
{
	unsigned int i;

	for (i = 0; i < run.n_sides; i++) {
		struct side *s = &run.side[i];

		if (s->w != NULL && !s->stopped)
			CHECK_EQ(gantry_worker_stop(s->w), 0);
		s->stopped = s->w != NULL;
	}
	for (i = 0; i < run.n_links; i++)
		link_close(&run.link[i]);
	dc_close(true);
	dc_free();
	for (i = 0; i < run.n_sides; i++) {
		struct side *s = &run.side[i];

		side_judge_counters(s);
		CHECK_EQ(s->w != NULL ? gantry_worker_destroy(s->w) : gantry_queue_destroy(s->q),
			0);
	}
	for (i = 0; i < run.n_sides; i++)
		side_judge_bytes(&run.side[i]);
	keys_close();
	world_close();
	replay_end();
	CHECK_EQ(gantry_destroy(run.g), 0);
}

/* ------------------------------------------------------------------ a round */

/* Draws, submits and polls once for every queue. */
static void
turn(bool draws)
{
	unsigned int i, k;

	replay_turn();
	for (i = 0; i < run.n_sides; i++) {
		struct side *s = &run.side[i];

		if (draws)
			side_draw(s, check_random(&s->rng) % 60);
		side_put(s);
		side_take(s, draws ? check_random(&s->rng) % 64 : 64);
		side_take_receives(s);
		for (k = 0; draws && k < s->n_ends; k++)
			end_post(s->end[k]);
		if (draws)
			dc_post(s);
	}
	world_retry();
}

/* Takes completions until all descriptors and receives have completed. */
static void
drain(void)
{
	uint64_t end = env_patience();
	unsigned int i;
	bool busy;

	do {
		turn(false);
		busy = false;
		for (i = 0; i < run.n_sides; i++)
			busy |= run.side[i].settled != run.side[i].made ||
				run.side[i].own_nops_out != 0;
		for (i = 0; busy && i < run.n_sides; i++)
			if (run.side[i].settled != run.side[i].made && rte_get_timer_cycles() > end)
				side_fail(&run.side[i], NULL, "nothing comes back");
	} while (busy);
}

/*
 * Submits descriptors without a pause, then waits until all have completed. With SOFTHCA_THREADS=0,
 * effects of time or threads (events, deadlines) occur only while no descriptor is drawn, so the
 * drawn descriptors depend only on the seed.
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
	dc_judge();
	/* Restores the objects once while calls may be refused, and once again later. */
	world_mend();
	softhca_faults_clear();
	world_mend();
	keys_mend();
	for (i = 0; i < run.n_links; i++)
		CHECK(!run.link[i].hurt);
	CHECK(dc_is_whole());
	fault_clear();
	env_judge_regions(run.g);
	for (i = 0; i < run.n_sides; i++) {
		side_judge_counters(&run.side[i]);
		side_judge_bytes(&run.side[i]);
	}
}

/*
 * The device fails while descriptors are in flight. All descriptors complete, and all objects can
 * be destroyed.
 */
static void
lose_device(void)
{
	unsigned int turns = 4 + chance(8), i;

	run.rounds++;
	fault_lose_device();
	for (i = 0; i < run.n_sides; i++)
		side_draw(&run.side[i], WINDOW);
	drain();
	for (i = 0; i < turns; i++)
		turn(true);
	drain();
	for (i = 0; i < run.n_sides; i++)
		side_judge_counters(&run.side[i]);
}

/* ------------------------------------------------------------------ the whole run */

static uint64_t
seconds(void)
{
	return rte_get_timer_cycles() / rte_get_timer_hz();
}

/* Number of descriptors that were drawn in all lives. */
static uint64_t n_made;
/* After this many seconds, a life begins no further round. */
static uint64_t life_seconds = UINT64_MAX;

/* Runs a life of an engine, of at most `rounds` rounds. Returns a digest of its results. */
static uint64_t
play_life(unsigned int rounds, uint64_t goal)
{
	uint64_t digest = 0, before = n_made, began = seconds();
	unsigned int i;

	run.lives++;
	life_open();
	do {
		alarm(4 * CHECK_PATIENCE_MS / 1000); /* kills the program if a call never returns */
		play_round();
		for (n_made = before, i = 0; i < run.n_sides; i++)
			n_made += run.side[i].made;
	} while (--rounds != 0 && n_made < goal && seconds() - began < life_seconds);
	if (chance(3) == 0 && run.device == NULL)
		lose_device();
	for (n_made = before, i = 0; i < run.n_sides; i++)
		n_made += run.side[i].made;
	life_close();
	softhca_faults_clear();
	fault_clear();
	for (i = 0; i < run.n_sides; i++)
		digest = digest * 31 + run.side[i].digest;
	return digest;
}

/* Runs lives of engines, until `goal` descriptors have completed. */
static uint64_t
play(uint64_t goal)
{
	uint64_t digest = 0;

	while (n_made < goal)
		digest = digest * 31 + play_life(60, goal);
	return digest;
}

static void
print_counts(uint64_t digest)
{
	unsigned int i;

	for (i = 0; i < GANTRY_STATUS_MAX; i++)
		printf("%12llu %s\n", (unsigned long long)run.by_status[i], gantry_status_name(i));
	printf("%12llu messages\n%12llu cancelled\n%12llu refused calls\n%12llu faults\n",
		(unsigned long long)run.messages, (unsigned long long)run.cancelled,
		(unsigned long long)run.refused_calls, (unsigned long long)run.faults);
	printf("%12llu lives\n%12llu rounds\n%12llu descriptors\ndigest 0x%016llx\n",
		(unsigned long long)run.lives, (unsigned long long)run.rounds,
		(unsigned long long)n_made, (unsigned long long)digest);
}

/*
 * Even in a short run, each operation must have succeeded, and each status that needs no fault must
 * have occurred.
 */
static void
check_variety(void)
{
	unsigned int i;

	for (i = GANTRY_OP_NOP; i < GANTRY_OP_TXN; i++)
		CHECK(run.by_op_ok[i] >= 10, "operation %u", i);
	for (i = 0; i < GANTRY_STATUS_MAX; i++)
		CHECK(run.by_status[i] > 0 || (MODEL_BIT(i) & RARE) != 0, "status %s",
			gantry_status_name(i));
	CHECK(run.messages > 50 && run.faults > 10);
}

/* ------------------------------------------------------------------ a soak */

/* The resources that the process uses between two lives. */
struct having {
	unsigned int fds, mappings;
	uint64_t rss_kib;
};

/*
 * Returns how many blocks of QP numbers the emulated adapters of this process have claimed: each
 * block is a socket with a name. An adapter claims a further block after some thousand queue pairs.
 */
static unsigned int
count_number_blocks(void)
{
	static const char prefix[] = "\0softhca/qpn/";
	unsigned int n = 0;

	for (int fd = 0; fd < MAX_FDS; fd++) {
		struct sockaddr_un name = {0};
		socklen_t len = sizeof(name);

		n += getsockname(fd, (struct sockaddr *)&name, &len) == 0 &&
		     name.sun_family == AF_UNIX &&
		     memcmp(name.sun_path, prefix, sizeof(prefix) - 1) == 0;
	}
	return n;
}

static struct having
look(void)
{
	FILE *maps = fopen("/proc/self/maps", "r"), *status = fopen("/proc/self/status", "r");
	struct having h = {.fds = check_count_fds() - count_number_blocks()};
	char line[512];

	CHECK(maps != NULL && status != NULL);
	while (fgets(line, sizeof(line), maps) != NULL)
		h.mappings++;
	while (fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, "VmRSS:", 6) == 0)
			h.rss_kib = strtoull(line + 6, NULL, 10);
	fclose(maps);
	fclose(status);
	return h;
}

static void
print_having(const char *when, struct having h)
{
	printf("%s: %u descriptors of files, %u mappings, %llu KiB resident; %llu lives, %llu rounds, "
	       "%llu descriptors submitted and completed, %llu faults, %llu too late without a fault\n",
		when, h.fds, h.mappings, (unsigned long long)h.rss_kib,
		(unsigned long long)run.lives, (unsigned long long)run.rounds,
		(unsigned long long)n_made, (unsigned long long)run.faults,
		(unsigned long long)run.late);
	fflush(stdout);
}

/*
 * Runs lives of engines for `length` seconds. Each round checks counters and bytes. After the last
 * life, the process must use the same resources as after the first lives.
 */
static void
soak(uint64_t length)
{
	uint64_t begin = seconds(), shown = begin, warm = RTE_MIN(length / 4, 60u);
	struct having start = look(), warmed = {0}, end;

	print_having("start", start);
	life_seconds = RTE_MAX(length / 4, 1u);
	do {
		play_life(6, UINT64_MAX);
		end = look();
		if (warmed.fds == 0 && run.lives >= 2 && seconds() - begin >= warm) {
			warmed = end;
			print_having("warm", warmed);
		} else if (seconds() - shown >= 10) {
			shown = seconds();
			print_having("now", end);
		}
	} while (seconds() - begin < length || warmed.fds == 0);
	print_having("end", end);
	CHECK_EQ(end.fds, warmed.fds);
	/*
	 * The allocators of libc and EAL keep some of the freed memory; sanitizers keep much of it.
	 */
#ifndef GANTRY_ALLOC_LIBC
	CHECK(end.mappings <= warmed.mappings + 16);
	CHECK(end.rss_kib <= warmed.rss_kib + warmed.rss_kib / 4 + 4096);
#endif
}

/* ------------------------------------------------------------------ replay */

/* Runs this program with the seed and returns the digest that it prints. */
static void
digest_of(const char *seed, const char *goal, char *out, size_t len)
{
	char command[600], self[400];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int status;
	FILE *f;

	CHECK(n > 0);
	self[n] = '\0';
	snprintf(command, sizeof(command), "%s %s %s 2>&1", self, seed, goal);
	f = popen(command, "r");
	CHECK(f != NULL);
	while (fgets(out, len, f) != NULL)
		;
	status = pclose(f);
	/*
	 * The device lacks a feature that the run needs. The run has printed the name of the
	 * feature.
	 */
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIP) {
		printf("\n%s", out);
		exit(CHECK_SKIP);
	}
	CHECK_EQ(status, 0, out);
	CHECK(strncmp(out, "digest ", 7) == 0, "%s", out);
}

static void
a_pumped_run_replays_exactly(void)
{
	char digest[2][300];
	unsigned int i;

	for (i = 0; i < 2; i++)
		digest_of("5", REPLAYED, digest[i], sizeof(digest[i]));
	CHECK(strcmp(digest[0], digest[1]) == 0, "%s%s", digest[0], digest[1]);
}

/* Defaults for the suite. usertools/random.sh runs more descriptors. */
#ifdef GANTRY_ALLOC_LIBC
#define GOAL_PUMPED 20000
#else
#define GOAL_PUMPED 100000
#endif
#define SOAK_SECONDS 5

int
main(int argc, char **argv)
{
	const char *threads = getenv("SOFTHCA_THREADS");
	bool soaks = argc > 2 && strcmp(argv[1], "--soak") == 0;
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	int seed_at;

	run.empty = argc > 2 && strcmp(argv[1], "--empty") == 0;
	if (argc > 3 && strcmp(argv[1], "--device") == 0) {
		run.device = argv[2];
		n = strtoull(argv[3], NULL, 0);
		soaks = true;
		argv++;
		argc--;
	}
	run.pumped = threads != NULL && atoi(threads) == 0 && run.device == NULL;
	if (argc == 1 && !run.pumped) {
		soaks = true;
		n = SOAK_SECONDS;
	}
	seed_at = soaks || run.empty ? 3 : 1;
	run.seed = argc > seed_at ? strtoull(argv[seed_at], NULL, 0) : 1;
	run.rng = run.seed;
	printf("seed %llu, %s\n", (unsigned long long)run.seed, run.pumped ? "pumped" : "threads");
	fflush(stdout);
	if (argc == 1 && run.pumped)
		a_pumped_run_replays_exactly();
	env_init(run.pumped ? 0 : 2);
	if (soaks) {
		soak(n);
		print_counts(0);
	} else {
		print_counts(play(n != 0 ? n : GOAL_PUMPED));
		if (argc == 1)
			check_variety();
	}
	rte_eal_cleanup();
	return 0;
}
