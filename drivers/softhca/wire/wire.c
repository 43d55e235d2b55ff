/* SPDX-License-Identifier: BSD-3-Clause */
/* The sockets of an adapter: names, links and served connections. */
#include "wire_adapter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "allowed.h"
#include "config.h"
#include "dev.h"
#include "log.h"
#include "raw.h"
#include "sockets.h"
#include "wire_event.h"

#define MAX_EVENTS 64
#define MAX_SERVED 4096u /* another adapter makes one connection for each block of numbers */

/* A bit for each block of this process. Blocks stay until the process ends. */
static _Atomic uint64_t own[WIRE_BLOCKS / 64];

/* ---- who may come */

bool
wire_allows(const struct softhca_dev *dev, int fd, pid_t *pid)
{
	static atomic_bool said;
	struct ucred who = {.pid = 0};
	socklen_t len = sizeof(who);
	const bool is_known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0;

	*pid = who.pid;
	if (dev->cfg->wire_users != 0 || (is_known && who.uid == geteuid()))
		return true;
	if (!atomic_exchange(&said, true))
		softhca_log("wire: process %d of user %u is refused, because this process has user "
			    "%u. The setting wire_users = 1 in both processes allows other users",
			(int)who.pid, (unsigned int)who.uid, (unsigned int)geteuid());
	return false;
}

/* ---- create and destroy */

/* Makes the reserve of descriptors. Returns -1 if no descriptor is free. */
static int
spare(const struct wire *wire)
{
	return fcntl(wire->poll_fd, F_DUPFD_CLOEXEC, 0);
}

struct wire *
wire_create(struct softhca_dev *dev)
{
	struct wire *wire = calloc(1, sizeof(*wire));

	if (wire == NULL)
		return NULL;
	wire->dev = dev;
	wire->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (wire->poll_fd >= 0) {
		wire->spare_fd = spare(wire);
		return wire;
	}
	softhca_log("wire: epoll_create1(2) failed: %s: this adapter cannot reach other processes. "
		    "Allow more descriptors by `ulimit -n`",
		strerror(errno));
	free(wire);
	return NULL;
}

/* Frees all of a served connection but its socket. */
static void
served_free(struct served *s)
{
	served_end_part(s);
	free(s->in);
	free(s);
}

static void
close_all(struct wire *wire)
{
	for (unsigned int i = 0; i < wire->n_names; i++)
		raw_close(wire->names[i]);
	for (unsigned int i = 0; i < wire->n_links; i++) {
		const struct link *link = atomic_load(&wire->links[wire->linked[i]]);

		if (link->fd >= 0)
			raw_close(link->fd);
	}
	for (unsigned int i = 0; i < wire->n_served; i++)
		raw_close(wire->served[i]->fd);
	raw_close(wire->poll_fd);
	if (wire->spare_fd >= 0)
		raw_close(wire->spare_fd);
}

void
wire_fork_prepare(void)
{
	sockets_lock();
}

void
wire_fork_done(void)
{
	sockets_unlock();
}

/*
 * The lists have all sockets of the parent, because the parent forked with the lock of sockets.h.
 * Memory is not freed: a thread of the parent may have held it in any state.
 */
void
wire_fork_child(struct wire *wire)
{
	for (unsigned int i = 0; i < WIRE_BLOCKS / 64; i++)
		atomic_store(&own[i], 0);
	close_all(wire);
}

void
wire_destroy(struct wire *wire)
{
	if (wire == NULL)
		return;
	close_all(wire);
	for (unsigned int i = 0; i < wire->n_links; i++) {
		struct link *link = atomic_load(&wire->links[wire->linked[i]]);

		free(link->in);
		free(link);
	}
	for (unsigned int i = 0; i < wire->n_served; i++)
		served_free(wire->served[i]);
	free(wire->served);
	free(wire->names);
	free(wire);
}

bool
wire_is_own(uint32_t number)
{
	const uint32_t block = (number & 0xffffff) >> NAMES_BLOCK_LOG;

	return (atomic_load_explicit(&own[block / 64], memory_order_relaxed) >> block % 64 & 1) !=
	       0;
}

