/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /dev/infiniband/rdma_cm: the connection manager, for librdmacm.
 *
 *   open(2)  -> cm_open()    one end of a socket pair: poll(2), O_NONBLOCK, close(2) are the
 *                            kernel's own
 *   write(2) -> cm_write()   a command, answered in place: ucma.h
 *
 *   ucma*.c          the commands, and their table
 *   machine.h        what happens to ids: resolve.c, active.c, passive.c, finish.c
 *   ports.h          port spaces              address.h   which adapter an address stands for
 *   carrier.h        messages between processes           cm_record.h  what they look like
 *   loop.h           the thread, the lock                 file.h      open files, events
 *
 * Any thread may call these functions. No lane knows of them.
 */
#ifndef SOFTHCA_CM_H
#define SOFTHCA_CM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The character device: a misc device, whose minor number the kernel would choose when it loads. */
#define CM_MAJOR 10
#define CM_MINOR 121
#define CM_ABI   4 /* RDMA_USER_CM_ABI_VERSION */
#define CM_PATH  "/dev/infiniband/rdma_cm"

extern atomic_bool cm_opened;

/* True if the process has opened the device. All other calls of write(2) cost this one look. */
static inline bool
cm_is_used(void)
{
	return atomic_load_explicit(&cm_opened, memory_order_relaxed);
}

/* Opens the device. flags: those of open(2). Returns a descriptor, or -errno. */
int cm_open(int flags);
/*
 * Runs a command, if the descriptor is an open file of the device. Returns false if it is not.
 * Otherwise sets *result to what write(2) returns, or to -errno. A command that waits is a
 * cancellation point.
 */
bool cm_write(int fd, const void *buf, size_t len, ssize_t *result);
/* True if the inode is that of an open file of the device. */
bool cm_is_file(dev_t dev, ino_t ino);

/*
 * Call this after the effective user of the process has changed: lets processes of the new user
 * connect to the listeners.
 */
void cm_user_changed(void);

/* Call these around fork(2). The child has none of the parent's ids, ports and connections. */
void cm_fork_prepare(void);
void cm_fork_parent(void);
void cm_fork_child(void);

#endif
