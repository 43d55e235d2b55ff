/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tree: the directory with this process's /sys and /dev/infiniband (tree_files.c fills it).
 *
 *   <$TMPDIR, /dev/shm or /tmp>/softhca-XXXXXX/      .softhca-XXXXXX until it is complete
 *     lock        held by flock(2), shared, by each process that uses the tree
 *     settings    the settings of the process that made the tree
 *     resources   the objects of that process: resource.h
 *     counters    the counters of that process's ports: counters.h
 *     sys/        the files that the program sees in /sys
 *     dev/        the files that the program sees in /dev, without the machine's own entries
 *
 * A process makes its tree when it first uses a path in /sys or /dev/infiniband, or opens a device.
 * The variable SOFTHCA_TREE gives the tree's name to its children. A child with equal settings uses
 * its parent's tree until it opens a device; then it makes its own tree. The last process that uses
 * a tree removes the tree. If that process was killed, the next process that makes a tree removes
 * the old tree.
 */
#ifndef SOFTHCA_TREE_H
#define SOFTHCA_TREE_H

#include <stdbool.h>

#include "config.h"

/*
 * SOFTHCA_TREE has the path of the tree, ':', and the path of the machine's own sysfs. It is no
 * setting.
 */
#define TREE_VARIABLE "SOFTHCA_TREE"

/*
 * Finds the machine's own sysfs by the environment: the variable SYSFS_PATH, or /sys. If SYSFS_PATH
 * is set, tree_init() sets it to "/sys", and its old value is in SOFTHCA_TREE for the program's
 * children.
 */
const char *tree_find_root(void);
/*
 * Chooses the tree's name and puts it into the environment. Call this once, when the library is
 * loaded. It makes no file. `cfg` must not change later. first_uverbs: N of the first
 * /dev/infiniband/uverbs<N>.
 */
void tree_init(const struct softhca_config *cfg, const char *root, unsigned int first_uverbs);
/* Returns the argument `root` of tree_init(). */
const char *tree_machine_root(void);
/*
 * Returns the tree of this process, which the first call makes. Returns NULL if the tree could not
 * be made, which is logged. Any thread may call it.
 */
const char *tree_path(void);
/* As tree_path(), but makes no tree. Returns NULL if there is no tree. Any thread may call it. */
const char *tree_if_there(void);
/*
 * Makes the missing files for a program that uses this name: the files of GID tables, or, in a
 * directory in which programs look for devices, links to the machine's entries.
 */
void tree_need(const char *name);
/* The name for all GID tables: libc's own walks through directories need all files at once. */
#define TREE_ALL_GIDS "/gids"
/*
 * Call this when a device of this process is open: from now on the process uses its own tree. Any
 * thread may call it.
 */
void tree_make_own(void);
/*
 * True if this process made the tree. Then the tree shows the objects and counters of this process.
 */
bool tree_is_own(void);
/*
 * Returns the part of the path after the name of a tree of this process: "/sys/class" for
 * "<tree>/sys/class". Returns NULL if the path is not in such a tree.
 */
const char *tree_inside(const char *path);
/* Removes this process's trees, unless other processes use them. */
void tree_remove(void);

/* Call these around fork(2). The child uses its parent's tree. */
void tree_fork_prepare(void);
void tree_fork_parent(void);
void tree_fork_child(void);

#endif
