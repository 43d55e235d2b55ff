/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers the memory of a mempool, and later the memory by which the mempool has grown. */
#include <errno.h>
#include <stdlib.h>

#include <rte_mempool.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_mem.h"
#include "gantry_log.h"
#include "gantry_process.h"

struct chunk {
	uint64_t addr;
	uint64_t len;
};

struct chunks {
	struct chunk *chunk;
	uint32_t n, room;
};

static void
collect(struct rte_mempool *mp, void *arg, struct rte_mempool_memhdr *hdr, unsigned int i)
{
	struct chunks *c = arg;

	if (c->n < c->room)
		c->chunk[c->n++] = (struct chunk){(uintptr_t)hdr->addr, hdr->len};
}

static int
by_addr(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/*
 * Adds chunks that follow each other without a gap as one piece, so that a mempool of many pages
 * gets few keys.
 */
static int
add_chunks(struct gantry_mem *mem, const struct chunks *c)
{
	struct chunk one;
	uint32_t i, k;
	int ret;

	for (i = 0; i < c->n; i = k) {
		one = c->chunk[i];
		for (k = i + 1; k < c->n && c->chunk[k].addr == one.addr + one.len; k++)
			one.len += c->chunk[k].len;
		ret = gantry_mem_add(mem, one.addr, one.len);
		if (ret != 0)
			return ret;
	}
	return 0;
}

static struct gantry_mem *
find_pool(struct gantry *g, const struct rte_mempool *mp)
{
	struct gantry_mem *mem;

	STAILQ_FOREACH(mem, &g->pools, next)
		if (mem->pool == mp && !mem->ending)
			return mem;
	return NULL;
}

int
gantry_mem_register_mempool(struct gantry *g, struct rte_mempool *mp, unsigned int flags,
	struct gantry_mem **out)
{
	struct gantry_mem *mem;
	struct chunks c = {.n = 0};
	bool is_new;
	int ret;

	if (mp == NULL || mp->nb_mem_chunks == 0) {
		LOG(ERR, "a mempool without memory cannot be registered: populate it first");
		return -EINVAL;
	}
	ret = gantry_process_check(g->pid);
	if (ret != 0)
		return ret;
	mem = find_pool(g, mp);
	is_new = mem == NULL;
	if (!is_new && mem->flags != flags) {
		LOG(ERR,
			"mempool %s is registered with flags 0x%x, and not 0x%x: use the same flags",
			mp->name, mem->flags, flags);
		return -EINVAL;
	}
	c.room = mp->nb_mem_chunks;
	c.chunk = gantry_alloc_libc(c.room * sizeof(*c.chunk));
	if (c.chunk == NULL)
		return -ENOMEM;
	rte_mempool_mem_iter(mp, collect, &c);
	qsort(c.chunk, c.n, sizeof(*c.chunk), by_addr);
	ret = is_new ? gantry_mem_open(g, flags, &mem) : 0;
	if (ret == 0) {
		if (is_new) {
			mem->pool = mp;
			gantry_mem_list(mem, &g->pools);
		}
		ret = add_chunks(mem, &c);
		if (ret == 0)
			*out = mem;
		else if (is_new)
			gantry_mem_give_up(mem);
	}
	gantry_free_libc(c.chunk);
	return ret;
}
