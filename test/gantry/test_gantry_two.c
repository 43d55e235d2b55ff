/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random descriptors between two processes, while one or both are stopped by SIGSTOP and continued,
 * or one is killed. Memory and messages are compared with a model that is written only from the
 * headers (two/two.h).
 *
 * While a process is stopped, no descriptor may fail. After the process was continued, no message
 * may be lost or arrive twice. When a process is killed, each descriptor of the other process must
 * complete once: with success, or with an error after the retries of its connection. Then the other
 * process must work with a new partner. It must keep no open file and no memory for the dead
 * process.
 *
 * usage: test_gantry_two [--rounds N] [--seed SEED] [--descriptors N] [--one-process]
 *
 * --descriptors: number of descriptors in each round. --one-process: runs both parties in one
 * process, without signals, to find out whether a failure depends on two processes.
 */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "two/two.h"

static struct board *board;
static uint8_t *arenas;
static pid_t pid[2];
static uint64_t rng, n_stops, n_kills;
static struct party parties[2];

static uint64_t
chance(uint64_t n)
{
	return check_random(&rng) % n;
}

static void *
share(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void
party_init(struct party *p, unsigned int n, void (*yield)(struct party *p))
{
	unsigned int i;

	*p = (struct party){.n = n, .board = board, .yield = yield, .round = board->round};
	for (i = 0; i < 2 * QUEUES; i++)
		p->arena[i / QUEUES][i % QUEUES] = arenas + i * (size_t)ARENA_LEN;
}

/* ------------------------------------------------------------------ two processes */

/* Sleeps instead of yielding, because the threads of both adapters may wait for a CPU. */
static void
yield_cpu(struct party *p)
{
	(void)p;
	usleep(1);
}

static void
start(unsigned int n)
{
	/*
	 * The party is initialised before the fork, so that it takes part in all rounds that begin
	 * later.
	 */
	party_init(&parties[n], n, yield_cpu);
	fflush(NULL);
	pid[n] = fork();
	CHECK(pid[n] >= 0);
	if (pid[n] > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	env_refuse_fork_init();
	env_init(0);
	env_unbind();
	party_run(&parties[n]);
	fflush(NULL);
	_exit(0);
}

static __attribute__((noreturn)) void
give_up(const char *why)
{
	unsigned int n;

	fprintf(stderr, "%s; this repeats the round: --rounds 1 --seed %llu\n", why,
		(unsigned long long)board->seed);
	for (n = 0; n < 2; n++)
		if (pid[n] > 0)
			kill(pid[n], SIGKILL);
	exit(1);
}

/* Ends the test if a party has ended by itself. */
static void
look_at_parties(void)
{
	int status;
	unsigned int n;

	for (n = 0; n < 2; n++) {
		if (pid[n] == 0 || waitpid(pid[n], &status, WNOHANG) != pid[n])
			continue;
		pid[n] = 0;
		if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_SKIP)
			exit(CHECK_SKIP);
		give_up("a party has ended");
	}
}

static bool
is_over(void)
{
	return board->finished[0] == board->round && board->finished[1] == board->round;
}

/* Waits for a random moment in the round. */
static void
wait_for_moment(void)
{
	uint64_t goal = chance(2 * QUEUES * board->goal), ns = now_ns() + chance(500000);

	while (board->step[0] < 16 * board->round || board->step[1] < 16 * board->round ||
		(board->settled[0] + board->settled[1] < goal && !is_over())) {
		look_at_parties();
		usleep(100);
	}
	while (now_ns() < ns)
		;
}

/* Stops one party or both, and continues them. */
static void
stop_parties(void)
{
	unsigned int who = 1 + chance(3), n;

	wait_for_moment();
	for (n = 0; n < 2; n++)
		if ((who & 1u << n) != 0)
			kill(pid[n], SIGSTOP);
	/* The pause is sometimes longer than all retries of a connection take. */
	usleep(chance(6) == 0 ? 400000 : chance(50000));
	for (n = 0; n < 2; n++)
		if ((who & 1u << n) != 0)
			kill(pid[n], SIGCONT);
	n_stops++;
}

#define MAX_FDS 256

/* Inode numbers of sockets. */
struct sockets {
	unsigned long inode[MAX_FDS];
	unsigned int n;
};

/* Returns the sockets that the process has open. */
static struct sockets
sockets_of(pid_t of)
{
	struct sockets all = {0};
	char path[64], to[64];
	unsigned int fd;
	ssize_t len;

	for (fd = 0; fd < MAX_FDS; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)of, fd);
		len = readlink(path, to, sizeof(to) - 1);
		to[len < 0 ? 0 : len] = '\0';
		if (sscanf(to, "socket:[%lu]", &all.inode[all.n]) == 1)
			all.n++;
	}
	return all;
}

/* Returns those of the sockets that have a name of softhca in this network namespace. */
static struct sockets
named(const struct sockets *of)
{
	FILE *f = fopen("/proc/net/unix", "re");
	struct sockets found = {0};
	char line[512], name[256];
	unsigned long inode;
	unsigned int i;

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu %255s", &inode, name) != 2 ||
			strncmp(name, "@softhca/", 9) != 0)
			continue;
		for (i = 0; i < of->n; i++)
			if (of->inode[i] == inode)
				found.inode[found.n++] = inode;
	}
	fclose(f);
	return found;
}

