/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers memory, and publishes the table from which queues turn addresses into keys. */
#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include <infiniband/verbs.h>

#include "gantry_priv.h"

/* What a queue starts with in place of a hit: covers nothing. */
static const struct gantry_region no_region;

/* ------------------------------------------------------------------ the readers */

int
gantry_mem_view_init(struct gantry_mem_view *v, struct gantry_mem_dir *dir)
{
	uint32_t i;

	for (i = 0; i < GANTRY_MAX_QUEUES; i++)
		if ((dir->reader_used[i / 64] & RTE_BIT64(i % 64)) == 0)
			break;
	if (i == GANTRY_MAX_QUEUES)
		return -ENOSPC;
	if (rte_rcu_qsbr_thread_register(dir->rcu, i) != 0)
		return -rte_errno;
	dir->reader_used[i / 64] |= RTE_BIT64(i % 64);
	*v = (struct gantry_mem_view){
		.src = &no_region,
		.dst = &no_region,
		.dir = dir,
		.reader = i,
	};
	return 0;
}

void
gantry_mem_view_fini(struct gantry_mem_view *v)
{
	gantry_mem_view_offline(v);
	rte_rcu_qsbr_thread_unregister(v->dir->rcu, v->reader);
	v->dir->reader_used[v->reader / 64] &= ~RTE_BIT64(v->reader % 64);
}

void
gantry_mem_view_offline(struct gantry_mem_view *v)
{
	if (!v->online)
		return;
	v->online = false;
	v->table = NULL;
	v->src = &no_region;
	v->dst = &no_region;
	rte_rcu_qsbr_thread_offline(v->dir->rcu, v->reader);
}

void
gantry_mem_view_reload(struct gantry_mem_view *v)
{
	if (!v->online) {
		rte_rcu_qsbr_thread_online(v->dir->rcu, v->reader);
		v->online = true;
	}
	/* Pairs with the release in table_publish(). */
	v->table = atomic_load_explicit(&v->dir->table, memory_order_acquire);
	v->src = &no_region;
	v->dst = &no_region;
}

