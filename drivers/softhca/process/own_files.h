/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the program sees of the descriptors that the adapter gives it: what the kernel shows of
 * those of a card. Here they are memory files, known by their inode, and sockets.
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

/* The path at which that device is. */
void own_device_path(const struct softhca_dev *dev, char path[PATH_MAX]);
void own_device_show(const struct softhca_dev *dev, struct stat *st);
void own_device_show_x(const struct softhca_dev *dev, struct statx *stx);

/* If the file is one of the adapter's, the kernel's view of it replaces st. */
void own_file_show(struct stat *st);
/* The same of statx(2). */
void own_file_show_x(struct statx *stx);
/*
 * The text of a symbolic link of /proc that leads to such a file, changed in place. path: below
 * dir. True: it did.
 */
bool own_link_show(int dir, const char *path, char text[PATH_MAX]);

/*
 * A file of /proc/<pid>/fdinfo that is about such a file, as proc_pid_fdinfo(5) has it: a
 * descriptor of its text, which opens for reading by `real` until the caller closes it. -1: any
 * other file. path: below dir.
 */
int own_info_text(int dir, const char *path, char real[TREE_TEXT_PATH]);

#endif
