/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that the program holds by handle: PDs, CQs, QPs, and all others.
 *
 *   struct softhca_ctx --- handle ---> struct object ---> struct object_class (a row of the table)
 *
 * An object counts the objects that name it, and cannot be destroyed while there are any.
 *
 * An object's own struct begins with a struct object. The file that defines the struct defines the
 * class too: how many of these objects an adapter has, and how one ends. classes.h lists the
 * classes.
 *
 * The caller of every function here that has a context as its argument holds the context's lock.
 */
#ifndef SOFTHCA_OBJECT_H
#define SOFTHCA_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctx.h"
#include "resource.h"

struct devx_command;
struct devx_create;
struct object;
struct uverbs_method;
struct write_command;

/* How many records of an object's events the program has read: DESTROY calls answer it. */
struct object_events {
	uint32_t comp_read, async_read;
};

/* Whole pages of the context's memfd: ctx.h. */
struct object_range {
	uint64_t offset, len;
};

/*
 * A kind of object, with the calls that make these objects and work on them. Some rows have calls
 * and no objects: their size is 0.
 */
struct object_class {
	const char *name; /* in log lines */
	size_t size;      /* bytes of the object's struct */
	/* How many of these objects an adapter has at most. NULL: any number. */
	uint32_t (*limit)(const struct softhca_config *cfg);
	/*
	 * Ends what the object stands for, and calls object_unuse() for the objects that it names.
	 * -errno: it stays as it was. Sets *events where objects of the class have events. NULL:
	 * there is nothing to end.
	 */
	int (*end)(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
	/* The pages that are the object's, and that the program maps. NULL: these have none. */
	struct object_range (*range)(const struct object *obj);
	enum resource_type resource; /* as what rdma(8) shows these objects; 0: not */
	bool by_devx; /* a firmware command makes it, and the DEVX method DESTROY ends it */

	const struct uverbs_method *methods; /* ioctl methods: call.h */
	uint32_t n_methods;
	const struct write_command *writes; /* write() commands: call.h */
	uint32_t n_writes;
	const struct devx_create *creates; /* firmware commands: devx.h */
	uint32_t n_creates;
	const struct devx_command *commands;
	uint32_t n_commands;
};

struct object {
	const struct object_class *cls;
	uint32_t handle;
	uint32_t users;         /* objects that name this one */
	struct resource *shown; /* NULL: rdma(8) does not show it */
};

/*
 * The table of classes, n of them, in the order in which the objects of a closed context end. Set
 * once, before the first call on a context.
 */
void object_classes_set(const struct object_class *const *classes, uint32_t n);
const struct object_class *const *object_classes(uint32_t *n);

/*
 * Adds an object of the class, filled with zeros. The caller fills in what the class needs.
 * -ENOMEM; -ENOSPC: the adapter has as many of these objects as it may have.
 */
int object_create(struct softhca_ctx *ctx, const struct object_class *cls, void *out);
/* As object_create(), with `more` bytes of zeros after the class's struct. */
int object_create_longer(struct softhca_ctx *ctx, const struct object_class *cls, size_t more,
	void *out);
/* The object of that class behind a handle, or NULL. cls == NULL: of any class. */
void *object_find(struct softhca_ctx *ctx, const struct object_class *cls, uint32_t handle);
/* Takes back object_create(), where the rest of a creation failed. Does not call cls->end(). */
void object_forget(struct softhca_ctx *ctx, struct object *obj);
/*
 * Ends an object and frees it. events may be NULL. -EBUSY: other objects name it. Other errors are
 * those of cls->end().
 */
int object_destroy(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
/* Ends all objects of a context in the order of the table. Logs those that cannot end. */
void object_destroy_all(struct softhca_ctx *ctx);

/* Around fork(2). The objects that the parent has do not count in the child. */
void object_fork_prepare(void);
void object_fork_parent(void);
void object_fork_child(void);

/* The object is complete: rdma(8) shows it from now on. */
void object_show(struct object *obj);

static inline void
object_use(struct object *obj)
{
	obj->users++;
	if (obj->shown != NULL)
		resource_set(&obj->shown->users, obj->users);
}

static inline void
object_unuse(struct object *obj)
{
	obj->users--;
	if (obj->shown != NULL)
		resource_set(&obj->shown->users, obj->users);
}

#endif
