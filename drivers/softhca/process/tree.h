/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tree: the directory with this process's /sys and /dev/infiniband (tree_files.c fills it).
 *
 *   <$TMPDIR, /dev/shm or /tmp>/softhca-XXXXXX/      .softhca-XXXXXX until it is complete
 *     lock        held by flock(2), shared, by each process that uses the tree
 *     settings    the settings of the process that made the tree
 *     resources   the objects of that process: resource.h
 *     counters    the counters of that process's ports: counters.h
 *     sys/        what the program sees as /sys
 *     dev/        what the program sees as /dev, without the machine's own entries
 *
 * A process makes its tree when it first looks at one of these paths, or opens a device.
 * SOFTHCA_TREE tells the tree's name to its children. A child with equal settings uses its parent's
 * tree until it opens a device; then it makes its own. The last process that uses a tree removes
 * it. If that process was killed, the next process that makes a tree removes the old one.
 */
#ifndef SOFTHCA_TREE_H
#define SOFTHCA_TREE_H

#include <stdbool.h>

#include "config.h"

/* SOFTHCA_TREE: the tree, ':', the machine's own sysfs. It is no setting. */
#define TREE_VARIABLE "SOFTHCA_TREE"

/*
 * The machine's own sysfs, from the environment: the variable SYSFS_PATH, or /sys. If SYSFS_PATH is
 * set, tree_init() sets it to "/sys", and its old value is in SOFTHCA_TREE for the program's
 * children.
 */
const char *tree_find_root(void);
/*
 * Call once, when the library is loaded: chooses the tree's name and puts it into the environment.
 * Makes no file. `cfg` must not change later. first_uverbs: N of the first
 * /dev/infiniband/uverbs<N>.
 */
void tree_init(const struct softhca_config *cfg, const char *root, unsigned int first_uverbs);
/* The root that tree_init() got. */
const char *tree_machine_root(void);
/*
 * The tree of this process. The first call makes it. NULL: making it has failed, and the reason is
 * logged. Any thread.
 */
const char *tree_path(void);
/* As tree_path(), but makes no tree. NULL: there is none. Any thread. */
const char *tree_if_there(void);
/*
 * Makes the missing files for a program that looks at this name: the files of GID tables or, in a
 * directory in which programs look for devices, links to the machine's entries.
 */
void tree_need(const char *name);
#define TREE_ALL_GIDS                                                                              \
	"/gids" /* a name that stands for all GID tables: libc walks through directories itself */
/*
 * Call when a device of this process is open: from now on the process uses its own tree. Any
 * thread.
 */
void tree_make_own(void);
/* True if this process made the tree, which then shows its objects and counters. */
bool tree_is_own(void);
/*
 * The part of the path after the name of a tree of this process, or NULL: "/sys/class" for
 * "<tree>/sys/class".
 */
const char *tree_inside(const char *path);
/* Removes this process's trees, unless other processes use them. */
void tree_remove(void);

/* Call around fork(2). The child uses its parent's tree. */
void tree_fork_prepare(void);
void tree_fork_parent(void);
void tree_fork_child(void);

#endif
