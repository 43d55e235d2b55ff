/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that the program holds by handle: PDs, CQs, QPs and so on.
 *
 *   struct softhca_ctx --- handle ---> struct object ---> struct object_class (a row of the table)
 *
 * An object counts the objects that refer to it, and cannot be destroyed while this count is not 0.
 *
 * Each kind of object has its own struct, which begins with a struct object. The file that defines
 * this struct also defines the object's class: the adapter's limit for such objects, and how such
 * an object is destroyed. classes.h lists the classes.
 *
 * The caller of a function with a context as argument holds the context's lock.
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

/* The number of an object's event records that the program has read. DESTROY calls return it. */
struct object_events {
	uint32_t comp_read, async_read;
};

/* A range of whole pages in the context's memfd: ctx.h. */
struct object_range {
	uint64_t offset, len;
};

/*
 * A kind of object and the calls on it. Some classes have only calls and no objects: their size is
 * 0.
 */
struct object_class {
	const char *name; /* in log lines */
	size_t size;      /* bytes of the object's struct */
	/* Returns the adapter's limit for the number of these objects. NULL: there is no limit. */
	uint32_t (*limit)(const struct softhca_config *cfg);
	/*
	 * Ends the object, and calls object_unuse() for the objects that it refers to. Sets *events
	 * if the class has events. Returns 0, or -errno with the object unchanged. NULL: no action
	 * is needed.
	 */
	int (*end)(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
	/*
	 * Returns the pages of the object that the program maps. NULL: objects of this class have
	 * no pages.
	 */
	struct object_range (*range)(const struct object *obj);
	/* kind of the object in rdma(8); 0: rdma(8) does not show it */
	enum resource_type resource;
	/* A firmware command creates the object, and the DEVX method DESTROY destroys it. */
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
	uint32_t users;         /* number of objects that refer to this object */
	struct resource *shown; /* entry for rdma(8), or NULL */
};

/*
 * Sets the table of n classes. The objects of a closed context are destroyed in the order of this
 * table. Called once, before the first call on a context.
 */
void object_classes_set(const struct object_class *const *classes, uint32_t n);
const struct object_class *const *object_classes(uint32_t *n);

/*
 * Adds an object of the class, filled with zeros. The caller then sets the class's own fields.
 * Returns 0, -ENOMEM, or -ENOSPC if the adapter has reached its limit of these objects.
 */
int object_create(struct softhca_ctx *ctx, const struct object_class *cls, void *out);
/* As object_create(), with `more` additional bytes of zeros after the class's struct. */
int object_create_longer(struct softhca_ctx *ctx, const struct object_class *cls, size_t more,
	void *out);
/*
 * Returns the object of this class with this handle, or NULL. If cls is NULL, the object may have
 * any class.
 */
void *object_find(struct softhca_ctx *ctx, const struct object_class *cls, uint32_t handle);
/* Undoes object_create() when a later step of the creation has failed. Does not call cls->end(). */
void object_forget(struct softhca_ctx *ctx, struct object *obj);
/*
 * Ends an object and frees it. events may be NULL. Returns 0, -EBUSY if another object refers to
 * it, or an error of cls->end().
 */
int object_destroy(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
/* Ends all objects of a context, in the order of the table. Logs each object that cannot end. */
void object_destroy_all(struct softhca_ctx *ctx);

/* Call these around fork(2). In the child, the parent's objects do not count for the limits. */
void object_fork_prepare(void);
void object_fork_parent(void);
void object_fork_child(void);

/* Called when the object is complete. From now on rdma(8) shows the object. */
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
