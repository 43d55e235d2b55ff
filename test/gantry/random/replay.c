/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What makes a pumped run the same each time: the adapter's time, which goes by turns, and the engine's
 * thread of events, which is waited for.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#include <hwq_async.h>

#include "gantry_engine.h"
#include "random.h"

#define TURN_NS 50000

/* Since the run began. */
static uint64_t now_ns;
/* The stat file of the engine's thread of events. */
static int stat_fd = -1;

/* The adapter reads CLOCK_MONOTONIC. The engine does not: it reads the CPU's counter. */
__attribute__((visibility("default"))) int
clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!run.pumped || id != CLOCK_MONOTONIC)
		return syscall(SYS_clock_gettime, id, ts);
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

/* The thread sleeps, and no event waits for it. */
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
replay_turn(void)
{
	now_ns += TURN_NS;
	while (run.pumped && !events_are_read())
		sched_yield();
}
