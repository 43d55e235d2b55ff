/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that the program holds by handle: PDs, CQs, QPs and so on.
 *
 *   struct softhca_ctx --- handle ---> struct object ---> struct object_class (a row of the table)
 *
 * An object counts the objects that name it, and cannot be destroyed while this count is not 0.
 *
 * An object's own struct begins with a struct object. The file that defines that struct also
 * defines its class: the limit of objects of an adapter, and how one ends. classes.h lists the
 * classes.
 *
 * A caller of a function with a context as argument holds the context's lock.
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

/* Records of an object's events that the program has read: the answer of DESTROY calls. */
struct object_events {
	uint32_t comp_read, async_read;
};

/* Whole pages of the context's memfd: ctx.h. */
struct object_range {
	uint64_t offset, len;
};

/* A kind of object, with its calls. Some rows have calls and no objects: their size is 0. */
struct object_class {
	const char *name; /* in log lines */
	size_t size;      /* bytes of the object's struct */
	/* The limit of these objects of an adapter. NULL: no limit. */
	uint32_t (*limit)(const struct softhca_config *cfg);
	/*
	 * Ends the object, and calls object_unuse() for the objects that it names. -errno: the
	 * object is unchanged. Sets *events if the class has events. NULL: nothing to end.
	 */
	int (*end)(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
	/* The object's pages that the program maps. NULL: it has none. */
	struct object_range (*range)(const struct object *obj);
	enum resource_type resource; /* the kind in rdma(8); 0: not shown */
	/* a firmware command creates the object, and the DEVX method DESTROY ends it */
	bool by_devx;

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
	struct resource *shown; /* NULL: rdma(8) does not show the object */
};

/*
 * Sets the table of n classes, in the order in which the objects of a closed context are destroyed.
 * Called once, before the first call on a context.
 */
void object_classes_set(const struct object_class *const *classes, uint32_t n);
const struct object_class *const *object_classes(uint32_t *n);

/*
 * Adds an object of the class, filled with zeros. The caller fills in the class's fields. -ENOMEM;
 * -ENOSPC: the adapter has reached its limit of these objects.
 */
int object_create(struct softhca_ctx *ctx, const struct object_class *cls, void *out);
/* As object_create(), with `more` bytes of zeros after the class's struct. */
int object_create_longer(struct softhca_ctx *ctx, const struct object_class *cls, size_t more,
	void *out);
/* The object of this class with a handle, or NULL. cls == NULL: any class. */
void *object_find(struct softhca_ctx *ctx, const struct object_class *cls, uint32_t handle);
/* Undoes object_create(), if the rest of a creation has failed. Does not call cls->end(). */
void object_forget(struct softhca_ctx *ctx, struct object *obj);
/*
 * Ends an object and frees it. events: may be NULL. -EBUSY: other objects name it. Other errors
 * come from cls->end().
 */
int object_destroy(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
/* Ends all objects of a context, in the order of the table. Logs those that cannot end. */
void object_destroy_all(struct softhca_ctx *ctx);

/* Call around fork(2). In the child, the parent's objects do not count. */
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
