/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of open contexts of this process.
 *
 * Lock order: the list's lock, contexts' locks, that of the list of DMABUFs, then those of numbers
 * and counts (object.c, pdn.c).
 */
#ifndef SOFTHCA_CONTEXTS_H
#define SOFTHCA_CONTEXTS_H

#include "ctx.h"

/* Opens the adapter: a descriptor, or -errno. Of the flags of open(2), O_CLOEXEC counts. */
int ctx_open(struct softhca_dev *dev, int flags);
/* Ends the contexts that the program has closed. ctx_open() does it too. */
void contexts_end_closed(void);
/*
 * The context that a descriptor refers to, held until ctx_put(). NULL: the descriptor is not ours.
 */
struct softhca_ctx *ctx_get(int fd);
void ctx_put(struct softhca_ctx *ctx);
/* The adapter whose context has that inode, or NULL. */
struct softhca_dev *ctx_find_dev(dev_t st_dev, ino_t st_ino);

/*
 * Around fork(2): prepare waits until no call runs, parent lets calls run again, child lets them
 * run and marks all contexts as the parent's: a call on one gets EIO, as after a device's removal.
 */
void contexts_fork_prepare(void);
void contexts_fork_parent(void);
void contexts_fork_child(void);

#endif
