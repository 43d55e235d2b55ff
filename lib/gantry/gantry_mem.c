/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers memory with the device, and makes its region known to the queues. */
#include "gantry_mem.h"

#include <errno.h>
#include <string.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_queue.h"

/* Local write always: any region may be a copy's destination. */
static unsigned int
mem_access(const struct gantry *g, unsigned int flags)
{
	unsigned int access = HWQ_ACCESS_LOCAL_WRITE;

	/* For the device, the destination of a loopback copy is remote memory. */
	if ((flags & GANTRY_MEM_REMOTE_WRITE) != 0 || g->info.copy_path == GANTRY_COPY_RDMA)
		access |= HWQ_ACCESS_REMOTE_WRITE;
	if ((flags & GANTRY_MEM_REMOTE_READ) != 0)
		access |= HWQ_ACCESS_REMOTE_READ;
	if ((flags & GANTRY_MEM_REMOTE_ATOMIC) != 0)
		access |= HWQ_ACCESS_REMOTE_ATOMIC;
	return access;
}

int
gantry_mem_register(struct gantry *g, void *addr, size_t len, unsigned int flags,
	struct gantry_mem **mem)
{
	struct gantry_region r = {.addr = (uintptr_t)addr, .len = len};
	struct gantry_mem *m;
	int ret;

	if (addr == NULL || len == 0 || r.addr + len < r.addr ||
		(flags & ~(GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ |
				 GANTRY_MEM_REMOTE_ATOMIC)) != 0)
		return -EINVAL;
	if (gantry_region_overlaps(&g->regions, r.addr, len))
		return -EEXIST;

	m = gantry_alloc("gantry_mem", sizeof(*m), GANTRY_ALLOC_ANY_SOCKET);
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
	ret = gantry_region_add(&g->regions, &r);
	if (ret != 0)
		goto deregister;
	*mem = m;
	return 0;

deregister:
	hwq_mr_deregister(&m->mr);
free_mem:
	gantry_free(m);
	return ret;
}

/* True: workers run, or a queue owes completions, so that memory must stay registered. */
static bool
is_busy(const struct gantry *g)
{
	const struct gantry_queue *q;

	if (g->running)
		return true;
	TAILQ_FOREACH(q, &g->queues, next)
		if (gantry_in_flight(q) != 0)
			return true;
	return false;
}

int
gantry_mem_unregister(struct gantry_mem *mem)
{
	struct gantry *g = mem->g;
	int ret;

	if (is_busy(g))
		return -EBUSY;
	ret = gantry_region_remove(&g->regions, mem->addr);
	if (ret != 0)
		return ret;
	hwq_mr_deregister(&mem->mr);
	gantry_free(mem);
	return 0;
}

uint32_t
gantry_mem_remote_key(const struct gantry_mem *mem)
{
	return mem->mr.rkey;
}
