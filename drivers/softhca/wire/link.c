/* SPDX-License-Identifier: BSD-3-Clause */
/* The asking end of a connection: connects, sends records of messages, and parks answers. */
#include "link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "allowed.h"
#include "dev.h"
#include "log.h"
#include "raw.h"
#include "sockets.h"
#include "wire_adapter.h"
#include "wire_event.h"

/* Returns the link to a block, which may be new and not connected, or NULL if memory is short. */
static struct link *
link_of(struct wire *wire, uint32_t block)
{
	struct link *link = atomic_load_explicit(&wire->links[block], memory_order_acquire);

	if (link != NULL)
		return link;
	spin_lock(&wire->connect_lock);
	link = atomic_load_explicit(&wire->links[block], memory_order_relaxed);
	if (link == NULL)
		link = calloc(1, sizeof(*link));
	if (link != NULL && link->wire == NULL) {
		link->wire = wire;
		link->block = block;
		link->fd = -1;
		wire->linked[wire->n_links] = (uint16_t)block;
		atomic_store_explicit(&wire->links[block], link, memory_order_release);
		atomic_fetch_add(&wire->n_links, 1);
	}
	spin_unlock(&wire->connect_lock);
	return link;
}

/* Closes the connection. The messages under way on it are lost. The caller holds link->lock. */
static void
lose(struct link *link)
{
	if (link->fd < 0)
		return;
	sockets_lock();
	raw_close(link->fd);
	link->fd = -1;
	sockets_unlock();
	link->ready = false;
	link->owner = 0;
	atomic_fetch_add_explicit(&link->life, 1, memory_order_release);
	atomic_store_explicit(&link->wire->lost, true, memory_order_release);
}

/* As lose(), and logs the reason. */
static void
refuse(struct link *link, const char *why)
{
	if (!link->said)
		softhca_log("wire: a process that holds QP numbers 0x%03x000 to 0x%03xfff sent %s: "
			    "its connection is closed",
			link->block, link->block, why);
	link->said = true;
	lose(link);
}

/* Makes the connection. The caller holds sockets_lock(). */
static void
connect_socket(struct link *link, uint32_t number)
{
	struct wire *wire = link->wire;
	struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET,
		.data.u64 = WIRE_EVENT_LINK | link->block};
	pid_t pid;
	int fd;

	if (names_connect(number, &fd) != 0)
		return;
	if (!wire_allows(wire->dev, fd, &pid) ||
		epoll_ctl(wire->poll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
		raw_close(fd);
		return;
	}
	link->fd = fd;
	atomic_fetch_add_explicit(&link->life, 1, memory_order_release);
}

static void
connect_link(struct link *link, uint32_t number)
{
	if (link->in == NULL)
		link->in = malloc(RECORD_MAX);
	if (link->in == NULL)
		return;
	sockets_lock();
	connect_socket(link, number);
	sockets_unlock();
}

struct link *
link_to(struct wire *wire, uint32_t number, uint32_t *life)
{
	struct link *link = link_of(wire, (number & 0xffffff) >> NAMES_BLOCK_LOG);
	bool is_connected;

	if (link == NULL)
		return NULL;
	spin_lock(&link->lock);
	if (link->fd < 0)
		connect_link(link, number);
	*life = atomic_load_explicit(&link->life, memory_order_relaxed);
	is_connected = link->fd >= 0;
	spin_unlock(&link->lock);
	return is_connected ? link : NULL;
}

static int
send_record(struct link *link, const struct iovec *iov, unsigned int n)
{
	const struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = n};

	while (raw_sendmsg(link->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		switch (errno) {
		case EINTR:
			continue;
		case EAGAIN:
		case ENOBUFS:
		case ENOMEM:
			return -EAGAIN;
		case EFAULT:
			return -EFAULT;
		case EPIPE:
		case ECONNRESET:
			/*
			 * The other process has closed the connection. The answers that it sent
			 * before are read first: then receive() finds the end of the connection.
			 */
			link->ready = true;
			return -EPIPE;
		default:
			lose(link);
			return -EPIPE;
		}
	}
	return 0;
}

int
link_send(struct link *link, uint32_t life, uint64_t name, const struct iovec *iov, unsigned int n,
	bool more)
{
	int err;

	spin_lock(&link->lock);
	if (atomic_load_explicit(&link->life, memory_order_relaxed) != life)
		err = -EPIPE;
	else if (link->owner != 0 && link->owner != name)
		err = -EAGAIN;
	else
		err = send_record(link, iov, n);
	if (err == 0)
		link->owner = more ? name : 0;
	spin_unlock(&link->lock);
	return err;
}

void
link_refuse(struct link *link, uint32_t life, const char *why)
{
	spin_lock(&link->lock);
	if (atomic_load_explicit(&link->life, memory_order_relaxed) == life)
		refuse(link, why);
	spin_unlock(&link->lock);
}

void
link_give_up(struct link *link, uint64_t name)
{
	spin_lock(&link->lock);
	if (link->owner == name)
		link->owner = 0;
	spin_unlock(&link->lock);
}

/* ---- answers */

static bool
answer_is_right(const struct record_answer *a, size_t len)
{
	const struct record *head = &a->head;

	return len >= sizeof(*a) && head->magic == RECORD_MAGIC && head->kind == RECORD_ANSWER &&
	       head->id != 0 && head->total <= RECORD_MAX_MESSAGE && head->off <= head->total &&
	       len - sizeof(*a) <= head->total - head->off && head->qpn <= 0xffffff;
}

/* Reads a record. The caller holds link->lock. Returns its bytes, or 0. */
static size_t
receive(struct link *link)
{
	ssize_t len;

	if (link->fd < 0)
		return 0;
	len = raw_recv_record(link->fd, link->in, RECORD_MAX);
	if (len < 0 && errno == EAGAIN) {
		link->ready = false;
		return 0;
	}
	if (len > 0 && len <= (ssize_t)RECORD_MAX &&
		answer_is_right(link_answer(link), (size_t)len))
		return (size_t)len;
	if (len > 0)
		refuse(link, "an answer that this version of softhca does not know");
	else
		lose(link);
	return 0;
}

uint64_t
link_receive(struct link *link)
{
	uint64_t name = 0;
	size_t len;

	if (!link->ready || atomic_load_explicit(&link->parked, memory_order_acquire) != 0)
		return 0;
	spin_lock(&link->lock);
	len = receive(link);
	spin_unlock(&link->lock);
	if (len != 0) {
		link->in_len = (uint32_t)len;
		name = record_name(&link_answer(link)->head);
		atomic_store_explicit(&link->parked, name, memory_order_release);
	}
	return name;
}

void
link_trim(struct link *link)
{
	/* Only this lane parks answers, so no answer is parked while this lane frees the buffer. */
	if (atomic_load_explicit(&link->parked, memory_order_acquire) != 0)
		return;
	spin_lock(&link->lock);
	if (link->fd < 0) {
		free(link->in);
		link->in = NULL;
	}
	spin_unlock(&link->lock);
}

void
link_drop(struct link *link, uint64_t name)
{
	(void)atomic_compare_exchange_strong(&link->parked, &name, 0);
}

bool
link_take(struct link *link, uint64_t name)
{
	return atomic_compare_exchange_strong(&link->parked, &name, name | LINK_TAKING);
}

void
link_taken(struct link *link)
{
	atomic_store_explicit(&link->parked, 0, memory_order_release);
}
