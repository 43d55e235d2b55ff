/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening a file of a tree, as the kernel would: what may be opened, and what is in it. */
#ifndef SOFTHCA_TREE_OPEN_H
#define SOFTHCA_TREE_OPEN_H

#include "path.h"

/*
 * What open(2) with these flags does to a path of PATH_MACHINE or PATH_TREE: 0, the file at
 * place->real is opened, which this call may have replaced; or -errno. *fd: a descriptor that
 * place->real goes through, which the caller closes when it has opened the file; -1: none.
 */
int tree_open(struct path_place *place, int flags, int *fd);

#define TREE_TEXT_PATH 32

/*
 * A descriptor of a file with that text, which opens by this path until the caller closes it. -1:
 * it cannot be made.
 */
int tree_text(const char *text, char path[TREE_TEXT_PATH]);

#endif
