/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of open contexts of this process.
 *
 * Lock order: the list's lock, contexts' locks, the lock of the list of DMABUFs, then the locks of
 * numbers and counts (object.c, pdn.c).
 */
#ifndef SOFTHCA_CONTEXTS_H
#define SOFTHCA_CONTEXTS_H

#include "ctx.h"

/* Opens the adapter. flags: of open(2); only O_CLOEXEC is used. Returns a descriptor, or -errno. */
int ctx_open(struct softhca_dev *dev, int flags);
/* Destroys the contexts that the program has closed. ctx_open() does so, too. */
void contexts_end_closed(void);
/* The context of a descriptor, held until ctx_put(). NULL: the descriptor is no context. */
struct softhca_ctx *ctx_get(int fd);
void ctx_put(struct softhca_ctx *ctx);
/* The adapter whose context has this inode, or NULL. */
struct softhca_dev *ctx_find_dev(dev_t st_dev, ino_t st_ino);

/*
 * Call around fork(2). prepare waits until no call runs. parent lets calls run again. child does
 * so, too, and marks all contexts as the parent's: a call on such a context gets EIO, as after a
 * device's removal.
 */
void contexts_fork_prepare(void);
void contexts_fork_parent(void);
void contexts_fork_child(void);

#endif
