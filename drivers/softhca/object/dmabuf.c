/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of descriptors that export the adapter's memory.
 *
 * Such a descriptor is a sealed memfd of which only the size and the inode are used. It has no
 * data.
 */
#include "dmabuf.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fork_lock.h"
#include "raw.h"

#define KERNEL_DMABUF 0x444d4142 /* statfs(2)'s f_type: DMA_BUF_MAGIC of linux/magic.h */

struct dmabuf {
	struct dmabuf *next;
	const struct object *owner; /* object that has the memory; NULL if the object has ended */
	/* adapter's address of the memory; NULL if no region may use it */
	uint8_t *at;
	size_t len;
	dev_t st_dev;
	ino_t st_ino;
	struct dmabuf_user *users;
	bool seen; /* used by free_closed(): the program has a descriptor of this entry */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dmabuf *list;
/*
 * A descriptor was made. This is read without the lock, so that programs without such descriptors
 * need no lock.
 */
static atomic_bool any;

static struct dmabuf *
find_inode(const struct stat *st)
{
	struct dmabuf *buf = list;

	while (buf != NULL && (buf->st_dev != st->st_dev || buf->st_ino != st->st_ino))
		buf = buf->next;
	return buf;
}

/*
 * Frees entries that have neither a descriptor nor a user. The library does not see close(2), so
 * this function searches the process's descriptors.
 */
static void
free_closed(void)
{
	struct dmabuf **link = &list, *buf;
	DIR *fds = raw_open_fds();
	int fd;

	if (fds == NULL)
		return; /* no file descriptor is free: a later call tries again */
	for (buf = list; buf != NULL; buf = buf->next)
		buf->seen = buf->users != NULL;
	while ((fd = raw_next_fd(fds)) >= 0) {
		struct stat st;

		if (raw_fstat(fd, &st) != 0)
			continue;
		buf = find_inode(&st);
		if (buf != NULL)
			buf->seen = true;
	}
	closedir(fds);
	while ((buf = *link) != NULL) {
		if (buf->seen) {
			link = &buf->next;
			continue;
		}
		*link = buf->next;
		free(buf);
	}
}

/* Creates an empty memfd of this size. */
static int
make_descriptor(size_t len, struct stat *st)
{
	int fd = memfd_create("softhca_dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING), rc;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)len) == 0 &&
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) ==
			0 &&
		raw_fstat(fd, st) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int
dmabuf_export(const struct object *owner, void *at, size_t len, int *fd)
{
	struct dmabuf *buf = calloc(1, sizeof(*buf));
	struct stat st;
	int made;

	if (buf == NULL)
		return -ENOMEM;
	made = make_descriptor(len, &st);
	if (made < 0) {
		free(buf);
		return made;
	}
	*buf = (struct dmabuf){.owner = owner,
		.at = at,
		.len = len,
		.st_dev = st.st_dev,
		.st_ino = st.st_ino};
	dmabuf_lock();
	free_closed();
	buf->next = list;
	list = buf;
	dmabuf_unlock();
	atomic_store(&any, true);
	*fd = made;
	return 0;
}

void
dmabuf_revoke(const struct object *owner)
{
	dmabuf_lock();
	for (struct dmabuf *buf = list; buf != NULL; buf = buf->next) {
		if (buf->owner != owner)
			continue;
		buf->owner = NULL;
		for (struct dmabuf_user *user = buf->users; user != NULL; user = user->next)
			user->revoked(user);
	}
	dmabuf_unlock();
}

bool
dmabuf_is(int fd)
{
	struct stat st;
	bool is;

	if (!atomic_load(&any) || raw_fstat(fd, &st) != 0)
		return false;
	dmabuf_lock();
	is = find_inode(&st) != NULL;
	dmabuf_unlock();
	return is;
}

void
dmabuf_lock(void)
{
	fork_lock(&lock);
}

void
dmabuf_unlock(void)
{
	fork_unlock(&lock);
}

/* Returns the error for a descriptor that is a DMABUF of another driver, or no DMABUF. */
static int
find_foreign(int fd)
{
	char path[32];
	struct statfs fs;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return raw_statfs(path, &fs) == 0 && fs.f_type == KERNEL_DMABUF ? -EOPNOTSUPP : -EINVAL;
}

int
dmabuf_find(int fd, uint64_t offset, uint64_t len, struct dmabuf **buf, void **at)
{
	struct dmabuf *found;
	struct stat st;

	if (raw_fstat(fd, &st) != 0)
		return -EBADF;
	found = find_inode(&st);
	if (found == NULL)
		return find_foreign(fd);
	if (offset > found->len || len > found->len - offset)
		return -EINVAL;
	if (found->at == NULL)
		return -EOPNOTSUPP;
	if (found->owner == NULL)
		return -ENODEV;
	*buf = found;
	*at = found->at + offset;
	return 0;
}

void
dmabuf_attach(struct dmabuf *buf, struct dmabuf_user *user)
{
	user->buf = buf;
	user->next = buf->users;
	buf->users = user;
}

void
dmabuf_detach(struct dmabuf_user *user)
{
	struct dmabuf_user **link;

	if (user->buf == NULL)
		return;
	dmabuf_lock();
	for (link = &user->buf->users; *link != user; link = &(*link)->next)
		;
	*link = user->next;
	user->buf = NULL;
	dmabuf_unlock();
}

void
dmabuf_fork_prepare(void)
{
	dmabuf_lock();
}

void
dmabuf_fork_parent(void)
{
	dmabuf_unlock();
}

void
dmabuf_fork_child(void)
{
	for (struct dmabuf *buf = list; buf != NULL; buf = buf->next) {
		buf->owner = NULL;
		buf->users = NULL;
	}
	dmabuf_unlock();
}
