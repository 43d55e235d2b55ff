/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the files of a tree: the files that the kernel would show for the emulated adapters in /sys
 * and /dev/infiniband.
 */
#ifndef SOFTHCA_TREE_FILES_H
#define SOFTHCA_TREE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "dev.h"

/* major number of the kernel's uverbs devices, whose minor numbers start at 192 */
#define TREE_MAJOR      231
#define TREE_MINOR_BASE 192

/*
 * Fills the empty directory `tree`. <tree>/sys/... and <tree>/dev/infiniband/... get the adapters'
 * entries, and links to all entries of the machine except mlx5 devices. root: the machine's own
 * sysfs. first_uverbs: N of the first adapter's /dev/infiniband/uverbs<N>. Returns 0 or -errno.
 */
int tree_files_make(const char *tree, const char *root, unsigned int first_uverbs);
/*
 * Makes links to the entries of a directory of the machine, in the tree's directory of the same
 * name, for a program that lists this directory. dir: for example /sys/class. Returns 0 or -errno.
 */
int tree_files_merge(const char *tree, const char *root, const char *dir);
/*
 * Makes the many files of the GID tables. The files are made late, because most programs never
 * read these files. Returns 0 or -errno.
 */
int tree_files_make_gids(const char *tree);
#endif
