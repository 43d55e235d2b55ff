/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of objects that programs hold. */
#include "resource.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "raw.h"

#define N_SLOTS 131072

struct table {
	_Atomic uint32_t n_used; /* all slots from this number on have never been used */
	_Atomic uint32_t n_taken;
	_Atomic uint32_t next_id[RESOURCE_N_TYPES];
	_Atomic uint32_t hint; /* number of the slot where the next search begins */
	_Alignas(64) struct resource slots[N_SLOTS];
};
static_assert(sizeof(struct resource) == 120, "slots of one size in every process");

static _Atomic(struct table *) own; /* table of this process, or NULL */
/* The table of another process, for a process that has no table of its own. */
static _Atomic(const struct table *) another;
static char another_path[PATH_MAX];

/* ---------------------------------------------------------------- files */

static void *
map(const char *path, bool make)
{
	int fd = raw_open(path, make ? O_RDWR | O_CREAT | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
	struct stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (make ? ftruncate(fd, sizeof(struct table)) == 0
		 : raw_fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(struct table))
		p = raw_mmap(NULL, sizeof(struct table), make ? PROT_READ | PROT_WRITE : PROT_READ,
			MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	return p != MAP_FAILED ? p : NULL;
}

void
resources_create(const char *path)
{
	struct table *none = NULL, *made;

	if (atomic_load_explicit(&own, memory_order_acquire) != NULL)
		return;
	made = map(path, true);
	/* Another thread may have made the file first. */
	if (made != NULL && !atomic_compare_exchange_strong(&own, &none, made))
		munmap(made, sizeof(*made));
}

void
resources_look_at(const char *path)
{
	if (atomic_load_explicit(&own, memory_order_acquire) != NULL ||
		(another_path[0] != '\0' && strcmp(path, another_path) == 0))
		return;
	atomic_store_explicit(&another, map(path, false), memory_order_release);
	if (atomic_load_explicit(&another, memory_order_relaxed) != NULL)
		snprintf(another_path, sizeof(another_path), "%s", path);
}

/* The inherited table has only the parent's objects. */
void
resources_fork_child(void)
{
	struct table *t = atomic_exchange(&own, NULL);

	if (t != NULL)
		atomic_store_explicit(&another, t, memory_order_release);
}

/* ---------------------------------------------------------------- slots */

static struct resource *
find_free(struct table *t)
{
	const uint32_t from = atomic_load_explicit(&t->hint, memory_order_relaxed);

	for (uint32_t i = 0; i < N_SLOTS; i++) {
		struct resource *r = &t->slots[(from + i) % N_SLOTS];
		uint32_t no = 0;

		if (!atomic_compare_exchange_strong(&r->taken, &no, 1))
			continue;
		atomic_store_explicit(&t->hint, (from + i + 1) % N_SLOTS, memory_order_relaxed);
		return r;
	}
	return NULL;
}

/*
 * Raises the number of used slots. The lowest free slot is taken first, so that readers look at few
 * slots.
 */
static void
note_used(struct table *t, const struct resource *r)
{
	uint32_t n = (uint32_t)(r - t->slots) + 1;
	uint32_t was = atomic_load_explicit(&t->n_used, memory_order_relaxed);

	while (was < n && !atomic_compare_exchange_weak(&t->n_used, &was, n))
		;
}

struct resource *
resource_take(uint32_t dev, enum resource_type type)
{
	struct table *t = atomic_load_explicit(&own, memory_order_acquire);
	struct resource *r = NULL;

	if (t == NULL)
		return NULL;
	if (atomic_fetch_add(&t->n_taken, 1) < N_SLOTS)
		r = find_free(t);
	if (r == NULL) {
		atomic_fetch_sub(&t->n_taken, 1);
		return NULL;
	}
	resource_set(&r->dev, dev);
	resource_set(&r->pid, (uint32_t)getpid());
	resource_set(&r->id, atomic_fetch_add_explicit(&t->next_id[type], 1, memory_order_relaxed));
	resource_set(&r->users, 0);
	resource_set(&r->ctx, RESOURCE_NO_ID);
	resource_set(&r->pd, RESOURCE_NO_ID);
	resource_set(&r->cq, RESOURCE_NO_ID);
	resource_set(&r->srq, RESOURCE_NO_ID);
	resource_set(&r->kind, 0);
	resource_set(&r->qp.number, 0);
	resource_set(&r->qp.state, 0);
	resource_set(&r->qp.port, 0);
	resource_set(&r->qp.dest_qpn, 0);
	resource_set(&r->qp.rq_psn, 0);
	resource_set(&r->qp.sq_psn, 0);
	note_used(t, r);
	return r;
}

void
resource_show(struct resource *r, enum resource_type type)
{
	if (r != NULL)
		atomic_store_explicit(&r->type, type, memory_order_release);
}

void
resource_give(struct resource *r)
{
	struct table *t = atomic_load_explicit(&own, memory_order_acquire);
	uint32_t at;

	/* In a child of fork(), r may be in the parent's table. Such a slot is not released. */
	if (r == NULL || t == NULL || r < t->slots || r >= t->slots + N_SLOTS)
		return;
	at = (uint32_t)(r - t->slots);
	atomic_store_explicit(&r->type, RESOURCE_NONE, memory_order_release);
	atomic_store_explicit(&r->taken, 0, memory_order_release);
	atomic_fetch_sub(&t->n_taken, 1);
	if (at < atomic_load_explicit(&t->hint, memory_order_relaxed))
		atomic_store_explicit(&t->hint, at, memory_order_relaxed);
}

uint32_t
resource_id(const struct resource *r)
{
	return r != NULL ? resource_get(&r->id) : RESOURCE_NO_ID;
}

/* ---------------------------------------------------------------- for readers */

/* True if the process is alive. A killed process leaves its slots in the file. */
static bool
lives(uint32_t pid)
{
	int was = errno;
	bool is = kill((pid_t)pid, 0) == 0 || errno != ESRCH;

	errno = was;
	return is;
}

const struct resource *
resource_next(uint32_t dev, enum resource_type type, uint32_t *at)
{
	const struct table *t = atomic_load_explicit(&own, memory_order_acquire);
	uint32_t n, pid = 0;
	bool alive = false;

	if (t == NULL)
		t = atomic_load_explicit(&another, memory_order_acquire);
	n = t != NULL ? resource_get(&t->n_used) : 0;
	while (*at < n && *at < N_SLOTS) {
		const struct resource *r = &t->slots[(*at)++];

		if (atomic_load_explicit(&r->type, memory_order_acquire) != type ||
			resource_get(&r->dev) != dev)
			continue;
		if (pid != resource_get(&r->pid)) {
			pid = resource_get(&r->pid);
			alive = lives(pid);
		}
		if (alive)
			return r;
	}
	return NULL;
}
