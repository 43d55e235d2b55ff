/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that stand for the adapter's own memory (DMABUF), by which regions are registered
 * over memory that is in no address space: ibv_dm_export_dmabuf_fd(3), ibv_reg_dmabuf_mr(3).
 *
 *   object with pages in a context's memfd <--- struct dmabuf <--- struct dmabuf_user, in a region
 *                                                    |
 *                      descriptor of the program, known by its inode
 *
 * As in the kernel (uverbs_std_types_dmabuf.c): a descriptor cannot be mapped, it does not keep the
 * object, and when the object ends its users lose the memory.
 */
#ifndef SOFTHCA_DMABUF_H
#define SOFTHCA_DMABUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dmabuf;
struct object;

struct dmabuf_user {
	struct dmabuf *buf; /* NULL: no user of one */
	struct dmabuf_user *next;
	/* The memory ends. Called once at most, with the lock. */
	void (*revoked)(struct dmabuf_user *user);
};

/*
 * Makes a descriptor, with O_CLOEXEC, for len bytes of an object's memory. at: where the adapter
 * sees them; NULL: no region may lie over them. -errno.
 */
int dmabuf_export(const struct object *owner, void *at, size_t len, int *fd);
/* Before an object with such memory ends. */
void dmabuf_revoke(const struct object *owner);
/* Whether a descriptor is one that dmabuf_export() made. Any thread, without the lock. */
bool dmabuf_is(int fd);

/* Around dmabuf_find() and what uses its answer. Taken after a context's lock. */
void dmabuf_lock(void);
void dmabuf_unlock(void);
/*
 * What is behind a descriptor, and where the adapter sees its bytes from `offset` on. -EBADF: no
 * descriptor; -EINVAL: no DMABUF, or not so many bytes; -EOPNOTSUPP: memory over which no region
 * can lie here; -ENODEV: its object has ended.
 */
int dmabuf_find(int fd, uint64_t offset, uint64_t len, struct dmabuf **buf, void **at);
/* user->revoked is set. The user is attached until dmabuf_detach(), which takes the lock itself. */
void dmabuf_attach(struct dmabuf *buf, struct dmabuf_user *user);
void dmabuf_detach(struct dmabuf_user *user);

/* Around fork(2). In the child, the memory of every descriptor has ended: it is the parent's. */
void dmabuf_fork_prepare(void);
void dmabuf_fork_parent(void);
void dmabuf_fork_child(void);

#endif
