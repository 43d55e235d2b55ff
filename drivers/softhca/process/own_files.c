/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows the descriptors of the adapter's files to the program as the kernel shows those of a card's
 * files.
 */
#include "own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cm.h"
#include "contexts.h"
#include "event.h"
#include "init.h"
#include "raw.h"
#include "softhca.h"
#include "tree_files.h"

void
own_device_path(const struct softhca_dev *dev, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "/dev/infiniband/uverbs%u", softhca_uverbs_of(dev));
}

void
own_device_show(const struct softhca_dev *dev, struct stat *st)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(TREE_MAJOR, TREE_MINOR_BASE + softhca_uverbs_of(dev));
	st->st_size = 0;
	st->st_blocks = 0;
}

void
own_device_show_x(const struct softhca_dev *dev, struct statx *stx)
{
	stx->stx_mode = S_IFCHR | 0666;
	stx->stx_rdev_major = TREE_MAJOR;
	stx->stx_rdev_minor = TREE_MINOR_BASE + softhca_uverbs_of(dev);
	stx->stx_size = 0;
	stx->stx_blocks = 0;
}

void
own_cm_show(struct stat *st)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(CM_MAJOR, CM_MINOR);
	st->st_size = 0;
	st->st_blocks = 0;
}

void
own_cm_show_x(struct statx *stx)
{
	stx->stx_mode = S_IFCHR | 0666;
	stx->stx_rdev_major = CM_MAJOR;
	stx->stx_rdev_minor = CM_MINOR;
	stx->stx_size = 0;
	stx->stx_blocks = 0;
}

/*
 * Returns an eventfd, which has the kernel's inode for all anonymous files, or -1 if no file
 * descriptor is free.
 */
static int
anonymous(void)
{
	return eventfd(0, EFD_CLOEXEC);
}

static void
event_show(struct stat *st)
{
	int fd = anonymous();

	if (fd < 0)
		return;
	(void)raw_fstat(fd, st);
	close(fd);
}

static void
event_show_x(struct statx *stx)
{
	int fd = anonymous();

	if (fd < 0)
		return;
	(void)raw_statx(fd, "", AT_EMPTY_PATH, stx->stx_mask, stx);
	close(fd);
}

void
own_file_show(struct stat *st)
{
	const struct softhca_dev *dev;

	if (!softhca_active())
		return;
	if (S_ISREG(st->st_mode) && (dev = ctx_find_dev(st->st_dev, st->st_ino)) != NULL)
		own_device_show(dev, st);
	else if (S_ISSOCK(st->st_mode) && event_file_name(st->st_dev, st->st_ino) != NULL)
		event_show(st);
	else if (S_ISSOCK(st->st_mode) && cm_is_file(st->st_dev, st->st_ino))
		own_cm_show(st);
}

void
own_file_show_x(struct statx *stx)
{
	const dev_t on = makedev(stx->stx_dev_major, stx->stx_dev_minor);
	const struct softhca_dev *dev;

	if (!softhca_active())
		return;
	if (S_ISREG(stx->stx_mode) && (dev = ctx_find_dev(on, stx->stx_ino)) != NULL)
		own_device_show_x(dev, stx);
	else if (S_ISSOCK(stx->stx_mode) && event_file_name(on, stx->stx_ino) != NULL)
		event_show_x(stx);
	else if (S_ISSOCK(stx->stx_mode) && cm_is_file(on, stx->stx_ino))
		own_cm_show_x(stx);
}

