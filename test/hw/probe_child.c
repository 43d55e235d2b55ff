/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a step in a child process, with a time limit. */
#include "probe_child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "softhca.h"

#define NAP_NS   1000000
#define TEXT_MAX 4096

void *
probe_share(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p != MAP_FAILED)
		return p;
	perror("hw_probe: no memory");
	exit(1);
}

/* Finds the last line that the child wrote to stderr: it names the check that failed. */
static void
last_line(FILE *said, char *why, size_t why_len)
{
	char text[TEXT_MAX];
	size_t n;
	long len;
	char *line;

	fseek(said, 0, SEEK_END);
	len = ftell(said);
	fseek(said, len < TEXT_MAX ? 0 : len - TEXT_MAX + 1, SEEK_SET);
	n = fread(text, 1, sizeof(text) - 1, said);
	while (n != 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	line = strrchr(text, '\n');
	snprintf(why, why_len, "a step failed: %s", line != NULL ? line + 1 : text);
}

/* Waits for the child. Returns its status, or -1 if the child exceeded its time and was killed. */
static int
reap(pid_t pid)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	struct timespec start, now;
	int status;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		nanosleep(&nap, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec - start.tv_sec <= PROBE_LIMIT)
			continue;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		return -1;
	}
	return status;
}

int
probe_child(void (*step)(void *shared), void *shared, char *why, size_t why_len)
{
	FILE *said = tmpfile();
	pid_t pid;
	int status;

	fflush(NULL);
	pid = said != NULL ? fork() : -1;
	if (pid == 0) {
		dup2(fileno(said), STDERR_FILENO);
		step(shared);
		_exit(0);
	}
	if (pid < 0) {
		snprintf(why, why_len, "no process can be made: %m");
		if (said != NULL)
			fclose(said);
		return -1;
	}
	status = reap(pid);
	if (status == -1)
		snprintf(why, why_len, "it did not end in %d seconds", PROBE_LIMIT);
	else if (WIFSIGNALED(status))
		snprintf(why, why_len, "its process ended by signal %d", WTERMSIG(status));
	else if (status != 0)
		last_line(said, why, why_len);
	fclose(said);
	return status == 0 ? 0 : -1;
}
