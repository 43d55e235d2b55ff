/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What handlers of uverbs calls see: methods, their lists of attributes, and the call itself.
 *
 *   ioctl -> uverbs_ioctl() -> method of a class -> attributes checked against the method's list
 *                                                -> handler(call) -> answers written on success
 *
 * A handler runs with the context's lock held. It returns 0 or -errno, which the program gets.
 *
 * ABI: uapi rdma_user_ioctl_cmds.h, ib_user_ioctl_cmds.h, mlx5_user_ioctl_cmds.h.
 */
#ifndef SOFTHCA_CALL_H
#define SOFTHCA_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "classes.h"

#define CALL_MAX_ATTRS 24
#define ARRAY_SIZE(a)  (sizeof(a) / sizeof((a)[0]))

enum attr_kind {
	ATTR_IN,      /* bytes from the program, up to 8 of them inside the attribute */
	ATTR_ENUM,    /* one of a few choices, which is no data */
	ATTR_OUT,     /* bytes to the program */
	ATTR_OBJ,     /* handle of an existing object */
	ATTR_NEW_OBJ, /* handle of the object that the call makes */
	ATTR_FD,      /* descriptor of the program */
	ATTR_NEW_FD,  /* descriptor that the call makes */
};

#define ATTR_ANY_LEN  UINT16_MAX /* attr_spec.len of an input whose length the handler checks */
#define ATTR_OPTIONAL true
#define ATTR_REQUIRED false

struct attr_spec {
	uint16_t id;
	enum attr_kind kind;
	bool optional;
	uint16_t min_len; /* bytes; shorter is EINVAL */
	uint16_t len;     /* bytes that are understood: a longer input must end in zeros; choices */
	const struct object_class *cls; /* ATTR_OBJ: the object's; NULL: any */
};

/*
 * An attribute of one call. One that the program did not give is all zero, with present == false.
 */
struct attr_value {
	bool present;
	uint16_t len;
	uint16_t slot;  /* index in the program's array */
	uint8_t *bytes; /* ATTR_IN: at least spec.len bytes, zeros where the program gave fewer */
	uint64_t data;  /* ATTR_OUT: address; ATTR_FD: descriptor; ATTR_NEW_*: answer; ATTR_ENUM */
	struct object *obj; /* ATTR_OBJ */
};

struct uverbs_call {
	struct softhca_ctx *ctx;
	const struct attr_spec *specs;
	uint32_t n_specs;
	struct attr_value values[CALL_MAX_ATTRS]; /* in the order of the method's list */
	struct ib_uverbs_attr *attrs;             /* copy of the program's array */
	struct ib_uverbs_ioctl_hdr *user; /* the program's own; only copy_out() writes there */
};

typedef int (*uverbs_handler)(struct uverbs_call *call);

struct uverbs_method {
	uint16_t object, method;
	bool before_open; /* legal before GET_CONTEXT */
	uverbs_handler handler;
	const struct attr_spec *specs;
	uint32_t n_specs;
	bool after_fork;   /* legal in a child of fork(), on a context that it inherited */
	uint16_t firmware; /* attribute that carries a firmware command; 0: none */
};

/* A write() command, which libibverbs sends through the method INVOKE_WRITE. */
struct write_command {
	uint32_t number;  /* IB_USER_VERBS_CMD_*, or WRITE_EX() */
	uint16_t in_len;  /* bytes of UVERBS_ATTR_CORE_IN, at least */
	uint16_t out_len; /* bytes of UVERBS_ATTR_CORE_OUT, at least */
	uverbs_handler handler;
	bool after_fork; /* as uverbs_method.after_fork */
};

#define WRITE_EX(n) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (n))

/* Members of a class's row. */
#define CLASS_METHODS(table) .methods = (table), .n_methods = ARRAY_SIZE(table)
#define CLASS_WRITES(table)  .writes = (table), .n_writes = ARRAY_SIZE(table)

/* The value of the attribute with that id: the id must be in the method's list. */
struct attr_value *call_attr(struct uverbs_call *call, uint16_t id);
bool call_has(struct uverbs_call *call, uint16_t id);
/* The object that an attribute names; NULL: the attribute is absent. */
void *call_obj(struct uverbs_call *call, uint16_t id);
/* An input's bytes; zeros: the attribute is absent. */
const void *call_in(struct uverbs_call *call, uint16_t id);
uint32_t call_in_u32(struct uverbs_call *call, uint16_t id);
uint64_t call_in_u64(struct uverbs_call *call, uint16_t id);
/*
 * The event file of the context behind a descriptor in an attribute: *file is NULL where the
 * attribute is absent. -EBADF: the descriptor is not one of the context's files, or of another
 * kind.
 */
int call_event_file(struct uverbs_call *call, uint16_t id, enum event_kind kind,
	struct event_file **file);
/*
 * Writes an answer: what fits the program's buffer, and zeros after it. Nothing where the attribute
 * is absent. -EFAULT.
 */
int call_out(struct uverbs_call *call, uint16_t id, const void *src, size_t len);
/* A handler: destroys the object that the first attribute in the method's list names. */
int call_destroy(struct uverbs_call *call);

#endif
