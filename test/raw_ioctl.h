/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes uverbs calls without libibverbs. libibverbs checks many arguments itself; here the adapter
 * must refuse them. Attributes are added one by one. Values of up to 8 bytes are stored in the
 * attribute itself (uapi rdma_user_ioctl_cmds.h).
 */
#ifndef RAW_IOCTL_H
#define RAW_IOCTL_H

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#define RAW_MAX_ATTRS 24

struct raw_ioctl {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[RAW_MAX_ATTRS];
};

static inline struct raw_ioctl
raw_start(uint16_t object, uint16_t method)
{
	return (struct raw_ioctl){.hdr = {.object_id = object,
					  .method_id = method,
					  .driver_id = 1 /* RDMA_DRIVER_MLX5 */}};
}

static inline struct ib_uverbs_attr *
raw_attr(struct raw_ioctl *c, uint16_t id, uint16_t len, uint64_t data)
{
	struct ib_uverbs_attr *attr = &c->attrs[c->hdr.num_attrs++];

	*attr = (struct ib_uverbs_attr){.attr_id = id,
		.len = len,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = data};
	return attr;
}

static inline void
raw_u64(struct raw_ioctl *c, uint16_t id, uint64_t v)
{
	raw_attr(c, id, 8, v);
}

static inline void
raw_u32(struct raw_ioctl *c, uint16_t id, uint32_t v)
{
	raw_attr(c, id, 4, v);
}

/* Adds a handle: of an object, or the place for a new object's handle. */
static inline struct ib_uverbs_attr *
raw_handle(struct raw_ioctl *c, uint16_t id, uint32_t handle)
{
	return raw_attr(c, id, 0, handle);
}

static inline void
raw_out(struct raw_ioctl *c, uint16_t id, void *to, uint16_t len)
{
	raw_attr(c, id, len, (uintptr_t)to);
}

/* Makes the call. Returns 0 or the errno. */
static inline int
raw_run(int fd, struct raw_ioctl *c)
{
	c->hdr.length = sizeof(c->hdr) + c->hdr.num_attrs * sizeof(c->attrs[0]);
	return ioctl(fd, RDMA_VERBS_IOCTL, c) == 0 ? 0 : errno;
}

#endif
