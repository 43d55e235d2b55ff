/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One uverbs call: from the ioctl's bytes to a handler, and back.
 *
 *   ioctl -> uverbs_ioctl() -> method table -> attributes checked against the method's list
 *                                           -> handler(call) -> answers written on success
 *
 * ABI: uapi rdma_user_ioctl_cmds.h, ib_user_ioctl_cmds.h, mlx5_user_ioctl_cmds.h. Memory of the
 * program is only touched by copy_in() and copy_out(), which fail with EFAULT and never crash.
 */
#ifndef SOFTHCA_UVERBS_H
#define SOFTHCA_UVERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "object.h"

#define UVERBS_MAX_ATTRS 24
#define ARRAY_SIZE(a)    (sizeof(a) / sizeof((a)[0]))

enum attr_kind {
	ATTR_IN,      /* bytes from the program, up to 8 of them inside the attribute */
	ATTR_OUT,     /* bytes to the program */
	ATTR_OBJ,     /* handle of an existing object */
	ATTR_NEW_OBJ, /* handle of the object that the call makes */
	ATTR_FD,      /* descriptor of the program */
	ATTR_NEW_FD,  /* descriptor that the call makes */
};

#define ATTR_ANY_LEN  UINT16_MAX /* attr_spec.len of an input that the handler measures itself */
#define ATTR_OPTIONAL true
#define ATTR_REQUIRED false

struct attr_spec {
	uint16_t id;
	enum attr_kind kind;
	bool optional;
	uint16_t min_len; /* bytes; shorter is EINVAL */
	uint16_t len;     /* bytes that are understood: a longer input must end in zeros */
	enum object_type type;
};

/* An attribute of this call. absent: all zero, present == false. */
struct attr_value {
	bool present;
	uint16_t len;
	uint16_t slot;  /* where it stands in the program's array */
	uint8_t *bytes; /* ATTR_IN: at least spec.len bytes, zeros where the program gave fewer */
	uint64_t data;  /* ATTR_OUT: where to; ATTR_FD: which; ATTR_NEW_*: the answer */
	struct object *obj; /* ATTR_OBJ */
};

struct uverbs_call {
	struct softhca_ctx *ctx;
	const struct attr_spec *specs;
	uint32_t n_specs;
	struct attr_value values[UVERBS_MAX_ATTRS]; /* in the order of the method's list */
	struct ib_uverbs_attr *attrs;
	struct ib_uverbs_ioctl_hdr *user; /* in the program */
};

typedef int (*uverbs_handler)(struct uverbs_call *call);

struct uverbs_method {
	uint16_t object, method;
	bool before_open; /* legal before GET_CONTEXT */
	uverbs_handler handler;
	const struct attr_spec *specs;
	uint32_t n_specs;
	bool after_fork; /* legal in a child, on a context that it inherited */
};

/* Tables of method groups: uverbs_device.c, uverbs_objects.c, devx.c. */
extern const struct uverbs_method device_methods[], object_methods[], devx_methods[];
extern const struct uverbs_method srq_methods[]; /* uverbs_srq.c */
extern const uint32_t n_srq_methods;
extern const uint32_t n_device_methods, n_object_methods, n_devx_methods;

/* The ioctl RDMA_VERBS_IOCTL on a context. 0/-errno. */
int uverbs_ioctl(struct softhca_ctx *ctx, void *user);

int copy_in(void *dst, uint64_t src, size_t len);
int copy_out(uint64_t dst, const void *src, size_t len);

/* The value of the attribute with that id: the id must be in the method's list. */
struct attr_value *call_attr(struct uverbs_call *call, uint16_t id);
/* Its bytes; for an absent one, zeros. */
const void *call_in(struct uverbs_call *call, uint16_t id);
uint32_t call_in_u32(struct uverbs_call *call, uint16_t id);
uint64_t call_in_u64(struct uverbs_call *call, uint16_t id);
/* Writes an answer: what fits, and zeros after it. Nothing where the attribute is absent. */
int call_out(struct uverbs_call *call, uint16_t id, const void *src, size_t len);
bool call_has(struct uverbs_call *call, uint16_t id);

/* The write() commands, carried by INVOKE_WRITE: uverbs_write.c. */
int uverbs_invoke_write(struct uverbs_call *call);

#endif
