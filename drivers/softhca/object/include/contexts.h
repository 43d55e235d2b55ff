/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of open contexts of this process.
 *
 * Lock order: first the list's lock, then contexts' locks, the lock of the list of DMABUFs, and the
 * locks of numbers and counts (object.c, pdn.c).
 */
#ifndef SOFTHCA_CONTEXTS_H
#define SOFTHCA_CONTEXTS_H

#include "ctx.h"

/*
 * Opens the adapter. flags: the flags of open(2), of which only O_CLOEXEC is used. Returns a
 * descriptor, or -errno.
 */
int ctx_open(struct softhca_dev *dev, int flags);
/* Destroys the contexts that the program has closed. ctx_open() also does this. */
void contexts_end_closed(void);
/*
 * Returns the context of a descriptor and holds it until ctx_put(). Returns NULL if the descriptor
 * is no context.
 */
struct softhca_ctx *ctx_get(int fd);
void ctx_put(struct softhca_ctx *ctx);
/* Returns the adapter whose context has this inode, or NULL. */
struct softhca_dev *ctx_find_dev(dev_t st_dev, ino_t st_ino);

/* Call this after the effective user of the process has changed: softhca_lanes_user_changed(). */
void contexts_user_changed(void);

/*
 * Call these around fork(2). prepare waits until no call runs. parent allows calls again. child
 * also allows calls, and marks all contexts as the parent's: a call on such a context returns EIO,
 * as after the removal of a device.
 */
void contexts_fork_prepare(void);
void contexts_fork_parent(void);
void contexts_fork_child(void);

#endif
