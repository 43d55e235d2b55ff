/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths as the program writes them, and where their files are.
 *
 *   what the program says          /sys/class/infiniband/mlx5_0/../mlx5_0/fw_ver, or fw_ver below
 *        |                         its working directory, or below a directory's descriptor
 *   its absolute name              /sys/class/infiniband/mlx5_0/fw_ver
 *        |
 *   where the file is              <tree>/sys/class/infiniband/mlx5_0/fw_ver, if the tree has it;
 *                                  else the machine's own file
 */
#ifndef SOFTHCA_PATH_H
#define SOFTHCA_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "dev.h"

enum path_kind {
	/* not of /sys or /dev/infiniband: libc and the kernel do what the program says */
	PATH_OTHER,
	PATH_MACHINE, /* the machine's own file */
	PATH_TREE,    /* a file of the tree */
	PATH_DEVICE   /* /dev/infiniband/uverbs<N> of an emulated adapter */
};

struct path_place {
	enum path_kind kind;
	struct softhca_dev *dev; /* PATH_DEVICE */
	char name[PATH_MAX];     /* as the program sees it: absolute; not of PATH_OTHER */
	char real[PATH_MAX];     /* where it is; not of PATH_OTHER */
};

/*
 * Finds the file that a path names, relative to the directory `dir` (AT_FDCWD: the working
 * directory). A symbolic link at the path's end is not followed. Sets no errno. Any thread.
 */
enum path_kind path_find(int dir, const char *path, struct path_place *place);
/*
 * True: the kernel finds the same file by the path as the program wrote it, relative to the working
 * directory: "." in a directory of the tree, say. Names that a walk from there makes are the
 * program's own.
 */
bool path_is_real(const char *path, const struct path_place *place);
/*
 * realpath(3) for a path of PATH_MACHINE, PATH_TREE or PATH_DEVICE. -errno.
 */
int path_resolve(const struct path_place *place, char out[PATH_MAX]);
/* A name that the kernel told, as the program sees it: changed in place if it is inside a tree. */
void path_show(char *name);

#endif
