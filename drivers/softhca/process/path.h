/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Translates the program's paths to the paths of the files.
 *
 *   the program's path         /sys/class/infiniband/mlx5_0/../mlx5_0/fw_ver, or fw_ver relative to
 *        |                     its working directory, or to a directory's descriptor
 *   the absolute name          /sys/class/infiniband/mlx5_0/fw_ver
 *        |
 *   the file                   <tree>/sys/class/infiniband/mlx5_0/fw_ver, if the tree has it;
 *                              otherwise the machine's own file
 */
#ifndef SOFTHCA_PATH_H
#define SOFTHCA_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "dev.h"

enum path_kind {
	/* Outside of /sys and /dev/infiniband: libc and the kernel use the path unchanged. */
	PATH_OTHER,
	PATH_MACHINE, /* the machine's own file */
	PATH_TREE,    /* a file of the tree */
	PATH_DEVICE,  /* /dev/infiniband/uverbs<N> of an emulated adapter */
	PATH_CM       /* /dev/infiniband/rdma_cm, unless it is the machine's own */
};

struct path_place {
	enum path_kind kind;
	struct softhca_dev *dev; /* only for PATH_DEVICE */
	char name[PATH_MAX];     /* absolute name, as the program sees it; not for PATH_OTHER */
	char real[PATH_MAX];     /* path of the file; not for PATH_OTHER */
};

/*
 * Finds the file of a path. dir: the directory to which the path is relative (AT_FDCWD: the working
 * directory). A symbolic link at the end of the path is not followed. Any thread may call it; errno
 * does not change.
 */
enum path_kind path_find(int dir, const char *path, struct path_place *place);
/*
 * True if the kernel finds the same file by the program's path, relative to the working directory.
 * An example is "." in a directory of the tree. Names below such a path need no change.
 */
bool path_is_real(const char *path, const struct path_place *place);
/* As realpath(3), for all kinds but PATH_OTHER. Returns 0 or -errno. */
int path_resolve(const struct path_place *place, char out[PATH_MAX]);
/*
 * Changes a name that the kernel reported, in place: a name inside a tree becomes the name that the
 * program sees.
 */
void path_show(char *name);

#endif
