/* SPDX-License-Identifier: BSD-3-Clause */
/* The serving end of a connection: reads and checks records, and sends answers. */
#include "served.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"
#include "dev.h"
#include "log.h"
#include "raw.h"
#include "wire_adapter.h"

void
served_refuse(struct served *s, const char *why)
{
	/*
	 * The process for which served_refuse() logged last. It logs only once in a row for a
	 * process.
	 */
	static _Atomic pid_t said;

	if (atomic_exchange(&said, s->pid) != s->pid)
		softhca_log("wire: process %d: %s: its connection is closed", (int)s->pid, why);
	s->is_closed = true;
}

void
served_end_part(struct served *s)
{
	if (s->whole != NULL)
		s->wire->gathered -= s->request.head.total;
	free(s->whole);
	s->whole = NULL;
	s->part = PART_NONE;
}

bool
served_alloc_whole(struct served *s, uint64_t len)
{
	struct wire *wire = s->wire;

	/* A message that is the only gathered message may be as long as wire_message allows. */
	if (wire->gathered != 0 && wire->gathered + len > wire->dev->cfg->wire_bytes)
		return false;
	s->whole = malloc(len);
	if (s->whole == NULL)
		return false;
	wire->gathered += len;
	return true;
}

/* ---- records */

#define EXITING 0x4u /* a flag of proc(5), PF_EXITING of the kernel */

/* True if the process is about to end, or has ended. */
static bool
is_exiting(pid_t pid)
{
	char text[512];
	unsigned int flags;
	const char *name_end;
	ssize_t len;
	int fd;

	snprintf(text, sizeof(text), "/proc/%d/stat", (int)pid);
	fd = raw_open(text, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return errno == ENOENT;
	len = read(fd, text, sizeof(text) - 1);
	raw_close(fd);
	if (len <= 0)
		return len < 0 && errno == ESRCH;
	text[len] = '\0';
	name_end = strrchr(text, ')');
	return name_end != NULL && sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       (flags & EXITING) != 0;
}

/*
 * No process holds the number of a sender. If the sender is a process that ends, its names are
 * free, but what it sent before is still to be read. Its connection hangs up a moment later.
 * Returns 0 if it has hung up, -EAGAIN if the process is about to end, or -EPERM. Anybody may close
 * a connection, so this is enough only for processes of this user.
 */
static int
has_ended(const struct served *s)
{
	struct pollfd end = {.fd = s->fd};
	struct ucred who = {.pid = 0};
	socklen_t len = sizeof(who);

	if (getsockopt(s->fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0 || who.uid != geteuid())
		return -EPERM;
	if (poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0)
		return 0;
	return is_exiting(s->pid) ? -EAGAIN : -EPERM;
}

/*
 * Returns 0 if the other process holds the block of the number, or held it until it ended; -EPERM
 * if it does not; or another -errno if this cannot be found out now.
 */
static int
holds(struct served *s, uint32_t number)
{
	const unsigned int n = sizeof(s->holds) / sizeof(s->holds[0]);
	const uint32_t block = number >> NAMES_BLOCK_LOG;
	struct ucred owner;
	int err;

	/* No process can hold block 0, and the unused entries of `holds` are 0. */
	if (block < NAMES_BLOCK_FIRST)
		return -EPERM;
	for (unsigned int i = 0; i < n; i++)
		if (s->holds[i] == block)
			return 0;
	err = names_owner(number, &owner);
	if (err == -ECONNREFUSED)
		return has_ended(s);
	if (err == 0 && owner.pid != s->pid)
		return -EPERM;
	if (err != 0)
		return err;
	memmove(&s->holds[1], &s->holds[0], (n - 1) * sizeof(s->holds[0]));
	s->holds[0] = block;
	return 0;
}

static bool
is_zero(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != 0)
			return false;
	return true;
}

static bool
request_is_right(const struct record_request *r, size_t len)
{
	return len >= sizeof(*r) && r->head.off == 0 && r->dest_qpn <= 0xffffff && r->sl <= 15 &&
	       r->flow <= 0xfffff && (r->flags & ~RECORD_FLAGS) == 0 && r->zero == 0 &&
	       is_zero(r->zeros, sizeof(r->zeros));
}

/* A further record continues the message that is under way, where its last record ended. */
static bool
more_is_right(const struct served *s, const struct record *head, size_t len)
{
	const struct record *first = &s->request.head;

	return (s->part == PART_PLACE || s->part == PART_GATHER || s->part == PART_DISCARD) &&
	       record_name(head) == record_name(first) && head->total == first->total &&
	       head->off == s->moved && len > sizeof(*head) &&
	       len - sizeof(*head) <= head->total - head->off;
}

/* Returns NULL if the record is correct, otherwise the rule that it breaks. */
static const char *
wrong(struct served *s, size_t len)
{
	const struct record *head = (const void *)s->in;

	if (len < sizeof(*head) || len > RECORD_MAX || (head->magic ^ RECORD_MAGIC) >> 8 != 0)
		return "it sent something that is no record";
	if (head->magic != RECORD_MAGIC)
		return "it has another version of softhca";
	if (head->qpn > 0xffffff || head->id == 0 || head->total > RECORD_MAX_MESSAGE ||
		!is_zero(head->zero, sizeof(head->zero)))
		return "it sent a malformed record";
	if (head->kind == RECORD_REQUEST)
		return request_is_right((const void *)s->in, len) ? NULL
								  : "it sent a malformed request";
	if (head->kind == RECORD_MORE)
		return more_is_right(s, head, len) ? NULL : "it sent data that no message awaits";
	return "it sent a record of an unknown kind";
}

/* Checks who sent the record. Returns false if this cannot be found out now. */
static bool
check_sender(struct served *s)
{
	const struct record *head = (const void *)s->in;
	const int err = head->kind == RECORD_REQUEST ? holds(s, head->qpn) : 0;

	if (err == -EPERM)
		served_refuse(s, "it sent a message from a QP number that it does not hold");
	else if (err != 0)
		atomic_store_explicit(&s->wire->unfinished, true, memory_order_relaxed);
	s->is_checked = err == 0;
	return err == 0;
}

bool
served_receive(struct served *s)
{
	const char *why;
	ssize_t len;

	if (s->in_len != 0)
		return s->is_checked || check_sender(s);
	if (!s->ready || s->is_closed)
		return false;
	len = raw_recv_record(s->fd, s->in, RECORD_MAX);
	if (len < 0 && errno == EAGAIN) {
		s->ready = false;
		return false;
	}
	if (len <= 0) {
		s->is_closed = true;
		return false;
	}
	why = wrong(s, (size_t)len);
	if (why != NULL) {
		served_refuse(s, why);
		return false;
	}
	s->in_len = (uint32_t)len;
	return check_sender(s);
}

bool
served_flush(struct served *s)
{
	ssize_t sent;

	if (s->out_len == 0)
		return true;
	do
		sent = raw_send(s->fd, s->out, s->out_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM))
		return false;
	/*
	 * If the other process has ended, nobody waits for its answers. The messages that it sent
	 * before are still executed: served_receive() finds the end of the connection after them.
	 */
	if (sent < 0 && s->part == PART_READ)
		served_end_part(s);
	s->out_len = 0;
	return true;
}
