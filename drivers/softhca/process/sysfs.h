/* SPDX-License-Identifier: BSD-3-Clause */
/* The sysfs tree that libibverbs' discovery reads. */
#ifndef SOFTHCA_SYSFS_H
#define SOFTHCA_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

#define SYSFS_MAJOR      231 /* of the kernel's uverbs devices; minors count from 192 */
#define SYSFS_MINOR_BASE 192

/* The machine's own sysfs: SYSFS_PATH, unless that is a tree of this library; else /sys. */
const char *sysfs_real_root(void);
/* Finds an mlx5 device below root and copies its name. False: there is none. */
bool sysfs_find_mlx5(const char *root, char *name, size_t len);
/*
 * Builds the tree in a new temporary directory and points SYSFS_PATH to it. Other vendors'
 * devices below root stay visible in it. *first_uverbs: N of the first adapter's
 * /dev/infiniband/uverbs<N>. -errno: it has logged what failed.
 */
int sysfs_create(const struct softhca_config *cfg, const char *root, unsigned int *first_uverbs);
/* Whether the tree has devices of the machine: of other vendors. */
bool sysfs_has_others(void);
/* Removes the tree, unless a parent or a child by fork() still uses it. */
void sysfs_remove(void);

#endif
