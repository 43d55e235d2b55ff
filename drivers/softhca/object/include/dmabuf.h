/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that export the adapter's own memory (DMABUF). With such a descriptor a program
 * registers a region over memory that has no address: ibv_dm_export_dmabuf_fd(3),
 * ibv_reg_dmabuf_mr(3).
 *
 *   object with pages in a context's memfd <--- struct dmabuf <--- struct dmabuf_user, in a region
 *                                                    |
 *                      descriptor of the program, known by its inode
 *
 * As in the kernel (uverbs_std_types_dmabuf.c), the descriptor cannot be mapped and does not keep
 * the object alive. When the object ends, its users lose the memory.
 */
#ifndef SOFTHCA_DMABUF_H
#define SOFTHCA_DMABUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dmabuf;
struct object;

struct dmabuf_user {
	struct dmabuf *buf; /* export that the user is attached to, or NULL */
	struct dmabuf_user *next;
	/* Called at most once, when the memory ends. The caller holds the lock of the list. */
	void (*revoked)(struct dmabuf_user *user);
};

/*
 * Makes a descriptor, with O_CLOEXEC, for len bytes of an object's memory. at: the adapter's
 * address of these bytes, or NULL if no region may use them. Returns 0 or -errno.
 */
int dmabuf_export(const struct object *owner, void *at, size_t len, int *fd);
/* Call this before an object ends whose memory was exported. */
void dmabuf_revoke(const struct object *owner);
/* True if dmabuf_export() made the descriptor. Any thread may call it; it takes no lock. */
bool dmabuf_is(int fd);

/*
 * The caller holds this lock from dmabuf_find() until it no longer uses the result. The lock is
 * taken after a context's lock.
 */
void dmabuf_lock(void);
void dmabuf_unlock(void);
/*
 * Finds the export of a descriptor, and the adapter's address of its bytes from `offset` on.
 * Returns 0; -EBADF if fd is no descriptor; -EINVAL if it is no DMABUF, or too short; -EOPNOTSUPP
 * if no region can use this memory; or -ENODEV if the object has ended.
 */
int dmabuf_find(int fd, uint64_t offset, uint64_t len, struct dmabuf **buf, void **at);
/*
 * Attaches a user until dmabuf_detach(). The caller has set user->revoked. dmabuf_detach() takes
 * the lock itself.
 */
void dmabuf_attach(struct dmabuf *buf, struct dmabuf_user *user);
void dmabuf_detach(struct dmabuf_user *user);

/*
 * Call these around fork(2). In the child, the memory of all descriptors has ended, because it
 * belongs to the parent.
 */
void dmabuf_fork_prepare(void);
void dmabuf_fork_parent(void);
void dmabuf_fork_child(void);

#endif
