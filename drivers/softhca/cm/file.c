/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files of /dev/infiniband/rdma_cm, and their events. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "loop.h"
#include "raw.h"

static struct cm_file *files;
static file_closed_fn *on_closed;
/*
 * Counts files by their inodes, so that a file of another kind is recognised without the lock: a
 * signal handler may call write(2) while its thread holds the lock.
 */
#define N_COUNTS 4096
static _Atomic uint32_t counts[N_COUNTS];
/* In a child of fork(2): the inode that stands for all files of the parent. */
static dev_t dead_dev;
static ino_t dead_ino;

/* ---------------------------------------------------------------- open and close */

static _Atomic uint32_t *
count_of(ino_t ino)
{
	return &counts[ino % N_COUNTS];
}

bool
file_may_be(int fd)
{
	struct stat st;

	return raw_fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       atomic_load_explicit(count_of(st.st_ino), memory_order_relaxed) != 0;
}

static void
end(struct cm_file *file)
{
	struct cm_file **link = &files;

	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
	atomic_fetch_sub(count_of(file->ino), 1);
	on_closed(file);
	loop_remove(file->slot);
	raw_close(file->fd);
	for (struct cm_event *next, *e = file->first; e != NULL; e = next) {
		next = e->next;
		free(e);
	}
	free(file);
}

/* The function of loop.h for a device's end. Data that the program sent by send(2) stay unread. */
static void
hung_up(void *arg, uint32_t events)
{
	if ((events & (EPOLLHUP | EPOLLERR)) != 0)
		end(arg);
}

static struct cm_file *
make(int own, int program)
{
	struct cm_file *file = calloc(1, sizeof(*file));
	struct stat st;

	if (file == NULL || raw_fstat(program, &st) != 0 ||
		loop_add(own, 0, hung_up, file, &file->slot) != 0) {
		free(file);
		return NULL;
	}
	file->fd = own;
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->next = files;
	files = file;
	atomic_fetch_add(count_of(file->ino), 1);
	return file;
}

int
file_open(int flags, file_closed_fn *closed)
{
	int pair[2], rc = 0;

	on_closed = closed;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	if ((flags & O_CLOEXEC) == 0 && fcntl(pair[1], F_SETFD, 0) != 0)
		rc = -errno;
	if (rc == 0 && (flags & O_NONBLOCK) != 0 &&
		fcntl(pair[1], F_SETFL, O_RDWR | O_NONBLOCK) != 0)
		rc = -errno;
	if (rc == 0 && make(pair[0], pair[1]) == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		return pair[1];
	raw_close(pair[0]);
	raw_close(pair[1]);
	return rc;
}

static struct cm_file *
find(dev_t dev, ino_t ino)
{
	struct cm_file *file = files;

	while (file != NULL && (file->ino != ino || file->dev != dev))
		file = file->next;
	return file;
}

static bool
is_dead(dev_t dev, ino_t ino)
{
	return dead_ino != 0 && ino == dead_ino && dev == dead_dev;
}

struct cm_file *
file_of(int fd, bool *dead)
{
	struct stat st;

	*dead = false;
	if (raw_fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode))
		return NULL;
	*dead = is_dead(st.st_dev, st.st_ino);
	return find(st.st_dev, st.st_ino);
}

bool
file_is(dev_t dev, ino_t ino)
{
	bool is;

	if (atomic_load_explicit(count_of(ino), memory_order_relaxed) == 0)
		return false;
	loop_lock();
	is = find(dev, ino) != NULL || is_dead(dev, ino);
	loop_unlock();
	return is;
}

void
file_reap(void)
{
	for (struct cm_file *next, *file = files; file != NULL; file = next) {
		char byte;

		next = file->next;
		if (raw_recv(file->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0)
			end(file);
	}
}

/* ---------------------------------------------------------------- events */

/* Makes the program's descriptor readable or not. */
static void
show(const struct cm_file *file, int fd, bool readable)
{
	char byte = 0;

	if (readable)
		(void)raw_send(file->fd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	else if (fd >= 0)
		(void)raw_recv(fd, &byte, 1, MSG_DONTWAIT);
}

void
file_post(struct cm_file *file, struct cm_event *event)
{
	event->next = NULL;
	if (file->first == NULL)
		file->first = event;
	else
		file->last->next = event;
	file->last = event;
	if (file->first == event)
		show(file, -1, true);
}

struct cm_event *
file_take(struct cm_file *file, int fd, const struct cm_id *of)
{
	struct cm_event *taken = NULL, **last = &taken, *was = file->first;
	struct cm_event *e = file->first;

	file->first = file->last = NULL;
	for (struct cm_event *next; e != NULL; e = next) {
		next = e->next;
		e->next = NULL;
		if (e->id == of) {
			*last = e;
			last = &e->next;
			continue;
		}
		if (file->first == NULL)
			file->first = e;
		else
			file->last->next = e;
		file->last = e;
	}
	if (was != NULL && file->first == NULL)
		show(file, fd, false);
	return taken;
}

void
file_forget(struct cm_file *file, const struct cm_id *conn)
{
	for (struct cm_event *e = file->first; e != NULL; e = e->next)
		if (e->conn == conn)
			e->conn = NULL;
}

struct cm_event *
file_take_first(struct cm_file *file, int fd)
{
	struct cm_event *e = file->first;

	file->first = e->next;
	show(file, fd, false);
	/*
	 * A byte wakes one of the threads that wait in recv(2). A further event needs a byte of its
	 * own, because the thread that was woken may take only one event.
	 */
	if (file->first == NULL)
		file->last = NULL;
	else
		show(file, -1, true);
	return e;
}

/* ---------------------------------------------------------------- fork(2) */

/* Makes a socket end whose other end is closed. Returns -1 if no descriptor is free. */
static int
dead_end(void)
{
	struct stat st;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return -1;
	raw_close(pair[0]);
	if (raw_fstat(pair[1], &st) == 0) {
		dead_dev = st.st_dev;
		dead_ino = st.st_ino;
		atomic_fetch_add(count_of(dead_ino), 1);
	}
	return pair[1];
}

/*
 * Replaces the program's ends. The descriptor of the dead end itself stays open, so that no other
 * socket gets its inode.
 */
static void
replace(DIR *fds)
{
	static int end_fd = -1;
	int fd;

	while ((fd = raw_next_fd(fds)) >= 0) {
		struct stat st;
		int flags;

		if (raw_fstat(fd, &st) != 0 || find(st.st_dev, st.st_ino) == NULL)
			continue;
		if (end_fd < 0)
			end_fd = dead_end();
		flags = fcntl(fd, F_GETFD);
		if (end_fd >= 0)
			(void)dup3(end_fd, fd,
				flags > 0 && (flags & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0);
	}
}

void
file_fork_child(void)
{
	DIR *fds;

	if (files == NULL)
		return;
	/* First, because replace() needs descriptors, and the parent may have had none left. */
	for (struct cm_file *file = files; file != NULL; file = file->next)
		raw_close(file->fd);
	fds = raw_open_fds();
	if (fds != NULL) {
		replace(fds);
		closedir(fds);
	} else {
		softhca_log("rdma_cm: the event channels that this child of fork(2) has inherited "
			    "stay open: %s",
			strerror(errno));
	}
	files = NULL;
}
