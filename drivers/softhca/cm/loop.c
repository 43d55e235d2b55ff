/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread of the connection manager: descriptors, the timer, and the lock. */
#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "device_thread.h"
#include "fork_lock.h"
#include "log.h"
#include "raw.h"

#define TIMER UINT64_MAX /* epoll_event.data of the timer */

/*
 * An entry for each descriptor. An event names its entry by number and generation. So an event that
 * epoll_wait(2) has returned for an entry that ended meanwhile is recognised.
 */
struct slot {
	int fd; /* -1: the entry is free */
	uint32_t generation;
	loop_ready_fn *ready;
	void *arg;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all state of this folder */
static struct slot *slots;
static uint32_t n_slots;
static int poll_fd = -1, timer_fd = -1;
static bool runs;
static uint64_t due; /* time for which the timer is set, or 0 */
static loop_fire_fn *fire;

void
loop_lock(void)
{
	fork_lock(&lock);
}

void
loop_unlock(void)
{
	fork_unlock(&lock);
}

/*
 * As epoll_ctl(2). TSan does not see this call, as it does not see raw_close(): otherwise it would
 * mix up files that have had the same descriptor.
 */
static int
watch(int op, int fd, struct epoll_event *event)
{
	return (int)syscall(SYS_epoll_ctl, poll_fd, op, fd, event);
}

/* ---------------------------------------------------------------- the thread */

static void
take_event(const struct epoll_event *event)
{
	const uint32_t at = (uint32_t)event->data.u64;
	uint64_t times;

	if (event->data.u64 == TIMER) {
		if (read(timer_fd, &times, sizeof(times)) == sizeof(times) && due != 0) {
			due = 0;
			fire();
		}
		return;
	}
	if (at < n_slots && slots[at].fd >= 0 &&
		slots[at].generation == (uint32_t)(event->data.u64 >> 32))
		slots[at].ready(slots[at].arg, event->events);
}

static void *
run(void *arg)
{
	struct epoll_event event;

	/* One event at a time: its function may end the descriptors of further events. */
	for (;;) {
		if (epoll_wait(poll_fd, &event, 1, -1) != 1)
			continue;
		loop_lock();
		take_event(&event);
		loop_unlock();
	}
	return arg;
}

static void
close_both(void)
{
	if (timer_fd >= 0)
		raw_close(timer_fd);
	if (poll_fd >= 0)
		raw_close(poll_fd);
	timer_fd = poll_fd = -1;
}

static int
make_descriptors(void)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = TIMER};

	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (poll_fd >= 0 && timer_fd >= 0 && watch(EPOLL_CTL_ADD, timer_fd, &event) == 0)
		return 0;
	return -errno;
}

int
loop_start(loop_fire_fn *fire_fn)
{
	pthread_t thread;
	int rc;

	if (runs)
		return 0;
	fire = fire_fn;
	rc = make_descriptors();
	if (rc == 0)
		rc = device_thread(&thread, "softhca-cm", run, NULL);
	if (rc != 0) {
		close_both();
		softhca_log("rdma_cm: the thread of the connection manager cannot start: error %d",
			-rc);
		return rc;
	}
	(void)pthread_detach(thread);
	runs = true;
	return 0;
}

/* ---------------------------------------------------------------- descriptors and the timer */

static bool
grow(void)
{
	const uint32_t n = n_slots == 0 ? 16 : 2 * n_slots;
	struct slot *more = realloc(slots, n * sizeof(*more));

	if (more == NULL)
		return false;
	slots = more;
	for (; n_slots < n; n_slots++)
		slots[n_slots] = (struct slot){.fd = -1};
	return true;
}

int
loop_add(int fd, uint32_t events, loop_ready_fn *ready, void *arg, uint32_t *slot)
{
	struct epoll_event event = {.events = events};
	uint32_t at = 0;

	while (at < n_slots && slots[at].fd >= 0)
		at++;
	if (at == n_slots && !grow())
		return -ENOMEM;
	event.data.u64 = (uint64_t)++slots[at].generation << 32 | at;
	if (watch(EPOLL_CTL_ADD, fd, &event) != 0)
		return -errno;
	slots[at].fd = fd;
	slots[at].ready = ready;
	slots[at].arg = arg;
	*slot = at;
	return 0;
}

void
loop_change(uint32_t slot, uint32_t events)
{
	struct epoll_event event = {.events = events,
		.data.u64 = (uint64_t)slots[slot].generation << 32 | slot};

	(void)watch(EPOLL_CTL_MOD, slots[slot].fd, &event);
}

void
loop_remove(uint32_t slot)
{
	/* A child of fork(2) may still have the socket open, so close(2) alone would not end it. */
	(void)watch(EPOLL_CTL_DEL, slots[slot].fd, NULL);
	slots[slot].fd = -1;
}

void
loop_due(uint64_t ns)
{
	const struct itimerspec at = {.it_value = {.tv_sec = (time_t)(ns / 1000000000u),
					      .tv_nsec = (long)(ns % 1000000000u)}};

	if (due != 0 && due <= ns)
		return;
	due = ns;
	(void)timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

/* ---------------------------------------------------------------- fork(2) */

void
loop_fork_prepare(void)
{
	loop_lock();
}

void
loop_fork_parent(void)
{
	loop_unlock();
}

void
loop_fork_child(void)
{
	close_both();
	slots = NULL;
	n_slots = 0;
	due = 0;
	runs = false;
	loop_unlock();
}
