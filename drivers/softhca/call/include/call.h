/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The types that handlers of uverbs calls use: methods, their lists of attributes, and the call.
 *
 *   ioctl -> uverbs_ioctl() -> method of a class -> attributes checked against the method's list
 *                                                -> handler(call) -> answers written on success
 *
 * The context's lock is held while a handler runs. The handler returns 0 or -errno, which is the
 * result of the program's call.
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
	ATTR_IN,      /* bytes from the program; up to 8 bytes are inside the attribute */
	ATTR_ENUM,    /* a number below `len`, without data */
	ATTR_OUT,     /* bytes to the program */
	ATTR_OBJ,     /* handle of an existing object */
	ATTR_NEW_OBJ, /* handle of the object that the call creates */
	ATTR_FD,      /* descriptor of the program */
	ATTR_NEW_FD,  /* descriptor that the call creates */
};

#define ATTR_ANY_LEN  UINT16_MAX /* attr_spec.len for an input whose length the handler checks */
#define ATTR_OPTIONAL true
#define ATTR_REQUIRED false

struct attr_spec {
	uint16_t id;
	enum attr_kind kind;
	bool optional;
	uint16_t min_len; /* minimum of bytes; a shorter input is refused with EINVAL */
	/*
	 * Bytes that the adapter knows. If an input is longer, all its further bytes must be 0. For
	 * ATTR_ENUM: number of choices.
	 */
	uint16_t len;
	const struct object_class *cls; /* for ATTR_OBJ: class of the object; NULL: any class */
};

/* An attribute of a call. All fields are zero if the program did not set the attribute. */
struct attr_value {
	bool present;
	uint16_t len;
	uint16_t slot; /* index in the program's array */
	/* For ATTR_IN: at least spec.len bytes. Bytes that the program did not give are 0. */
	uint8_t *bytes;
	/*
	 * for ATTR_OUT: address; for ATTR_FD: descriptor; for ATTR_NEW_*: answer; for ATTR_ENUM:
	 * choice
	 */
	uint64_t data;
	struct object *obj; /* for ATTR_OBJ */
};

struct uverbs_call {
	struct softhca_ctx *ctx;
	const struct attr_spec *specs;
	uint32_t n_specs;
	struct attr_value values[CALL_MAX_ATTRS]; /* in the order of the method's list */
	struct ib_uverbs_attr *attrs;             /* a copy of the program's array */
	struct ib_uverbs_ioctl_hdr *user; /* the program's header; only copy_out() writes to it */
};

typedef int (*uverbs_handler)(struct uverbs_call *call);

struct uverbs_method {
	uint16_t object, method;
	bool before_open; /* allowed before GET_CONTEXT */
	uverbs_handler handler;
	const struct attr_spec *specs;
	uint32_t n_specs;
	bool after_fork; /* allowed in a child of fork(), on an inherited context */
	/* id of the attribute with a firmware command; 0: the method has no command */
	uint16_t firmware;
};

/* A write() command, which libibverbs sends by the method INVOKE_WRITE. */
struct write_command {
	uint32_t number;  /* IB_USER_VERBS_CMD_*, or WRITE_EX() */
	uint16_t in_len;  /* minimum of bytes of UVERBS_ATTR_CORE_IN */
	uint16_t out_len; /* minimum of bytes of UVERBS_ATTR_CORE_OUT */
	uverbs_handler handler;
	bool after_fork; /* as uverbs_method.after_fork */
};

#define WRITE_EX(n) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (n))

/*
 * Initializers for the members of struct object_class that list ioctl methods and write() commands.
 */
#define CLASS_METHODS(table) .methods = (table), .n_methods = ARRAY_SIZE(table)
#define CLASS_WRITES(table)  .writes = (table), .n_writes = ARRAY_SIZE(table)

/* Returns the value of an attribute. The id must be in the method's list. */
struct attr_value *call_attr(struct uverbs_call *call, uint16_t id);
bool call_has(struct uverbs_call *call, uint16_t id);
/* Returns the object of an attribute, or NULL if the attribute is absent. */
void *call_obj(struct uverbs_call *call, uint16_t id);
/* Returns the bytes of an input. If the attribute is absent, the bytes are 0. */
const void *call_in(struct uverbs_call *call, uint16_t id);
uint32_t call_in_u32(struct uverbs_call *call, uint16_t id);
uint64_t call_in_u64(struct uverbs_call *call, uint16_t id);
/*
 * Finds the event file of this context by the descriptor in an attribute. *file is NULL if the
 * attribute is absent. Returns 0, or -EBADF if the descriptor is no event file of this context, or
 * an event file of another kind.
 */
int call_event_file(struct uverbs_call *call, uint16_t id, enum event_kind kind,
	struct event_file **file);
/*
 * Writes an answer: as many bytes as fit into the program's buffer, then zeros to the end of the
 * buffer. Writes no bytes if the attribute is absent. Returns 0 or -EFAULT.
 */
int call_out(struct uverbs_call *call, uint16_t id, const void *src, size_t len);
/* The handler of a method that destroys the object in the first attribute of the method's list. */
int call_destroy(struct uverbs_call *call);

#endif
