/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of an idle adapter, and its response time.
 *
 * Cost: several processes open the adapter, connect one queue pair each, and wait. The program
 * counts the wake-ups and the CPU time of all threads of these processes.
 *
 * Latency: a thread waits until the adapter is idle, posts one 64-byte write and polls its
 * completion queue. The measured time starts before the post and ends with the completion. This
 * thread polls, so a second CPU must be free.
 *
 * usage: bench_idle [latency|cost]...    default: both
 *        bench_idle wait      opens the adapter, prints a line, waits for the end of stdin
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "hwq_emu.h"

#define OPS       500
#define WARM_UP   20
#define PAUSE_NS  20000000 /* pause after each operation: longer than any lane stays awake */
#define COST_S    4
#define PROCESSES 64

struct bench {
	struct hwq_dev *dev;
	struct twin twin;
	struct hwq_mr mr;
	uint8_t mem[128];
};

static void
bench_open(struct bench *b)
{
	struct hwq_qp_conf conf = {.sq_wr = 4};
	int ret;

	b->dev = emu_open();
	twin_create(b->dev, &conf, &b->twin);
	twin_connect_self(&b->twin);
	ret = hwq_mr_register(b->dev, b->mem, sizeof(b->mem),
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, &b->mr);
	if (ret != 0)
		EMU_DIE("registering: %s", strerror(-ret));
}

static void
bench_close(struct bench *b)
{
	twin_destroy(&b->twin);
	hwq_mr_deregister(&b->mr);
	hwq_dev_close(b->dev);
}

/* ---- latency */

static uint64_t
one_write(struct bench *b)
{
	struct hwq_sq *sq = &b->twin.qp->sq;
	uint64_t src = (uintptr_t)b->mem, start = emu_now_ns(), took;
	struct hwq_cqe cqe;

	if (hwq_wqe_rdma_write(sq, b->mr.rkey, src + 64, b->mr.lkey, src, 64, HWQ_WQE_SIGNALED) <=
		0)
		EMU_DIE("posting");
	hwq_sq_ring(sq);
	while (hwq_cq_poll(b->twin.cq, &cqe, 1) == 0)
		;
	took = emu_now_ns() - start;
	if (cqe.syndrome != 0)
		EMU_DIE("the write failed with syndrome 0x%x", cqe.syndrome);
	hwq_sq_complete(sq, cqe.wqe_counter);
	return took;
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
bench_latency(void)
{
	static uint64_t ns[OPS];
	struct bench b;

	bench_open(&b);
	for (unsigned int i = 0; i < WARM_UP + OPS; i++) {
		uint64_t took;

		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		took = one_write(&b);
		if (i >= WARM_UP)
			ns[i - WARM_UP] = took;
	}
	bench_close(&b);
	qsort(ns, OPS, sizeof(*ns), by_value);
	printf("one 64-byte write on an idle adapter, post to completion, %u of them\n", OPS);
	printf("  p10 %.1f us   p50 %.1f us   p99 %.1f us   least %.1f us   most %.1f us\n",
		ns[OPS / 10] / 1e3, ns[OPS / 2] / 1e3, ns[OPS * 99 / 100] / 1e3, ns[0] / 1e3,
		ns[OPS - 1] / 1e3);
}

/* ---- cost */

struct use {
	uint64_t wakes, cpu_ns, threads;
};

/*
 * Returns the number after `name` in a file of proc(5). An empty name means the first number in the
 * file.
 */
static uint64_t
number_in(const char *path, const char *name)
{
	FILE *f = fopen(path, "r");
	uint64_t value = 0;
	char line[256];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, name, strlen(name)) != 0)
			continue;
		value = strtoull(line + strlen(name), NULL, 10);
		break;
	}
	if (f != NULL)
		fclose(f);
	return value;
}

static void
add_use(pid_t pid, struct use *use)
{
	char path[400];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (dir == NULL)
		EMU_DIE("%s: %s", path, strerror(errno));
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/status", pid, entry->d_name);
		use->wakes += number_in(path, "voluntary_ctxt_switches:");
		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", pid, entry->d_name);
		use->cpu_ns += number_in(path, "");
		use->threads++;
	}
	closedir(dir);
}

struct waiter {
	pid_t pid;
	int in, out; /* the child's stdin and stdout */
};

static void
waiter_start(struct waiter *w)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || (w->pid = fork()) < 0)
		EMU_DIE("starting a process: %s", strerror(errno));
	if (w->pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		/* Otherwise each process would log that its adapter is emulated. */
		if (freopen("/dev/null", "w", stderr) == NULL)
			_exit(127);
		execl("/proc/self/exe", "bench_idle", "wait", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	w->in = in[1];
	w->out = out[0];
}

static void
bench_cost_of(unsigned int n)
{
	static struct waiter waiters[PROCESSES];
	struct use before = {0}, after = {0};
	uint64_t start, ns;
	char c;

	for (unsigned int i = 0; i < n; i++)
		waiter_start(&waiters[i]);
	for (unsigned int i = 0; i < n; i++)
		if (read(waiters[i].out, &c, 1) != 1)
			EMU_DIE("a process could not open the adapter");
	sleep(1);
	start = emu_now_ns();
	for (unsigned int i = 0; i < n; i++)
		add_use(waiters[i].pid, &before);
	sleep(COST_S);
	for (unsigned int i = 0; i < n; i++)
		add_use(waiters[i].pid, &after);
	ns = emu_now_ns() - start;
	for (unsigned int i = 0; i < n; i++)
		close(waiters[i].in);
	for (unsigned int i = 0; i < n; i++)
		waitpid(waiters[i].pid, NULL, 0);
	printf("  %2u open process%s (%llu threads): %.1f wake-ups a second, %.3f %% of one CPU\n",
		n, n == 1 ? "  " : "es", (unsigned long long)after.threads,
		(double)(after.wakes - before.wakes) * 1e9 / (double)ns,
		(double)(after.cpu_ns - before.cpu_ns) * 100 / (double)ns);
}

static void
bench_cost(void)
{
	printf("processes that wait with the adapter open, counted for %u s\n", COST_S);
	bench_cost_of(1);
	bench_cost_of(PROCESSES);
}

static void
wait_for_end(void)
{
	struct bench b;
	char c;

	bench_open(&b);
	one_write(&b);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	bench_close(&b);
}

int
main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && strcmp(argv[1], "wait") == 0) {
		wait_for_end();
		return 0;
	}
	for (int i = 1; i < argc || i == 1; i++) {
		const char *what = argc > 1 ? argv[i] : "all";
		bool all = strcmp(what, "all") == 0;

		if (all || strcmp(what, "latency") == 0)
			bench_latency();
		if (all || strcmp(what, "cost") == 0)
			bench_cost();
	}
	return 0;
}