static bool
begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool
own_link_show(int dir, const char *path, char text[PATH_MAX])
{
	const struct softhca_dev *dev;
	const char *name;
	struct stat st;

	if ((!begins(text, "/memfd:") && !begins(text, "socket:[")) ||
		raw_fstatat(dir, path, &st, 0) != 0)
		return false;
	if (S_ISREG(st.st_mode) && (dev = ctx_find_dev(st.st_dev, st.st_ino)) != NULL)
		own_device_path(dev, text);
	else if (S_ISSOCK(st.st_mode) && (name = event_file_name(st.st_dev, st.st_ino)) != NULL)
		snprintf(text, PATH_MAX, "anon_inode:%s", name);
	else if (S_ISSOCK(st.st_mode) && cm_is_file(st.st_dev, st.st_ino))
		strcpy(text, CM_PATH);
	else
		return false;
	return true;
}

/* ---------------------------------------------------------------- /proc/<pid>/fdinfo */

struct info {
	long long pos;
	unsigned int flags;
	int mnt_id;
};

/* Reads the lines that every file of fdinfo has. */
static bool
info_read(const char *path, struct info *info)
{
	FILE *f = raw_fopen(path);
	int n;

	if (f == NULL)
		return false;
	n = fscanf(f, "pos: %lli flags: %o mnt_id: %i", &info->pos, &info->flags, &info->mnt_id);
	fclose(f);
	return n == 3;
}

/* Reads the lines of info_read() for an open descriptor, and closes the descriptor. */
static bool
info_take(int fd, struct info *info)
{
	char path[40];
	bool done;

	if (fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	done = info_read(path, info);
	close(fd);
	return done;
}

/* Writes the absolute name of a file of fdinfo. Returns false if the path is no such file. */
static bool
info_name(int dir, const char *path, char name[PATH_MAX])
{
	const char *last = strrchr(path, '/');
	char link[40];
	ssize_t n;
	int fd;

	last = last != NULL ? last + 1 : path;
	if (*last == '\0' || last[strspn(last, "0123456789")] != '\0')
		return false;
	fd = raw_openat(dir, path, O_PATH | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = raw_readlink(link, name, PATH_MAX - 1);
	close(fd);
	name[n > 0 ? n : 0] = '\0';
	return begins(name, "/proc/") && strstr(name, "/fdinfo/") != NULL;
}

/*
 * Writes the text that the kernel would show in /proc/<pid>/fdinfo for a file of the adapter.
 * Returns false if the descriptor is no file of the adapter.
 */
static bool
info_show(const char *name, char *text, size_t len)
{
	const char *part = strstr(name, "/fdinfo/");
	struct info info, of_kernel;
	char fd_path[PATH_MAX];
	struct stat st;

	snprintf(fd_path, sizeof(fd_path), "%.*s/fd/%s", (int)(part - name), name,
		part + strlen("/fdinfo/"));
	if (raw_stat(fd_path, &st) != 0 || !info_read(name, &info))
		return false;
	if ((S_ISREG(st.st_mode) && ctx_find_dev(st.st_dev, st.st_ino) != NULL) ||
		(S_ISSOCK(st.st_mode) && cm_is_file(st.st_dev, st.st_ino))) {
		if (!info_take(raw_open("/dev", O_PATH | O_CLOEXEC, 0), &of_kernel))
			return false;
	} else if (S_ISSOCK(st.st_mode) && event_file_name(st.st_dev, st.st_ino) != NULL) {
		event_show(&st);
		info.flags &= ~(unsigned int)O_ACCMODE; /* O_RDONLY */
		if (!info_take(anonymous(), &of_kernel))
			return false;
	} else {
		return false;
	}
	snprintf(text, len, "pos:\t%lli\nflags:\t0%o\nmnt_id:\t%i\nino:\t%llu\n", info.pos,
		info.flags, of_kernel.mnt_id, (unsigned long long)st.st_ino);
	return true;
}

int
own_info_text(int dir, const char *path, char real[TREE_TEXT_PATH])
{
	char name[PATH_MAX], text[128];
	int saved = errno, fd = -1;

	if (softhca_active() && path != NULL && info_name(dir, path, name) &&
		info_show(name, text, sizeof(text)))
		fd = tree_text(text, real);
	errno = saved;
	return fd;
}
