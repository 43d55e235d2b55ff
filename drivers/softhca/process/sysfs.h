/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the RDMA devices in the machine's own sysfs. */
#ifndef SOFTHCA_SYSFS_H
#define SOFTHCA_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the first line of a file, without the newline. Returns false with errno set on failure. */
bool sysfs_read_line(const char *path, char *buf, size_t len);
/* True if the RDMA device below root is an mlx5 device. */
bool sysfs_is_mlx5(const char *root, const char *ibdev);

typedef int sysfs_visitor(const char *root, const char *uverbs, const char *ibdev, void *arg);
/*
 * Calls visit for each uverbs device below root, until a call returns a value that is not 0.
 * Returns that value, or 0.
 */
int sysfs_for_each_uverbs(const char *root, sysfs_visitor *visit, void *arg);

/* Finds an mlx5 device below root and copies its name. Returns false if there is none. */
bool sysfs_find_mlx5(const char *root, char *name, size_t len);
/* Returns the lowest N that is greater than the number of each uverbs<N> below root. */
unsigned int sysfs_next_uverbs(const char *root);
/* True if sysfs_next_uverbs() has found RDMA devices of other vendors. */
bool sysfs_has_others(void);

#endif
