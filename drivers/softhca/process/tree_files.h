/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of a tree: what the kernel shows of the emulated adapters in /sys and /dev/infiniband.
 */
#ifndef SOFTHCA_TREE_FILES_H
#define SOFTHCA_TREE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "dev.h"

#define TREE_MAJOR      231 /* of the kernel's uverbs devices; minors count from 192 */
#define TREE_MINOR_BASE 192

/*
 * Fills the empty directory `tree`: <tree>/sys/..., <tree>/dev/infiniband/... hold what is the
 * adapters' own, and links to what the machine has beside it. `root` is the machine's own sysfs.
 * The machine's mlx5 devices are left out. first_uverbs: N of the first adapter's
 * /dev/infiniband/uverbs<N>. -errno.
 */
int tree_files_make(const char *tree, const char *root, unsigned int first_uverbs);
/*
 * Links into a directory of the tree what the machine has in the directory of that name, for a
 * program that lists it. `dir`: /sys/class, say. -errno.
 */
int tree_files_merge(const char *tree, const char *root, const char *dir);
/* Makes the many files of the ports' GID tables: a program may never look for them. -errno. */
int tree_files_make_gids(const char *tree);
#endif
