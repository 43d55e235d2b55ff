/* SPDX-License-Identifier: BSD-3-Clause */
/* The carrier between processes of one host. */
#include "carrier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "allowed.h"
#include "dev.h"
#include "devices.h"
#include "log.h"
#include "loop.h"
#include "port_name.h"
#include "raw.h"
#include "cm_record.h"

#define MAX_LINKS   4096u /* connections of other processes */
#define MAX_PENDING 4096u /* records that wait for room in the socket of one link */
#define MAX_AT_ONCE 64u   /* records of one link before others have their turn */

struct pending {
	struct pending *next;
	struct cm_record record;
};

struct cm_link {
	struct cm_link *next;
	int fd;
	uint32_t slot;
	pid_t pid;
	bool asks;         /* this process has connected the link */
	uint16_t ps, port; /* for `asks`: where it leads */
	struct cm_id *ids;
	struct pending *first, *last;
	unsigned int n_pending;
	bool busy; /* the link must not be freed now */
	bool said; /* it was logged that the link is full */
};

static struct cm_link *links;
static unsigned int n_accepted;
static int spare_fd = -1; /* closed to accept a connection that must be turned away */

static void ready(void *arg, uint32_t events);

/* ---------------------------------------------------------------- links */

static struct cm_link *
add(int fd, pid_t pid)
{
	struct cm_link *link = calloc(1, sizeof(*link));

	if (link == NULL || loop_add(fd, EPOLLIN, ready, link, &link->slot) != 0) {
		free(link);
		return NULL;
	}
	link->fd = fd;
	link->pid = pid;
	link->next = links;
	links = link;
	return link;
}

/* Closes the connection. The link is in no list any more, but its ids still refer to it. */
static void
take_down(struct cm_link *link)
{
	struct cm_link **at = &links;

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	loop_remove(link->slot);
	raw_close(link->fd);
	for (struct pending *next, *p = link->first; p != NULL; p = next) {
		next = p->next;
		free(p);
	}
	link->first = NULL;
	if (!link->asks)
		n_accepted--;
}

/* Closes a link that this process has made and that no id of it uses. */
static void
close_unused(struct cm_link *link)
{
	if (!link->asks || link->ids != NULL || link->first != NULL || link->busy)
		return;
	take_down(link);
	free(link);
}

static void
leave(struct cm_id *id)
{
	struct cm_link *link = id->link;

	if (link == NULL)
		return;
	*id->at_link = id->next_of_link;
	if (id->next_of_link != NULL)
		id->next_of_link->at_link = id->at_link;
	id->link = NULL;
	close_unused(link);
}

static void
join(struct cm_id *id, struct cm_link *link)
{
	id->link = link;
	id->next_of_link = link->ids;
	id->at_link = &link->ids;
	if (link->ids != NULL)
		link->ids->at_link = &id->next_of_link;
	link->ids = id;
}

/* The connection has ended. */
static void
lose(struct cm_link *link)
{
	struct cm_id *id;

	take_down(link);
	link->busy = true;
	while ((id = link->ids) != NULL) {
		leave(id);
		machine_lost(id);
	}
	free(link);
}

static struct cm_id *
find(const struct cm_link *link, uint32_t remote_comm)
{
	struct cm_id *id = link->ids;

	while (id != NULL && id->remote_comm != remote_comm)
		id = id->next_of_link;
	return id;
}

/* ---------------------------------------------------------------- connecting and accepting */

/*
 * True if messages of the process at the other end are allowed: the settings wire and wire_users.
 */
static bool
allows(int fd, pid_t *pid)
{
	unsigned int n;
	const struct softhca_dev *devs = softhca_devices(&n);

	return n != 0 && wire_allows(&devs[0], fd, pid) &&
	       (devs[0].cfg->wire != SOFTHCA_WIRE_OFF || *pid == getpid());
}

static int
connect_to(uint16_t ps, uint16_t port, struct cm_link **out)
{
	struct cm_link *link = links;
	int fd, err;
	pid_t pid;

	while (link != NULL && !(link->asks && link->ps == ps && link->port == port))
		link = link->next;
	if (link == NULL) {
		err = port_name_connect(ps, port, &fd);
		if (err != 0)
			return err;
		if (!allows(fd, &pid)) {
			raw_close(fd);
			return -EACCES;
		}
		link = add(fd, pid);
		if (link == NULL) {
			raw_close(fd);
			return -ENOMEM;
		}
		link->asks = true;
		link->ps = ps;
		link->port = port;
	}
	*out = link;
	return 0;
}

/* Makes the reserve of descriptors, if there is none and a descriptor is free. */
static void
make_spare(void)
{
	if (spare_fd < 0)
		spare_fd = eventfd(0, EFD_CLOEXEC);
}