/* How many regions begin at or below addr: the candidate is the one before that. */
static uint32_t
table_upper_bound(const struct gantry_mem_table *t, uint64_t addr)
{
	uint32_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->region[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct gantry_region *
gantry_mem_find(const struct gantry_mem_table *t, uint64_t addr, uint64_t len)
{
	uint32_t i = table_upper_bound(t, addr);

	if (i == 0 || !gantry_mem_hit(&t->region[i - 1], addr, len))
		return NULL;
	return &t->region[i - 1];
}

/* ------------------------------------------------------------------ the table */

static struct gantry_mem_table *
table_alloc(uint32_t n)
{
	struct gantry_mem_table *t;

	t = rte_malloc("gantry_mem", sizeof(*t) + n * sizeof(t->region[0]), RTE_CACHE_LINE_SIZE);
	if (t != NULL) {
		t->next = NULL;
		t->token = 0;
		t->n = n;
	}
	return t;
}

static struct gantry_mem_table *
table_current(struct gantry_mem_dir *dir)
{
	/* Relaxed: only this thread writes it. */
	return atomic_load_explicit(&dir->table, memory_order_relaxed);
}

/* Frees the tables that every queue has moved on from. */
static void
table_reclaim(struct gantry_mem_dir *dir)
{
	struct gantry_mem_table **p = &dir->retired;

	while (*p != NULL) {
		struct gantry_mem_table *t = *p;

		if (rte_rcu_qsbr_check(dir->rcu, t->token, false) == 1) {
			*p = t->next;
			rte_free(t);
		} else {
			p = &t->next;
		}
	}
}

/* Puts t in the place of the current table, and retires that. */
static void
table_publish(struct gantry_mem_dir *dir, struct gantry_mem_table *t)
{
	struct gantry_mem_table *old = table_current(dir);

	/* Pairs with the acquire in gantry_mem_refresh() and gantry_mem_view_reload(). */
	atomic_store_explicit(&dir->table, t, memory_order_release);
	old->token = rte_rcu_qsbr_start(dir->rcu);
	old->next = dir->retired;
	dir->retired = old;
	table_reclaim(dir);
}

int
gantry_mem_dir_init(struct gantry_mem_dir *dir)
{
	struct gantry_mem_table *t;
	int ret;

	memset(dir->reader_used, 0, sizeof(dir->reader_used));
	dir->retired = NULL;
	dir->rcu = rte_zmalloc("gantry_rcu", rte_rcu_qsbr_get_memsize(GANTRY_MAX_QUEUES),
		RTE_CACHE_LINE_SIZE);
	if (dir->rcu == NULL)
		return -ENOMEM;
	if (rte_rcu_qsbr_init(dir->rcu, GANTRY_MAX_QUEUES) != 0) {
		ret = -rte_errno;
		goto free_rcu;
	}
	t = table_alloc(0);
	if (t == NULL) {
		ret = -ENOMEM;
		goto free_rcu;
	}
	atomic_init(&dir->table, t);
	return 0;

free_rcu:
	rte_free(dir->rcu);
	return ret;
}

void
gantry_mem_dir_fini(struct gantry_mem_dir *dir)
{
	table_reclaim(dir);
	rte_free(table_current(dir));
	rte_free(dir->rcu);
}

bool
gantry_mem_dir_is_empty(const struct gantry_mem_dir *dir)
{
	return atomic_load_explicit(&dir->table, memory_order_relaxed)->n == 0;
}

/* The current table with one region more at its place i. */
static struct gantry_mem_table *
table_with(const struct gantry_mem_table *old, uint32_t i, const struct gantry_region *r)
{
	struct gantry_mem_table *t = table_alloc(old->n + 1);

	if (t == NULL)
		return NULL;
	memcpy(t->region, old->region, i * sizeof(*r));
	t->region[i] = *r;
	memcpy(&t->region[i + 1], &old->region[i], (old->n - i) * sizeof(*r));
	return t;
}

/* The current table without the region at i. */
static struct gantry_mem_table *
table_without(const struct gantry_mem_table *old, uint32_t i)
{
	struct gantry_mem_table *t = table_alloc(old->n - 1);

	if (t == NULL)
		return NULL;
	memcpy(t->region, old->region, i * sizeof(t->region[0]));
	memcpy(&t->region[i], &old->region[i + 1], (t->n - i) * sizeof(t->region[0]));
	return t;
}

/* ------------------------------------------------------------------ public */

/* Local write always: any region may be a copy's destination. */
static unsigned int
mem_access(const struct gantry *g, unsigned int flags)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE;

	/* A loopback write is a remote write to the device, whoever asked for it. */
	if ((flags & GANTRY_MEM_REMOTE_WRITE) != 0 || g->info.copy_path == GANTRY_COPY_RDMA)
		access |= IBV_ACCESS_REMOTE_WRITE;
	if ((flags & GANTRY_MEM_REMOTE_READ) != 0)
		access |= IBV_ACCESS_REMOTE_READ;
	return access;
}

int
gantry_mem_register(struct gantry *g, void *addr, size_t len, unsigned int flags,
	struct gantry_mem **mem)
{
	struct gantry_mem_dir *dir = &g->mem;
	struct gantry_mem_table *old = table_current(dir), *t;
	struct gantry_region r = {.addr = (uintptr_t)addr, .len = len};
	struct gantry_mem *m;
	uint32_t i;
	int ret;

	if (addr == NULL || len == 0 || r.addr + len < r.addr ||
		(flags & ~(GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ)) != 0)
		return -EINVAL;
	i = table_upper_bound(old, r.addr);
	if (i > 0 && r.addr - old->region[i - 1].addr < old->region[i - 1].len)
		return -EEXIST;
	if (i < old->n && old->region[i].addr - r.addr < len)
		return -EEXIST;

	m = rte_zmalloc("gantry_mem", sizeof(*m), 0);
	if (m == NULL)
		return -ENOMEM;
	ret = hwq_mr_register(g->dev, addr, len, mem_access(g, flags), &m->mr);
	if (ret != 0) {
		LOG(ERR, "cannot register %zu bytes at %p: %s%s", len, addr, strerror(-ret),
			ret == -ENOMEM ? ": is RLIMIT_MEMLOCK too low? (ulimit -l)" : "");
		goto free_mem;
	}
	m->g = g;
	m->addr = r.addr;
	r.lkey = m->mr.lkey;
	r.rkey = m->mr.rkey;
	t = table_with(old, i, &r);
	if (t == NULL) {
		ret = -ENOMEM;
		goto deregister;
	}
	table_publish(dir, t);
	*mem = m;
	return 0;

deregister:
	hwq_mr_deregister(&m->mr);
free_mem:
	rte_free(m);
	return ret;
}

int
gantry_mem_unregister(struct gantry_mem *mem)
{
	struct gantry *g = mem->g;
	struct gantry_mem_table *old = table_current(&g->mem), *t;

	if (gantry_is_busy(g))
		return -EBUSY;
	t = table_without(old, table_upper_bound(old, mem->addr) - 1);
	if (t == NULL)
		return -ENOMEM;
	table_publish(&g->mem, t);
	hwq_mr_deregister(&mem->mr);
	rte_free(mem);
	return 0;
}

uint32_t
gantry_mem_remote_key(const struct gantry_mem *mem)
{
	return mem->mr.rkey;
}
