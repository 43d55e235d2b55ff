/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects with handles: creates, finds, counts and destroys them. */
#include "object.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "classes.h"
#include "dmabuf.h"
#include "fork_lock.h"
#include "log.h"

static const struct object_class *const *table;
static uint32_t table_len;

/* protects the counts; no other lock is taken under it */
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t counts[SOFTHCA_MAX_DEVICES][OBJECT_N_CLASSES];

void
object_classes_set(const struct object_class *const *classes, uint32_t n)
{
	table = classes;
	table_len = n;
}

const struct object_class *const *
object_classes(uint32_t *n)
{
	*n = table_len;
	return table;
}

/* ---------------------------------------------------------------- counts */

static uint32_t *
count_of(const struct softhca_dev *dev, const struct object_class *cls)
{
	for (uint32_t i = 0; i < table_len; i++)
		if (table[i] == cls)
			return &counts[dev->index][i];
	abort(); /* classes.h lacks a row for the class */
}

static bool
count_up(const struct softhca_dev *dev, const struct object_class *cls)
{
	uint32_t *count = count_of(dev, cls);
	bool ok;

	fork_lock(&count_lock);
	ok = cls->limit == NULL || *count < cls->limit(dev->cfg);
	if (ok)
		++*count;
	fork_unlock(&count_lock);
	return ok;
}

static void
count_down(const struct softhca_dev *dev, const struct object_class *cls)
{
	uint32_t *count = count_of(dev, cls);

	fork_lock(&count_lock);
	--*count;
	fork_unlock(&count_lock);
}

/* ---------------------------------------------------------------- handles */

/* Handles are used in rising order, so that a released handle is not reused soon. */
static int
take_handle(struct softhca_ctx *ctx, uint32_t *handle)
{
	uint32_t n = ctx->n_objects == 0 ? 64 : ctx->n_objects * 2;
	struct object **grown;

	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		uint32_t h = 1 + (ctx->next_handle + i - 1) % (ctx->n_objects - 1);

		if (ctx->objects[h] != NULL)
			continue;
		ctx->next_handle = h;
		*handle = h;
		return 0;
	}
	grown = realloc(ctx->objects, n * sizeof(struct object *));
	if (grown == NULL)
		return -ENOMEM;
	memset(grown + ctx->n_objects, 0, (n - ctx->n_objects) * sizeof(struct object *));
	ctx->objects = grown;
	*handle = ctx->n_objects == 0 ? 1 : ctx->n_objects;
	ctx->next_handle = *handle;
	ctx->n_objects = n;
	return 0;
}

int
object_create_longer(struct softhca_ctx *ctx, const struct object_class *cls, size_t more,
	void *out)
{
	struct object *obj = calloc(1, cls->size + more);
	int rc;

	if (obj == NULL)
		return -ENOMEM;
	rc = take_handle(ctx, &obj->handle);
	if (rc == 0 && !count_up(ctx->dev, cls))
		rc = -ENOSPC;
	if (rc != 0) {
		free(obj);
		return rc;
	}
	obj->cls = cls;
	if (cls->resource != RESOURCE_NONE)
		obj->shown = resource_take(ctx->dev->index, cls->resource);
	if (obj->shown != NULL)
		resource_set(&obj->shown->ctx, resource_id(ctx->shown));
	ctx->objects[obj->handle] = obj;
	*(struct object **)out = obj;
	return 0;
}

int
object_create(struct softhca_ctx *ctx, const struct object_class *cls, void *out)
{
	return object_create_longer(ctx, cls, 0, out);
}

void *
object_find(struct softhca_ctx *ctx, const struct object_class *cls, uint32_t handle)
{
	struct object *obj = handle < ctx->n_objects ? ctx->objects[handle] : NULL;

	return obj != NULL && (obj->cls == cls || cls == NULL) ? obj : NULL;
}

void
object_forget(struct softhca_ctx *ctx, struct object *obj)
{
	ctx->objects[obj->handle] = NULL;
	count_down(ctx->dev, obj->cls);
	resource_give(obj->shown);
	free(obj);
}

void
object_show(struct object *obj)
{
	resource_show(obj->shown, obj->cls->resource);
}

/* ---------------------------------------------------------------- ends */

int
object_destroy(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_events unread = {0};
	int rc = 0;

	if (obj->users != 0)
		return -EBUSY;
	if (obj->cls->range != NULL)
		dmabuf_revoke(obj);
	if (obj->cls->end != NULL)
		rc = obj->cls->end(ctx, obj, events != NULL ? events : &unread);
	if (rc == 0)
		object_forget(ctx, obj);
	return rc;
}

void
object_destroy_all(struct softhca_ctx *ctx)
{
	for (uint32_t c = 0; c < table_len; c++) {
		for (uint32_t i = 1; i < ctx->n_objects; i++) {
			struct object *obj = object_find(ctx, table[c], i);

			if (obj != NULL && object_destroy(ctx, obj, NULL) != 0)
				softhca_log("%s with handle %u of a closed context is still busy",
					obj->cls->name, i);
		}
	}
}

/* ---------------------------------------------------------------- fork(2) */

void
object_fork_prepare(void)
{
	fork_lock(&count_lock);
}

void
object_fork_parent(void)
{
	fork_unlock(&count_lock);
}

void
object_fork_child(void)
{
	memset(counts, 0, sizeof(counts));
	fork_unlock(&count_lock);
}
