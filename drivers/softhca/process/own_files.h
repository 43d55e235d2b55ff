/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows the descriptors of the adapter's files to the program as the kernel shows those of a card's
 * files. Here these files are memory files, which are recognised by their inode, and sockets.
 *
 *   a device         a character device, /dev/infiniband/uverbs<N>
 *   events           an anonymous inode, for example anon_inode:[infinibandevent], read-only
 */
#ifndef SOFTHCA_OWN_FILES_H
#define SOFTHCA_OWN_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "tree_open.h"

struct softhca_dev;

/*
 * own_device_path() writes the path of a device's character device. own_device_show() writes the
 * values that stat(2) would return for it.
 */
void own_device_path(const struct softhca_dev *dev, char path[PATH_MAX]);
void own_device_show(const struct softhca_dev *dev, struct stat *st);
void own_device_show_x(const struct softhca_dev *dev, struct statx *stx);

/* Write the values that stat(2) and statx(2) would return for /dev/infiniband/rdma_cm. */
void own_cm_show(struct stat *st);
void own_cm_show_x(struct statx *stx);

/*
 * If *st describes a file of the adapter, replaces its fields by those that the kernel would show.
 */
void own_file_show(struct stat *st);
/* As own_file_show(), for statx(2). */
void own_file_show_x(struct statx *stx);
/*
 * If a symbolic link of /proc leads to a file of the adapter, changes the link's text in place and
 * returns true. path: relative to dir.
 */
bool own_link_show(int dir, const char *path, char text[PATH_MAX]);

/*
 * If the path is the file of /proc/<pid>/fdinfo for a file of the adapter, returns a descriptor of
 * a text as in proc_pid_fdinfo(5). The path `real` opens this text for reading until the caller
 * closes the descriptor. Returns -1 for all other files. path: relative to dir.
 */
int own_info_text(int dir, const char *path, char real[TREE_TEXT_PATH]);

#endif
