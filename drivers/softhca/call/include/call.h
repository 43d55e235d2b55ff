/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What handlers of uverbs calls see: methods, their lists of attributes, and the call itself.
 *
 *   ioctl -> uverbs_ioctl() -> method of a class -> attributes checked against the method's list
 *                                                -> handler(call) -> answers written on success
 *
 * A handler runs with the context's lock held. The program gets its result: 0 or -errno.
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
	ATTR_IN,      /* bytes from the program; up to 8 are inside the attribute */
	ATTR_ENUM,    /* one of a few choices: no data */
	ATTR_OUT,     /* bytes to the program */
	ATTR_OBJ,     /* handle of an existing object */
	ATTR_NEW_OBJ, /* handle of the object that the call creates */
	ATTR_FD,      /* descriptor of the program */
	ATTR_NEW_FD,  /* descriptor that the call creates */
};

#define ATTR_ANY_LEN  UINT16_MAX /* attr_spec.len of an input whose length the handler checks */
#define ATTR_OPTIONAL true
#define ATTR_REQUIRED false

struct attr_spec {
	uint16_t id;
	enum attr_kind kind;
	bool optional;
	uint16_t min_len; /* bytes; a shorter input is EINVAL */
	/*
	 * bytes that are known: further bytes of an input must be 0. ATTR_ENUM: number of choices
	 */
	uint16_t len;
	const struct object_class *cls; /* ATTR_OBJ: the class of the object; NULL: any class */
};

/* An attribute of one call. If the program did not give it, all fields are zero. */
struct attr_value {
	bool present;
	uint16_t len;
	uint16_t slot; /* index in the program's array */
	/* ATTR_IN: at least spec.len bytes; bytes that the program did not give are 0 */
	uint8_t *bytes;
	uint64_t data; /* ATTR_OUT: address; ATTR_FD: descriptor; ATTR_NEW_*: answer; ATTR_ENUM */
	struct object *obj; /* ATTR_OBJ */
};

struct uverbs_call {
	struct softhca_ctx *ctx;
	const struct attr_spec *specs;
	uint32_t n_specs;
	struct attr_value values[CALL_MAX_ATTRS]; /* in the order of the method's list */
	struct ib_uverbs_attr *attrs;             /* copy of the program's array */
	struct ib_uverbs_ioctl_hdr *user; /* the program's header; only copy_out() writes it */
};

typedef int (*uverbs_handler)(struct uverbs_call *call);

struct uverbs_method {
	uint16_t object, method;
	bool before_open; /* legal before GET_CONTEXT */
	uverbs_handler handler;
	const struct attr_spec *specs;
	uint32_t n_specs;
	bool after_fork;   /* legal in a child of fork(), on an inherited context */
	uint16_t firmware; /* the attribute with a firmware command; 0: none */
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

/* The value of an attribute. id: must be in the method's list. */
struct attr_value *call_attr(struct uverbs_call *call, uint16_t id);
bool call_has(struct uverbs_call *call, uint16_t id);
/* The object that an attribute names; NULL: the attribute is absent. */
void *call_obj(struct uverbs_call *call, uint16_t id);
/* An input's bytes. If the attribute is absent, they are 0. */
const void *call_in(struct uverbs_call *call, uint16_t id);
uint32_t call_in_u32(struct uverbs_call *call, uint16_t id);
uint64_t call_in_u64(struct uverbs_call *call, uint16_t id);
/*
 * Finds the event file of this context by the descriptor in an attribute. *file is NULL if the
 * attribute is absent. -EBADF: the descriptor is no event file of this context, or one of another
 * kind.
 */
int call_event_file(struct uverbs_call *call, uint16_t id, enum event_kind kind,
	struct event_file **file);
/*
 * Writes an answer: as much as fits into the program's buffer, then zeros to the buffer's end.
 * Writes nothing if the attribute is absent. -EFAULT.
 */
int call_out(struct uverbs_call *call, uint16_t id, const void *src, size_t len);
/* A handler that destroys the object named by the first attribute in the method's list. */
int call_destroy(struct uverbs_call *call);

#endif