/*
 * Kills a party, and starts another one in its place. The party that lives is connected to the new
 * party in the next round.
 */
static void
kill_party(void)
{
	unsigned int n = chance(4) != 0;
	struct sockets sockets, names;
	int status;

	wait_for_moment();
	if (chance(4) == 0) {
		kill(pid[n], SIGSTOP);
		usleep(chance(20000));
	}
	sockets = sockets_of(pid[n]);
	names = named(&sockets);
	board->killed_ns = now_ns();
	board->dead = 1;
	kill(pid[n], SIGKILL);
	CHECK_EQ(waitpid(pid[n], &status, 0), pid[n]);
	pid[n] = 0;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		give_up("a party has ended before it was killed");
	CHECK(names.n > 0, "no name");
	CHECK_EQ(named(&names).n, 0, "names of the dead process");
	board->dead = 2;
	n_kills++;
	while (board->dead != 3) {
		look_at_parties();
		usleep(100);
	}
	board->finished[0] = board->finished[1] = board->round;
	start(n);
	board->dead = 0;
}

static void
play_with_signals(void)
{
	unsigned int i;

	switch (chance(3)) {
	case 1:
		for (i = 1 + chance(3); i != 0; i--)
			stop_parties();
		break;
	case 2:
		kill_party();
		break;
	}
	while (!is_over()) {
		look_at_parties();
		usleep(100);
	}
}

static void
end_parties(void)
{
	unsigned int n;
	int status;

	for (n = 0; n < 2; n++) {
		CHECK_EQ(waitpid(pid[n], &status, 0), pid[n]);
		CHECK_EQ(status, 0, "how a party ends");
	}
}

/* ------------------------------------------------------------------ one process */

static ucontext_t driver, context[2];
static bool has_ended[2];

static void
yield_to_driver(struct party *p)
{
	swapcontext(&context[p->n], &driver);
}

static void
run_context(int n)
{
	party_run(&parties[n]);
	has_ended[n] = true;
}

static void
start_context(unsigned int n)
{
	const size_t len = 16u << 20;

	party_init(&parties[n], n, yield_to_driver);
	CHECK_EQ(getcontext(&context[n]), 0);
	context[n].uc_stack.ss_sp = malloc(len);
	context[n].uc_stack.ss_size = len;
	context[n].uc_link = &driver;
	makecontext(&context[n], (void (*)(void))run_context, 1, n);
}

static void
run_contexts(void)
{
	unsigned int n;

	for (n = 0; n < 2; n++)
		if (!has_ended[n])
			swapcontext(&driver, &context[n]);
}

/* ------------------------------------------------------------------ the whole run */

static void
print_counts(void)
{
	unsigned int i;

	for (i = 0; i < GANTRY_STATUS_MAX; i++)
		if (board->by_status[i] != 0)
			printf("%12llu %s\n", board->by_status[i], gantry_status_name(i));
	for (i = 0; i < GANTRY_OP_MAX; i++)
		if (board->by_op[i] != 0)
			printf("%12llu of operation %u\n", board->by_op[i], i);
	printf("%12llu messages\n%12llu bytes\n%12llu stops\n%12llu kills\n%12u rounds\n",
		board->heard, board->bytes, (unsigned long long)n_stops,
		(unsigned long long)n_kills, board->round);
	if (n_kills != 0)
		printf("%9llu ms from a kill to the last error, at most\n",
			board->longest_ns / 1000000);
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{"rounds", required_argument, NULL, 'r'},
		{"seed", required_argument, NULL, 's'},
		{"descriptors", required_argument, NULL, 'd'},
		{"one-process", no_argument, NULL, 'o'},
		{0},
	};
	unsigned int rounds = 20, n, descriptors = 1000;
	bool one_process = false;
	uint64_t seed = 1, i, state;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (c == '?')
			return 1;
		if (c == 'r')
			rounds = strtoul(optarg, NULL, 0);
		if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		if (c == 'd')
			descriptors = strtoul(optarg, NULL, 0);
		one_process |= c == 'o';
	}
	board = share(sizeof(*board));
	arenas = share(2 * QUEUES * (size_t)ARENA_LEN);
	for (i = 0, state = seed; i < 2 * QUEUES * (size_t)ARENA_LEN; i += 8)
		*(uint64_t *)(arenas + i) = check_random(&state);
	board->goal = descriptors / 2 / QUEUES;
	if (one_process) {
		env_refuse_fork_init();
		env_init(0);
		env_unbind();
	}
	for (n = 0; n < 2; n++)
		one_process ? start_context(n) : start(n);
	for (n = 1; n <= rounds; n++) {
		/* Each round has its own seed, so a round that failed can be repeated alone. */
		board->seed = rng = seed + n - 1;
		board->settled[0] = board->settled[1] = 0;
		board->round = n;
		while (one_process && !is_over())
			run_contexts();
		if (!one_process)
			play_with_signals();
	}
	board->ends = true;
	while (one_process && !(has_ended[0] && has_ended[1]))
		run_contexts();
	if (!one_process)
		end_parties();
	print_counts();
	return check_failures != 0;
}
