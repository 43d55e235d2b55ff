/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of ids. */
#include "id.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/*
 * A communication id has the handle in its low bits and a count in its high bits, so that a late
 * message for an id that ended does not find the next id with its handle.
 */
#define HANDLE_BITS 20
#define MAX_IDS     (1u << HANDLE_BITS)

static struct cm_id **ids;
static uint32_t n_ids;      /* entries of the table */
static uint32_t first_free; /* no handle below it is free */
static uint32_t generation;

static bool
grow(void)
{
	const uint32_t n = n_ids == 0 ? 64 : 2 * n_ids;
	struct cm_id **more;

	if (n > MAX_IDS)
		return false;
	more = realloc(ids, n * sizeof(struct cm_id *));
	if (more == NULL)
		return false;
	memset(more + n_ids, 0, (n - n_ids) * sizeof(struct cm_id *));
	ids = more;
	n_ids = n;
	return true;
}

static bool
find_free(uint32_t *handle)
{
	while (first_free < n_ids && ids[first_free] != NULL)
		first_free++;
	*handle = first_free;
	return first_free < n_ids || grow();
}

static uint32_t
new_comm(uint32_t handle)
{
	generation = (generation + 1) % (1u << (32 - HANDLE_BITS));
	if (generation == 0)
		generation = 1; /* no communication id is 0 */
	return generation << HANDLE_BITS | handle;
}

struct cm_id *
id_create(struct cm_file *file, uint64_t uid, uint16_t ps)
{
	struct cm_id *id = calloc(1, sizeof(*id));
	uint32_t handle, psn;

	if (id == NULL || !find_free(&handle) ||
		getrandom(&psn, sizeof(psn), GRND_NONBLOCK) != sizeof(psn)) {
		free(id);
		return NULL;
	}
	id->handle = handle;
	id->comm = new_comm(handle);
	id->file = file;
	id->uid = uid;
	id->ps = ps;
	id->psn = psn & 0xffffff;
	ids[handle] = id;
	return id;
}

void
id_free(struct cm_id *id)
{
	ids[id->handle] = NULL;
	if (id->handle < first_free)
		first_free = id->handle;
	free(id->request);
	free(id);
}

struct cm_id *
id_of(uint32_t handle)
{
	return handle < n_ids ? ids[handle] : NULL;
}

struct cm_id *
id_of_comm(uint32_t comm)
{
	struct cm_id *id = id_of(comm % MAX_IDS);

	return id != NULL && id->comm == comm ? id : NULL;
}

struct cm_id *
id_next(uint32_t from)
{
	for (; from < n_ids; from++)
		if (ids[from] != NULL)
			return ids[from];
	return NULL;
}

void
id_fork_child(void)
{
	ids = NULL;
	n_ids = first_free = 0;
}
