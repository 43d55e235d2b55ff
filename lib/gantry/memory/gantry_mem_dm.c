/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates device memory, and registers it. */
#include <errno.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_mem.h"

/*
 * The memory is always the remote side of an RDMA operation, so it needs remote rights
 * (gantry_work_copy_between()).
 */
#define DM_ACCESS (HWQ_ACCESS_LOCAL_WRITE | HWQ_ACCESS_REMOTE_WRITE | HWQ_ACCESS_REMOTE_READ)

/* Adds the device memory to the table as one piece. The caller has the lock. */
static int
piece_add(struct gantry_mem *mem)
{
	bool atomics = (mem->flags & GANTRY_MEM_REMOTE_ATOMIC) != 0;
	struct gantry_piece *p = gantry_alloc_libc_lines(sizeof(*p));
	int ret;

	if (p == NULL)
		return -ENOMEM;
	ret = hwq_mr_register_dm(&mem->dm, DM_ACCESS | (atomics ? HWQ_ACCESS_REMOTE_ATOMIC : 0),
		&p->mr);
	if (ret != 0) {
		gantry_free_libc(p);
		return ret;
	}
	p->region = (struct gantry_region){
		.addr = (uintptr_t)mem->dm.addr,
		.len = mem->dm.len,
		.lkey = p->mr.lkey,
		.rkey = p->mr.rkey,
		.bias = (uintptr_t)mem->dm.addr,
		.mem = mem,
	};
	gantry_region_set_plain(&p->region);
	return gantry_piece_add(mem, p);
}

int
gantry_mem_alloc_dm(struct gantry *g, size_t len, unsigned int flags, struct gantry_mem **out,
	void **addr)
{
	struct gantry_mem *mem;
	int ret;

	if (len == 0 || (flags & (GANTRY_MEM_READ_ONLY | GANTRY_MEM_RELAXED)) != 0) {
		LOG(ERR,
			"device memory of %zu bytes with flags 0x%x is not possible: give 1 byte or more, "
			"and neither READ_ONLY nor RELAXED",
			len, flags);
		return -EINVAL;
	}
	ret = gantry_mem_open(g, flags, &mem);
	if (ret != 0)
		return ret;
	ret = hwq_dm_alloc(g->dev, len, &mem->dm);
	if (ret == 0) {
		pthread_mutex_lock(&g->regions.lock);
		ret = piece_add(mem);
		pthread_mutex_unlock(&g->regions.lock);
	}
	if (ret != 0) {
		gantry_mem_give_up(mem);
		return ret;
	}
	*addr = mem->dm.addr;
	*out = mem;
	return 0;
}
