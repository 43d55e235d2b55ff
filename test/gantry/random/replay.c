/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes a pumped run (SOFTHCA_THREADS=0: one thread does everything) the same each time, however
 * busy the machine is. The adapter's clock advances by a fixed time in each call of replay_turn(),
 * and the engine's deadlines and pauses count calls. After the adapter has run, the run waits until
 * the engine's event thread has read all events.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#include <hwq_async.h>

#include "gantry_engine.h"
#include "gantry_queue.h"
#include "random.h"

/*
 * The time by which the adapter's clock advances in each call of replay_turn(). With this time the
 * adapter completes its WQEs before a deadline passes. A deadline passes after five checks, and
 * there is a check after 64 polls that find nothing. An unordered queue counts the polls of all its
 * connections.
 */
#define TURN_NS 500000
/*
 * In a call that waits (replay_call_waits()), each reading of the clock advances the clock by this
 * time.
 */
#define LOOK_NS 100000

/* Time since the run began. */
static uint64_t now_ns;
static bool call_waits;
/* The file /proc/self/task/TID/stat of the engine's event thread. */
static int stat_fd = -1;

/*
 * The adapter and the engine's calls that wait read CLOCK_MONOTONIC. The engine's queues read the
 * CPU's counter.
 */
__attribute__((visibility("default"))) int
clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!run.pumped || id != CLOCK_MONOTONIC)
		return syscall(SYS_clock_gettime, id, ts);
	now_ns += call_waits ? LOOK_NS : 0;
	ts->tv_sec = 1000 + now_ns / 1000000000;
	ts->tv_nsec = now_ns % 1000000000;
	return 0;
}

/* Opens the stat file of the thread with this name. */
static int
open_stat(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	int found = -1;

	CHECK(tasks != NULL);
	while (found < 0 && (task = readdir(tasks)) != NULL) {
		char path[300], line[128];
		ssize_t n;
		int fd;

		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", task->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : pread(fd, line, sizeof(line) - 1, 0);
		if (n > 0) {
			line[n] = '\0';
			if (strstr(line, name) != NULL)
				found = fd;
		}
		if (fd >= 0 && fd != found)
			close(fd);
	}
	closedir(tasks);
	return found;
}

void
replay_begin(void)
{
	if (!run.pumped)
		return;
	stat_fd = open_stat("(gantry-event)");
	CHECK(stat_fd >= 0);
}

void
replay_end(void)
{
	if (run.pumped)
		close(stat_fd);
}

/* True if the thread sleeps and no event is pending. */
static bool
events_are_read(void)
{
	struct pollfd fd = {.fd = hwq_async_fd(run.g->dev), .events = POLLIN};
	char line[128] = "";

	if (poll(&fd, 1, 0) != 0)
		return false;
	CHECK(pread(stat_fd, line, sizeof(line) - 1, 0) > 0);
	return strstr(line, ") S ") != NULL;
}

void
replay_call_waits(bool waits)
{
	call_waits = waits;
}

/*
 * Changes times of the queue. After the change, each check counts as a quarter of the deadline,
 * however much time has passed. A pause before a repair ends at once.
 */
static void
skip_time(struct gantry_queue *q)
{
	uint32_t i;

	q->deadline_tsc = 4;
	for (i = 0; i < GANTRY_CONN_PEER + q->max_peers; i++)
		q->conn[i].repair_tsc = 0;
}

void
replay_turn(void)
{
	unsigned int i;

	if (!run.pumped)
		return;
	now_ns += TURN_NS;
	for (i = 0; i < run.n_sides; i++)
		skip_time(run.side[i].q);
}

void
replay_pump(void)
{
	env_pump();
	while (run.pumped && !events_are_read())
		sched_yield();
}