/* Closes a connection that waits to be accepted, so that it does not wake the thread for ever. */
static bool
turn_away(int listening_fd)
{
	int fd;

	if (spare_fd < 0)
		return false;
	raw_close(spare_fd);
	spare_fd = -1;
	fd = raw_accept(listening_fd, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		raw_close(fd);
	make_spare();
	return fd >= 0;
}

void
carrier_accept(int listening_fd)
{
	static bool said, said_full;
	pid_t pid;
	int fd, err;

	/*
	 * Another thread of the program may take the descriptor that turn_away() frees for a
	 * moment. Then the reserve is made again here, or after the accepted connections if a
	 * descriptor has become free meanwhile.
	 */
	make_spare();
	while ((fd = raw_accept(listening_fd, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		const bool has_room = n_accepted < MAX_LINKS;

		if (!has_room && !said_full)
			softhca_log("rdma_cm: other processes have %u connections to this process: "
				    "further connections are closed",
				MAX_LINKS);
		said_full |= !has_room;
		if (!has_room || !allows(fd, &pid) || add(fd, pid) == NULL)
			raw_close(fd);
		else
			n_accepted++;
	}
	err = errno;
	make_spare();
	if (err != EMFILE && err != ENFILE)
		return;
	if (!said)
		softhca_log("rdma_cm: too few descriptors (%s): other processes cannot connect. "
			    "Allow more by `ulimit -n`",
			strerror(err));
	said = true;
	while (turn_away(listening_fd))
		;
}

/* ---------------------------------------------------------------- sending */

/* Returns 0, or -errno. */
static int
transmit(const struct cm_link *link, const struct cm_record *record)
{
	ssize_t sent;

	do
		sent = raw_send(link->fd, record, sizeof(*record), MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

static bool
is_full(int err)
{
	return err == -EAGAIN || err == -ENOBUFS || err == -ENOMEM;
}

/* Keeps the record until the socket has room. */
static int
keep(struct cm_link *link, const struct cm_record *record)
{
	struct pending *p = link->n_pending < MAX_PENDING ? malloc(sizeof(*p)) : NULL;

	if (p == NULL) {
		if (!link->said)
			softhca_log("rdma_cm: process %d does not read its messages: further "
				    "messages to it are dropped",
				(int)link->pid);
		link->said = true;
		return -EAGAIN;
	}
	p->next = NULL;
	p->record = *record;
	if (link->first == NULL) {
		link->first = p;
		loop_change(link->slot, EPOLLIN | EPOLLOUT);
	} else {
		link->last->next = p;
	}
	link->last = p;
	link->n_pending++;
	return 0;
}

/* If the connection has ended, the thread finds it, and calls machine_lost(). */
static int
send_on(struct cm_link *link, const struct cm_message *m)
{
	const struct cm_record record = {.magic = CM_RECORD_MAGIC, .message = *m};
	int err = link->first == NULL ? transmit(link, &record) : -EAGAIN;

	return is_full(err) ? keep(link, &record) : err;
}

static void
send_pending(struct cm_link *link)
{
	struct pending *p;

	while ((p = link->first) != NULL && !is_full(transmit(link, &p->record))) {
		link->first = p->next;
		link->n_pending--;
		free(p);
	}
	if (link->first == NULL)
		loop_change(link->slot, EPOLLIN);
}

static int
send_message(struct cm_id *id, const struct cm_message *m)
{
	struct cm_link *link;
	int err;

	if (id->link == NULL) {
		if (m->kind != CM_REQ && m->kind != CM_SIDR_REQ)
			return -ENOTCONN;
		err = connect_to(m->ps, address_port(&m->dst), &link);
		if (err != 0)
			return err;
		join(id, link);
	}
	return send_on(id->link, m);
}

static void
answer(struct cm_link *link, const struct cm_message *m)
{
	(void)send_on(link, m);
}

/* ---------------------------------------------------------------- receiving */

/* Reads a record. Returns 1, 0 if none has come, or -1 if the connection has ended. */
static int
receive(struct cm_link *link, struct cm_record *record)
{
	static _Atomic pid_t said;
	const char *why;
	ssize_t len;

	len = raw_recv_record(link->fd, record, sizeof(*record));
	if (len < 0 && errno == EAGAIN)
		return 0;
	if (len <= 0)
		return -1;
	why = record_wrong(record, (size_t)len);
	if (why == NULL)
		return 1;
	if (atomic_exchange(&said, link->pid) != link->pid)
		softhca_log("rdma_cm: process %d: %s: its connection is closed", (int)link->pid,
			why);
	return -1;
}

/* The function of loop.h for a link. */
static void
ready(void *arg, uint32_t events)
{
	struct cm_link *link = arg;
	struct cm_record record;
	int got = 1;

	link->busy = true;
	if ((events & EPOLLOUT) != 0)
		send_pending(link);
	for (unsigned int i = 0; i < MAX_AT_ONCE && got == 1; i++) {
		got = receive(link, &record);
		if (got == 1)
			machine_receive(link, &record.message);
	}
	link->busy = false;
	if (got < 0)
		lose(link);
	else
		close_unused(link);
}

/* ---------------------------------------------------------------- */

void
carrier_start(void)
{
	make_spare();
}

void
carrier_fork_child(void)
{
	for (struct cm_link *link = links; link != NULL; link = link->next)
		raw_close(link->fd);
	links = NULL;
	n_accepted = 0;
	if (spare_fd >= 0)
		raw_close(spare_fd);
	spare_fd = -1;
}

const struct cm_carrier carrier = {
	.send = send_message,
	.answer = answer,
	.join = join,
	.leave = leave,
	.find = find,
};
