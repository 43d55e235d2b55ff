/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches a file for writes, and watches its directory for a new file with this name. If the path
 * is a symbolic link, the target of the link is watched.
 */
#include "fault_notify.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "raw.h"

#define OF_FILE (IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF)
#define OF_DIR                                                                                     \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |     \
		IN_ONLYDIR)

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif
#ifndef ZFS_SUPER_MAGIC
#define ZFS_SUPER_MAGIC 0x2fc12fc1
#endif

static int dir_watch, file_watch;

/*
 * True if inotify reports all changes in this directory. Network file systems, for example, have
 * changes that it does not report (inotify(7)).
 */
static bool
tells_all(const char *dir)
{
	static const unsigned long types[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC, ZFS_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
	struct statfs fs;

	if (raw_statfs(dir, &fs) != 0)
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((unsigned long)fs.f_type == types[i])
			return true;
	return false;
}

/* Watches the file to which the path refers now, and no longer the file that was watched before. */
static void
watch_file(int fd, const char *path)
{
	int old = file_watch;

	file_watch = inotify_add_watch(fd, path, OF_FILE);
	if (old >= 0 && old != file_watch)
		(void)inotify_rm_watch(fd, old);
}

int
notify_open(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir;
	int fd;

	if (path[0] != '/')
		return -1;
	dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (dir == NULL)
		return -1;
	fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	file_watch = -1;
	dir_watch = fd >= 0 && tells_all(dir) ? inotify_add_watch(fd, dir, OF_DIR) : -1;
	free(dir);
	if (fd >= 0 && dir_watch < 0) {
		close(fd);
		return -1;
	}
	if (fd >= 0)
		watch_file(fd, path);
	return fd;
}

static enum notify
judge(const struct inotify_event *event, const char *name)
{
	if ((event->mask & IN_Q_OVERFLOW) != 0)
		return NOTIFY_CHANGED;
	if (event->wd == dir_watch) {
		if ((event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)) != 0)
			return NOTIFY_LOST;
		return event->len != 0 && strcmp(event->name, name) == 0 ? NOTIFY_CHANGED
									 : NOTIFY_NOTHING;
	}
	return event->wd == file_watch ? NOTIFY_CHANGED : NOTIFY_NOTHING;
}

enum notify
notify_read(int fd, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	enum notify found = NOTIFY_NOTHING;
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR)) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (const void *)(buf + at);
			enum notify one = judge(event, name);

			found = one > found ? one : found;
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	if (n == 0 || errno != EAGAIN)
		return NOTIFY_LOST;
	if (found == NOTIFY_CHANGED)
		watch_file(fd, path);
	return found;
}
