/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Translates the program's paths to the places of their files.
 *
 *   the program's path         /sys/class/infiniband/mlx5_0/../mlx5_0/fw_ver, or fw_ver relative to
 *        |                     its working directory, or to a directory's descriptor
 *   the absolute name          /sys/class/infiniband/mlx5_0/fw_ver
 *        |
 *   the file                   <tree>/sys/class/infiniband/mlx5_0/fw_ver, if the tree has it;
 *                              else the machine's own file
 */
#ifndef SOFTHCA_PATH_H
#define SOFTHCA_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "dev.h"

enum path_kind {
	/* outside of /sys and /dev/infiniband: libc and the kernel use the path unchanged */
	PATH_OTHER,
	PATH_MACHINE, /* the machine's own file */
	PATH_TREE,    /* a file of the tree */
	PATH_DEVICE   /* /dev/infiniband/uverbs<N> of an emulated adapter */
};

struct path_place {
	enum path_kind kind;
	struct softhca_dev *dev; /* PATH_DEVICE */
	char name[PATH_MAX];     /* the absolute name, as the program sees it; not for PATH_OTHER */
	char real[PATH_MAX];     /* the place of the file; not for PATH_OTHER */
};

/*
 * Finds the file of a path. dir: the directory to which the path is relative (AT_FDCWD: the working
 * directory). A symbolic link at the end of the path is not followed. errno is kept. Any thread.
 */
enum path_kind path_find(int dir, const char *path, struct path_place *place);
/*
 * True if the kernel finds the same file by the program's path, relative to the working directory:
 * for example "." in a directory of the tree. Names below it then need no change.
 */
bool path_is_real(const char *path, const struct path_place *place);
/* As realpath(3), for PATH_MACHINE, PATH_TREE and PATH_DEVICE. -errno. */
int path_resolve(const struct path_place *place, char out[PATH_MAX]);
/*
 * Changes a name that the kernel reported, in place: if it is inside a tree, to the program's name.
 */
void path_show(char *name);

#endif
