/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tree: the directory that holds this process's /sys and /dev/infiniband (tree_files.c fills it).
 *
 *   <$TMPDIR, /dev/shm or /tmp>/softhca-XXXXXX/      .softhca-XXXXXX until it is complete
 *     lock        held by flock(2), shared, by each process that uses the tree
 *     settings    those of the process that made it
 *     resources   what the process holds that made the tree: resource.h
 *     counters    what the ports of that process count: counters.h
 *     sys/        what the program sees as /sys
 *     dev/        what the program sees as /dev, but for what the machine has
 *
 * A process makes its tree when it first looks at one of these paths, or opens a device.
 * SOFTHCA_TREE tells its children the tree's name: a child with equal settings uses its parent's
 * tree, until it opens a device; then it makes its own. The last process that uses a tree removes
 * it. If that one was killed, the next one that makes a tree does.
 */
#ifndef SOFTHCA_TREE_H
#define SOFTHCA_TREE_H

#include <stdbool.h>

#include "config.h"

/* SOFTHCA_TREE: the tree, ':', the machine's own sysfs. Not a setting. */
#define TREE_VARIABLE "SOFTHCA_TREE"

/*
 * The machine's own sysfs, by the environment: /sys, or what the variable SYSFS_PATH says.
 * tree_init() sets SYSFS_PATH to "/sys", if it is set: what was there before is in SOFTHCA_TREE,
 * for the program's children.
 */
const char *tree_find_root(void);
/*
 * Once, when the library is loaded: chooses the tree's name and puts it into the environment. Makes
 * no file. `cfg` must stay as it is. first_uverbs: N of the first /dev/infiniband/uverbs<N>.
 */
void tree_init(const struct softhca_config *cfg, const char *root, unsigned int first_uverbs);
/* What tree_init() was told. */
const char *tree_machine_root(void);
/*
 * The tree in which this process's paths are; the first call makes it. NULL: it has logged why. Any
 * thread.
 */
const char *tree_path(void);
/* As tree_path(), but it makes none. NULL: there is none. Any thread. */
const char *tree_if_there(void);
/*
 * Makes what is missing for a program that looks at this name: the files of the GID tables, or in a
 * directory in which programs look for devices, what the machine has there.
 */
void tree_need(const char *name);
#define TREE_ALL_GIDS                                                                              \
	"/gids" /* a name that stands for all GID tables: libc walks through directories itself */
/* A device of this process is open: from now on its tree is its own. Any thread. */
void tree_make_own(void);
/* True: the tree is this process's own, and shows its numbers. */
bool tree_is_own(void);
/*
 * The path's part behind the name of a tree of this process, or NULL. "/sys/class" of
 * "<tree>/sys/class".
 */
const char *tree_inside(const char *path);
/* Removes this process's trees, unless others use them. */
void tree_remove(void);

/* Around fork(2). The child uses its parent's tree. */
void tree_fork_prepare(void);
void tree_fork_parent(void);
void tree_fork_child(void);

#endif
