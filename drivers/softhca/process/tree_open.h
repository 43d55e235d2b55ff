/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a file of a tree as the kernel would. */
#ifndef SOFTHCA_TREE_OPEN_H
#define SOFTHCA_TREE_OPEN_H

#include "path.h"

/*
 * Does what open(2) with these flags does to a path of PATH_MACHINE or PATH_TREE. 0: open the file
 * at place->real, which this call may have changed; or -errno. *fd: a descriptor that place->real
 * refers to, which the caller closes after it has opened the file; -1: none.
 */
int tree_open(struct path_place *place, int flags, int *fd);

#define TREE_TEXT_PATH 32

/*
 * Makes a descriptor of a file with this text. `path` opens the text until the caller closes the
 * descriptor. -1: it cannot be made.
 */
int tree_text(const char *text, char path[TREE_TEXT_PATH]);

#endif
