/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers all memory of the process at once, on demand. */
#include <errno.h>
#include <stdint.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_mem.h"

/*
 * The memory is always the remote side of an RDMA operation, so it needs remote rights
 * (gantry_work_copy_between()).
 */
#define ANY_ACCESS                                                                                 \
	(HWQ_ACCESS_LOCAL_WRITE | HWQ_ACCESS_REMOTE_WRITE | HWQ_ACCESS_REMOTE_READ |               \
		HWQ_ACCESS_ON_DEMAND)

/* Adds the region of all memory. The caller has the lock. */
static int
piece_add(struct gantry_mem *mem)
{
	struct gantry_region_dir *dir = &mem->g->regions;
	struct gantry_piece *p;
	int ret;

	if (atomic_load_explicit(&dir->any, memory_order_relaxed) != NULL) {
		LOG(ERR, "all memory is registered already: one such registration is possible");
		return -EEXIST;
	}
	p = gantry_alloc_libc_lines(sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	ret = hwq_mr_register(mem->g->dev, NULL, SIZE_MAX, ANY_ACCESS, &p->mr);
	if (ret != 0) {
		gantry_free_libc(p);
		return ret;
	}
	p->region = (struct gantry_region){
		.len = SIZE_MAX,
		.lkey = p->mr.lkey,
		.rkey = p->mr.rkey,
		.on_demand = 1,
		.mem = mem,
	};
	TAILQ_INSERT_TAIL(&mem->pieces, p, next);
	gantry_region_set_any(dir, &p->region);
	return 0;
}

int
gantry_mem_register_any(struct gantry *g, struct gantry_mem **out)
{
	struct gantry_mem *mem;
	int ret;

	if (!g->info.any_memory) {
		LOG(ERR,
			"%s: the device has no memory on demand (ODP): register the memory that copies "
			"use",
			g->info.device);
		return -EOPNOTSUPP;
	}
	ret = gantry_mem_open(g, 0, &mem);
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&g->regions.lock);
	ret = piece_add(mem);
	pthread_mutex_unlock(&g->regions.lock);
	if (ret != 0) {
		gantry_mem_give_up(mem);
		return ret;
	}
	*out = mem;
	return 0;
}
