/* SPDX-License-Identifier: BSD-3-Clause */
/* Learning of changes of a file without looking at it, by inotify(7). */
#ifndef SOFTHCA_FAULT_NOTIFY_H
#define SOFTHCA_FAULT_NOTIFY_H

enum notify {
	NOTIFY_NOTHING, /* the events were of other files */
	NOTIFY_CHANGED, /* the file may have been written, made, replaced or removed */
	NOTIFY_LOST     /* changes cannot be noticed any more */
};

/*
 * Watches the file at an absolute path, which need not exist; its directory must. Returns a
 * descriptor that becomes readable, or -1: inotify refuses, or the file system may change without
 * it. One file.
 */
int notify_open(const char *path);
/* Takes all events that are there. After NOTIFY_LOST the caller closes the descriptor. */
enum notify notify_read(int fd, const char *path);

#endif
