/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a file of a tree as the kernel would. */
#ifndef SOFTHCA_TREE_OPEN_H
#define SOFTHCA_TREE_OPEN_H

#include "path.h"

/*
 * Does what open(2) with these flags does to a path of kind PATH_MACHINE or PATH_TREE. Returns 0 if
 * the file at place->real, which this call may have changed, can be opened; otherwise -errno. Sets
 * *fd to a descriptor to which place->real refers, or to -1. The caller closes this descriptor
 * after it has opened the file.
 */
int tree_open(struct path_place *place, int flags, int *fd);

#define TREE_TEXT_PATH 32

/*
 * Makes a descriptor of a file with this text. `path` opens the text until the caller closes the
 * descriptor. Returns -1 if the file cannot be made.
 */
int tree_text(const char *text, char path[TREE_TEXT_PATH]);

#endif
