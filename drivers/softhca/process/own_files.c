/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program sees of the descriptors that the adapter gives it. */
#include "own_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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

/* The kernel has one inode for all anonymous files: an eventfd has it too. -1: no descriptor is free. */
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
	else
		return false;
	return true;
}
