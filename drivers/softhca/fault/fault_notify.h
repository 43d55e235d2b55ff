/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports changes of a file by inotify(7), without polling. */
#ifndef SOFTHCA_FAULT_NOTIFY_H
#define SOFTHCA_FAULT_NOTIFY_H

enum notify {
	NOTIFY_NOTHING, /* the events are about other files */
	NOTIFY_CHANGED, /* the file may have been written, created, replaced or removed */
	NOTIFY_LOST     /* changes are no longer reported */
};

/*
 * Watches a file. path: an absolute path, whose directory must exist; the file may be missing.
 * Returns a descriptor that becomes readable after a change, or -1 if inotify refuses or does not
 * report all changes on this file system.
 */
int notify_open(const char *path);
/* Reads all pending events. After NOTIFY_LOST the caller closes the descriptor. */
enum notify notify_read(int fd, const char *path);

#endif
