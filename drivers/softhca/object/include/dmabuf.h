/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that export the adapter's own memory (DMABUF). By such a descriptor a region is
 * registered over memory that has no address: ibv_dm_export_dmabuf_fd(3), ibv_reg_dmabuf_mr(3).
 *
 *   object with pages in a context's memfd <--- struct dmabuf <--- struct dmabuf_user, in a region
 *                                                    |
 *                      descriptor of the program, known by its inode
 *
 * As in the kernel (uverbs_std_types_dmabuf.c): the descriptor cannot be mapped, it does not keep
 * the object alive, and when the object ends, its users lose the memory.
 */
#ifndef SOFTHCA_DMABUF_H
#define SOFTHCA_DMABUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dmabuf;
struct object;

struct dmabuf_user {
	struct dmabuf *buf; /* NULL: not attached */
	struct dmabuf_user *next;
	/* Called when the memory ends, at most once. The caller holds the lock. */
	void (*revoked)(struct dmabuf_user *user);
};

/*
 * Makes a descriptor, with O_CLOEXEC, for len bytes of an object's memory. at: the adapter's
 * address of these bytes; NULL: no region may use them. -errno.
 */
int dmabuf_export(const struct object *owner, void *at, size_t len, int *fd);
/* Call before an object with such memory ends. */
void dmabuf_revoke(const struct object *owner);
/* True if dmabuf_export() made the descriptor. Any thread; takes no lock. */
bool dmabuf_is(int fd);

/* Held around dmabuf_find() and the use of its result. Taken after a context's lock. */
void dmabuf_lock(void);
void dmabuf_unlock(void);
/*
 * Finds the export of a descriptor, and the adapter's address of its bytes from `offset` on.
 * -EBADF: no descriptor; -EINVAL: no DMABUF, or too short; -EOPNOTSUPP: no region can use this
 * memory; -ENODEV: its object has ended.
 */
int dmabuf_find(int fd, uint64_t offset, uint64_t len, struct dmabuf **buf, void **at);
/*
 * user->revoked must be set. The user is attached until dmabuf_detach(), which takes the lock
 * itself.
 */
void dmabuf_attach(struct dmabuf *buf, struct dmabuf_user *user);
void dmabuf_detach(struct dmabuf_user *user);

/*
 * Call around fork(2). In the child, the memory of all descriptors has ended: it is the parent's.
 */
void dmabuf_fork_prepare(void);
void dmabuf_fork_parent(void);
void dmabuf_fork_child(void);

#endif