/* Claims a block. The caller holds sockets_lock(). */
static int
claim(struct wire *wire, uint32_t *block)
{
	struct epoll_event event = {.events = EPOLLIN};
	int *names, fd, err;

	names = realloc(wire->names, (wire->n_names + 1) * sizeof(*names));
	if (names == NULL)
		return -ENOMEM;
	wire->names = names;
	err = names_claim(block, &fd);
	if (err != 0)
		return err;
	event.data.u64 = WIRE_EVENT_NAME | (unsigned int)fd;
	if (epoll_ctl(wire->poll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
		err = -errno;
		raw_close(fd);
		return err;
	}
	wire->names[wire->n_names] = fd;
	atomic_fetch_add(&wire->n_names, 1);
	atomic_fetch_or(&own[*block / 64], UINT64_C(1) << *block % 64);
	return 0;
}

int
wire_claim(void *arg, uint32_t *block)
{
	int err;

	sockets_lock();
	err = claim(arg, block);
	sockets_unlock();
	return err;
}

/* The kernel notes the user of a listening socket in listen(2), also if the socket listens. */
void
wire_user_changed(struct wire *wire)
{
	sockets_lock();
	for (unsigned int i = 0; i < wire->n_names; i++)
		(void)listen(wire->names[i], SOMAXCONN);
	sockets_unlock();
}

/* ---- events */

static bool
list_has_room(struct wire *wire)
{
	unsigned int want = wire->max_served == 0 ? 8 : 2 * wire->max_served;
	static atomic_bool said;
	struct served **served;

	if (wire->n_served == MAX_SERVED) {
		if (!atomic_exchange(&said, true))
			softhca_log("wire: an adapter has %u connections of other processes: "
				    "further connections are closed",
				MAX_SERVED);
		return false;
	}
	if (wire->n_served < wire->max_served)
		return true;
	served = realloc(wire->served, want * sizeof(struct served *));
	if (served == NULL)
		return false;
	wire->served = served;
	wire->max_served = want;
	return true;
}

/* Lists an accepted connection, or closes it. The caller holds sockets_lock(). */
static void
serve(struct wire *wire, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};
	struct served *s;
	pid_t pid;

	if (!wire_allows(wire->dev, fd, &pid) || !list_has_room(wire)) {
		raw_close(fd);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (s != NULL)
		s->in = malloc(2 * (size_t)RECORD_MAX);
	event.data.u64 = WIRE_EVENT_SERVED | ++wire->n_accepted;
	if (s == NULL || s->in == NULL ||
		epoll_ctl(wire->poll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
		if (s != NULL)
			free(s->in);
		free(s);
		raw_close(fd);
		return;
	}
	s->wire = wire;
	s->fd = fd;
	s->out = s->in + RECORD_MAX;
	s->pid = pid;
	s->number = wire->n_accepted;
	s->ready = true;
	wire->served[wire->n_served++] = s;
}

/*
 * Closes a connection that waits to be accepted. Otherwise the connection would keep the adapter
 * awake. Returns false if no connection waits, or if there is no spare descriptor.
 */
static bool
turn_away(struct wire *wire, int name)
{
	int fd = -1;

	sockets_lock();
	if (wire->spare_fd >= 0) {
		raw_close(wire->spare_fd);
		fd = raw_accept(name, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			raw_close(fd);
		wire->spare_fd = spare(wire);
	}
	sockets_unlock();
	return fd >= 0;
}

/* Accepts one connection. Returns 0, or -errno of raw_accept(). */
static int
accept_one(struct wire *wire, int name)
{
	int fd, err = 0;

	sockets_lock();
	fd = raw_accept(name, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		serve(wire, fd);
	else
		err = -errno;
	sockets_unlock();
	return err;
}

/*
 * Another thread of the program may take the descriptor that turn_away() frees for a moment. Then
 * the reserve is lost, and this function makes a new one as soon as a descriptor is free.
 */
static void
restore_spare(struct wire *wire)
{
	if (wire->spare_fd >= 0)
		return;
	sockets_lock();
	wire->spare_fd = spare(wire);
	sockets_unlock();
}

static void
accept_all(struct wire *wire, int name)
{
	static atomic_bool said;
	int err;

	restore_spare(wire);
	do
		err = accept_one(wire, name);
	while (err == 0);
	restore_spare(wire);
	if (err != -EMFILE && err != -ENFILE)
		return;
	if (!atomic_exchange(&said, true))
		softhca_log("wire: too few descriptors (%s): other processes cannot connect. Allow "
			    "more by `ulimit -n`",
			strerror(-err));
	while (turn_away(wire, name))
		;
}

static void
take_event(struct wire *wire, uint64_t data)
{
	const uint64_t value = data & ~WIRE_EVENT_KINDS;

	switch (data & WIRE_EVENT_KINDS) {
	case WIRE_EVENT_NAME:
		accept_all(wire, (int)value);
		break;
	case WIRE_EVENT_LINK:
		atomic_load(&wire->links[value])->ready = true;
		break;
	default:
		for (unsigned int i = 0; i < wire->n_served; i++)
			if (wire->served[i]->number == value)
				wire->served[i]->ready = true;
		break;
	}
}

void
wire_take_events(struct wire *wire)
{
	struct epoll_event events[MAX_EVENTS];
	int n = epoll_wait(wire->poll_fd, events, MAX_EVENTS, 0);

	for (int i = 0; i < n; i++)
		take_event(wire, events[i].data.u64);
}

void
wire_drop_closed(struct wire *wire)
{
	for (unsigned int i = 0; i < wire->n_served;) {
		struct served *s = wire->served[i];

		if (!s->is_closed) {
			i++;
			continue;
		}
		sockets_lock();
		wire->served[i] = wire->served[--wire->n_served];
		raw_close(s->fd);
		sockets_unlock();
		served_free(s);
	}
}

/*
 * Each event of a connection is reported only once, and must not be lost here. ppoll(2) on the
 * epoll itself waits for an event, but does not consume it.
 */
bool
wire_sleep(struct wire *wire, long ns)
{
	struct pollfd fd = {.fd = wire->poll_fd, .events = POLLIN};

	(void)prctl(PR_SET_TIMERSLACK, 1);
	return ppoll(&fd, 1, &(struct timespec){.tv_nsec = ns}, NULL) > 0;
}
