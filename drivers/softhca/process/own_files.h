/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows the adapter's descriptors to the program as the kernel shows a card's. Here they are memory
 * files, known by their inode, and sockets.
 *
 *   a device         a character device, /dev/infiniband/uverbs<N>
 *   events           an anonymous inode, anon_inode:[infinibandevent] and such, read only
 */
#ifndef SOFTHCA_OWN_FILES_H
#define SOFTHCA_OWN_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "tree_open.h"

struct softhca_dev;

/* The path of a device's character device. */
void own_device_path(const struct softhca_dev *dev, char path[PATH_MAX]);
void own_device_show(const struct softhca_dev *dev, struct stat *st);
void own_device_show_x(const struct softhca_dev *dev, struct statx *stx);

/* If st is of a file of the adapter, replaces it with what the kernel would show. */
void own_file_show(struct stat *st);
/* The same for statx(2). */
void own_file_show_x(struct statx *stx);
/*
 * If a symbolic link of /proc leads to such a file, changes its text in place and returns true.
 * path: relative to dir.
 */
bool own_link_show(int dir, const char *path, char text[PATH_MAX]);

/*
 * If the path is a file of /proc/<pid>/fdinfo about such a file, returns a descriptor of its text
 * as in proc_pid_fdinfo(5). `real` opens that text for reading until the caller closes the
 * descriptor. -1: any other file. path: relative to dir.
 */
int own_info_text(int dir, const char *path, char real[TREE_TEXT_PATH]);

#endif
