/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of registered regions: its readers, its search, and how a new one replaces it. */
#include "gantry_region.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>

#include "gantry_alloc.h"

/* A reader's last hits before its first look-up: covers nothing. */
static const struct gantry_region no_region;

/* ------------------------------------------------------------------ the readers */

int
gantry_region_view_init(struct gantry_region_view *v, struct gantry_region_dir *dir)
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
	*v = (struct gantry_region_view){
		.src = &no_region,
		.dst = &no_region,
		.dir = dir,
		.reader = i,
	};
	return 0;
}

void
gantry_region_view_fini(struct gantry_region_view *v)
{
	gantry_region_view_offline(v);
	rte_rcu_qsbr_thread_unregister(v->dir->rcu, v->reader);
	v->dir->reader_used[v->reader / 64] &= ~RTE_BIT64(v->reader % 64);
}

void
gantry_region_view_offline(struct gantry_region_view *v)
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
gantry_region_view_reload(struct gantry_region_view *v)
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

/* How many regions begin at addr or below it. The last of them is the one that may cover addr. */
static uint32_t
table_upper_bound(const struct gantry_region_table *t, uint64_t addr)
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
gantry_region_find(const struct gantry_region_table *t, uint64_t addr, uint64_t len)
{
	uint32_t i = table_upper_bound(t, addr);

	if (i == 0 || !gantry_region_hit(&t->region[i - 1], addr, len))
		return NULL;
	return &t->region[i - 1];
}

/* ------------------------------------------------------------------ the table */

static struct gantry_region_table *
table_alloc(uint32_t n)
{
	struct gantry_region_table *t;

	t = gantry_alloc("gantry_regions", sizeof(*t) + n * sizeof(t->region[0]),
		GANTRY_ALLOC_ANY_SOCKET);
	if (t != NULL)
		t->n = n;
	return t;
}

static struct gantry_region_table *
table_current(const struct gantry_region_dir *dir)
{
	/* Relaxed: the control thread is the only writer. */
	return atomic_load_explicit(&dir->table, memory_order_relaxed);
}

/* Frees the retired tables that no reader holds any more. */
static void
table_reclaim(struct gantry_region_dir *dir)
{
	struct gantry_region_table **p = &dir->retired;

	while (*p != NULL) {
		struct gantry_region_table *t = *p;

		if (rte_rcu_qsbr_check(dir->rcu, t->token, false) == 1) {
			*p = t->next;
			gantry_free(t);
		} else {
			p = &t->next;
		}
	}
}

/* Makes t the current table, and retires the one before. */
static void
table_publish(struct gantry_region_dir *dir, struct gantry_region_table *t)
{
	struct gantry_region_table *old = table_current(dir);

	/* Pairs with the acquire in gantry_region_refresh() and gantry_region_view_reload(). */
	atomic_store_explicit(&dir->table, t, memory_order_release);
	old->token = rte_rcu_qsbr_start(dir->rcu);
	old->next = dir->retired;
	dir->retired = old;
	table_reclaim(dir);
}

int
gantry_region_dir_init(struct gantry_region_dir *dir)
{
	struct gantry_region_table *t;
	int ret;

	memset(dir->reader_used, 0, sizeof(dir->reader_used));
	dir->retired = NULL;
	dir->rcu = gantry_alloc("gantry_rcu", rte_rcu_qsbr_get_memsize(GANTRY_MAX_QUEUES),
		GANTRY_ALLOC_ANY_SOCKET);
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
	gantry_free(dir->rcu);
	return ret;
}

void
gantry_region_dir_fini(struct gantry_region_dir *dir)
{
	table_reclaim(dir);
	gantry_free(table_current(dir));
	gantry_free(dir->rcu);
}

bool
gantry_region_dir_is_empty(const struct gantry_region_dir *dir)
{
	return table_current(dir)->n == 0;
}

bool
gantry_region_overlaps(const struct gantry_region_dir *dir, uint64_t addr, uint64_t len)
{
	const struct gantry_region_table *t = table_current(dir);
	uint32_t i = table_upper_bound(t, addr);

	if (i > 0 && addr - t->region[i - 1].addr < t->region[i - 1].len)
		return true;
	return i < t->n && t->region[i].addr - addr < len;
}

int
gantry_region_add(struct gantry_region_dir *dir, const struct gantry_region *r)
{
	const struct gantry_region_table *old = table_current(dir);
	struct gantry_region_table *t = table_alloc(old->n + 1);
	uint32_t i = table_upper_bound(old, r->addr);

	if (t == NULL)
		return -ENOMEM;
	memcpy(t->region, old->region, i * sizeof(*r));
	t->region[i] = *r;
	memcpy(&t->region[i + 1], &old->region[i], (old->n - i) * sizeof(*r));
	table_publish(dir, t);
	return 0;
}

int
gantry_region_remove(struct gantry_region_dir *dir, uint64_t addr)
{
	const struct gantry_region_table *old = table_current(dir);
	struct gantry_region_table *t = table_alloc(old->n - 1);
	uint32_t i = table_upper_bound(old, addr) - 1;

	if (t == NULL)
		return -ENOMEM;
	memcpy(t->region, old->region, i * sizeof(t->region[0]));
	memcpy(&t->region[i], &old->region[i + 1], (t->n - i) * sizeof(t->region[0]));
	table_publish(dir, t);
	return 0;
}
