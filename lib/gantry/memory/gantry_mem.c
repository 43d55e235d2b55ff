/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers memory with the device, adds its regions to the table, and ends registrations. */
#include "gantry_trace.h" /* included before all other headers */

#include "gantry_mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_memory.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_patience.h"
#include "gantry_process.h"

#define ALL_FLAGS                                                                                  \
	(GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ | GANTRY_MEM_REMOTE_ATOMIC |             \
		GANTRY_MEM_READ_ONLY | GANTRY_MEM_RELAXED)
/* Rights that peers cannot get for read-only memory. */
#define REMOTE_WRITES (GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_ATOMIC)

/*
 * Returns the access rights of a key. Memory that is not read-only gets local write, because it may
 * be the destination of a copy.
 */
static unsigned int
mem_access(const struct gantry *g, unsigned int flags)
{
	unsigned int access = 0;

	if ((flags & GANTRY_MEM_READ_ONLY) == 0) {
		access |= HWQ_ACCESS_LOCAL_WRITE;
		/*
		 * For the device, the destination of a copy by RDMA over the own connection is
		 * remote memory.
		 */
		if ((flags & GANTRY_MEM_REMOTE_WRITE) != 0 ||
			(g->info.carriers & 1u << GANTRY_CARRIER_RDMA) != 0)
			access |= HWQ_ACCESS_REMOTE_WRITE;
	}
	if ((flags & GANTRY_MEM_RELAXED) != 0)
		access |= HWQ_ACCESS_RELAXED_ORDERING;
	if ((flags & GANTRY_MEM_REMOTE_READ) != 0)
		access |= HWQ_ACCESS_REMOTE_READ;
	if ((flags & GANTRY_MEM_REMOTE_ATOMIC) != 0)
		access |= HWQ_ACCESS_REMOTE_ATOMIC;
	return access;
}

bool
gantry_mem_is_open(const struct gantry_region *r, unsigned int right)
{
	unsigned int access =
		right == GANTRY_MEM_REMOTE_WRITE ? HWQ_ACCESS_REMOTE_WRITE : HWQ_ACCESS_REMOTE_READ;

	return gantry_region_is_device(r) || (mem_access(r->mem->g, r->mem->flags) & access) != 0;
}

static bool
flags_are_possible(unsigned int flags)
{
	if ((flags & ~ALL_FLAGS) != 0)
		return false;
	if ((flags & GANTRY_MEM_READ_ONLY) != 0 && (flags & REMOTE_WRITES) != 0)
		return false;
	/*
	 * An atomic often tells the reader of its target that data have arrived, so the atomic must
	 * not overtake the data.
	 */
	return (flags & GANTRY_MEM_RELAXED) == 0 || (flags & GANTRY_MEM_REMOTE_ATOMIC) == 0;
}

/* ------------------------------------------------------------------ pieces */

int
gantry_piece_make(struct gantry_mem *mem, uint64_t addr, uint64_t len, struct gantry_piece **out)
{
	struct gantry_piece *p = gantry_alloc_libc_lines(sizeof(*p));
	int ret;

	if (p == NULL)
		return -ENOMEM;
	ret = hwq_mr_register(mem->g->dev, (void *)addr, len, mem_access(mem->g, mem->flags),
		&p->mr);
	if (ret != 0) {
		gantry_free_libc(p);
		return ret;
	}
	p->region = (struct gantry_region){
		.addr = addr,
		.len = len,
		.lkey = p->mr.lkey,
		.rkey = p->mr.rkey,
		.read_only = (mem->flags & GANTRY_MEM_READ_ONLY) != 0,
		.mem = mem,
	};
	gantry_region_set_plain(&p->region);
	*out = p;
	return 0;
}

/* Ends the key of a piece. */
static int
piece_end(struct gantry_piece *p)
{
	return p->region.imported != 0 ? hwq_alias_fini(&p->alias) : hwq_mr_deregister(&p->mr);
}

void
gantry_piece_drop(struct gantry_piece *p)
{
	if (p == NULL)
		return;
	if (piece_end(p) == 0) {
		gantry_free_libc(p);
		return;
	}
	/*
	 * The device refused, so pieces_end() tries again. Version 1 is the first version, which
	 * every reader has passed, so pieces_end() waits for no reader.
	 */
	p->removed = 1;
	TAILQ_INSERT_TAIL(&p->region.mem->pieces, p, next);
}

int
gantry_piece_replace(struct gantry_mem *mem, const struct gantry_piece_change *c)
{
	struct gantry_region_dir *dir = &mem->g->regions;
	struct gantry_region_change change = {{NULL}};
	uint64_t version;
	uint32_t i;

	for (i = 0; i < RTE_DIM(c->gone); i++) {
		if (c->gone[i] != NULL)
			change.gone[i] = &c->gone[i]->region;
		if (c->come[i] != NULL)
			change.come[i] = &c->come[i]->region;
	}
	version = gantry_region_replace(dir, &change);
	if (version == 0)
		return -ENOMEM;
	for (i = 0; i < RTE_DIM(c->gone); i++) {
		if (c->gone[i] != NULL) {
			c->gone[i]->removed = version;
			mem->g->n_regions--;
			mem->g->mem_len -= c->gone[i]->region.len;
		}
		if (c->come[i] != NULL) {
			TAILQ_INSERT_TAIL(&mem->pieces, c->come[i], next);
			mem->g->n_regions++;
			mem->g->mem_len += c->come[i]->region.len;
		}
	}
	return 0;
}

int
gantry_piece_add(struct gantry_mem *mem, struct gantry_piece *p)
{
	int ret = gantry_piece_replace(mem, &(struct gantry_piece_change){.come = {p}});

	if (ret != 0)
		gantry_piece_drop(p);
	return ret;
}

/* Registers [addr, addr + len) as a further piece of mem. The caller has the lock. */
static int
piece_add(struct gantry_mem *mem, uint64_t addr, uint64_t len)
{
	struct gantry_piece *p;
	int ret;

	const struct gantry_region *r = gantry_region_overlap(&mem->g->regions, addr, len);

	if (r != NULL) {
		LOG(ERR,
			"[0x%" PRIx64 ", 0x%" PRIx64 ") overlaps the registered region [0x%" PRIx64
			", 0x%" PRIx64 "): one registration serves all queues",
			addr, addr + len, r->addr, r->addr + r->len);
		return -EEXIST;
	}
	ret = gantry_piece_make(mem, addr, len, &p);
	return ret == 0 ? gantry_piece_add(mem, p) : ret;
}

/* Removes the region of a piece from the table. The caller has the lock. Returns 0 or -ENOMEM. */
static int
piece_forget(struct gantry_mem *mem, struct gantry_piece *p)
{
	if (p->removed != 0)
		return 0;
	if (p->region.on_demand == 0)
		return gantry_piece_replace(mem, &(struct gantry_piece_change){.gone = {p}});
	p->removed = gantry_region_set_any(&mem->g->regions, NULL);
	return 0;
}

/*
 * Removes all regions of mem from the table. The caller has the lock. Returns 0, or -ENOMEM if some
 * regions could not be removed.
 */
static int
pieces_forget(struct gantry_mem *mem)
{
	struct gantry_piece *p;
	int ret = 0;

	TAILQ_FOREACH(p, &mem->pieces, next) {
		ret = piece_forget(mem, p);
		if (ret != 0)
			break;
	}
	return ret;
}

/* Ends the pieces that were removed at version `passed` or before. The caller has the lock. */
static int
pieces_end(struct gantry_mem *mem, uint64_t passed)
{
	struct gantry_piece *p, *next;
	bool wait = false;
	int ret;

	for (p = TAILQ_FIRST(&mem->pieces); p != NULL; p = next) {
		next = TAILQ_NEXT(p, next);
		if (p->removed == 0)
			continue;
		if (p->removed > passed) {
			wait = true;
			continue;
		}
		ret = piece_end(p);
		if (ret != 0)
			return ret;
		TAILQ_REMOVE(&mem->pieces, p, next);
		gantry_free_libc(p);
	}
	return wait ? -ETIMEDOUT : 0;
}

/* ------------------------------------------------------------------ waiting for queues */

int
gantry_mem_settle(struct gantry_mem *mem, uint32_t timeout_ms)
{
	struct gantry_patience patience = gantry_patience_begin(timeout_ms);
	struct gantry_region_dir *dir = &mem->g->regions;
	uint64_t version = gantry_region_barrier(dir);
	int ret;

	do {
		/*
		 * The lock is not held during the pause, because an owner may have to change EAL's
		 * memory before it polls.
		 */
		pthread_mutex_lock(&dir->lock);
		ret = pieces_end(mem, gantry_region_passed(dir, version));
		pthread_mutex_unlock(&dir->lock);
	} while (ret == -ETIMEDOUT && gantry_patience_pause(&patience));
	return ret;
}

/* ------------------------------------------------------------------ the calls */

int
gantry_mem_open(struct gantry *g, unsigned int flags, struct gantry_mem **mem)
{
	struct gantry_mem *m;
	int ret;

	if (!flags_are_possible(flags)) {
		LOG(ERR,
			"memory cannot be registered with flags 0x%x: use GANTRY_MEM_* of gantry_memory.h; "
			"READ_ONLY excludes REMOTE_WRITE, and REMOTE_ATOMIC excludes READ_ONLY and "
			"RELAXED",
			flags);
		return -EINVAL;
	}
	ret = gantry_process_check(g->pid);
	if (ret != 0)
		return ret;
	m = gantry_alloc_libc(sizeof(*m));
	if (m == NULL)
		return -ENOMEM;
	m->g = g;
	m->flags = flags;
	TAILQ_INIT(&m->pieces);
	SLIST_INIT(&m->given);
	pthread_mutex_lock(&g->regions.lock);
	g->n_mems++;
	pthread_mutex_unlock(&g->regions.lock);
	*mem = m;
	return 0;
}

void
gantry_mem_list(struct gantry_mem *mem, struct gantry_mem_list *list)
{
	if (mem->list != NULL)
		STAILQ_REMOVE(mem->list, mem, gantry_mem, next);
	mem->list = list;
	if (list != NULL)
		STAILQ_INSERT_TAIL(list, mem, next);
}

/* Frees a registration whose pieces have all been removed. The caller has the lock. */
static void
mem_free(struct gantry_mem *mem)
{
	mem->g->n_mems--;
	gantry_mem_list(mem, NULL);
	if (mem->reserved != NULL)
		munmap(mem->reserved, mem->reserved_len);
	gantry_free_libc(mem);
}

int
gantry_mem_add_by(struct gantry_mem *mem, uint64_t addr, uint64_t len,
	int (*add)(struct gantry_mem *mem, uint64_t addr, uint64_t len))
{
	struct gantry_region_dir *dir = &mem->g->regions;
	uint64_t end = addr + len;
	int ret = 0;

	pthread_mutex_lock(&dir->lock);
	while (ret == 0 && end > addr) {
		const struct gantry_region *r = gantry_region_overlap(dir, addr, end - addr);
		uint64_t from = r == NULL ? addr : r->addr + r->len;
		uint64_t next = r == NULL ? addr : r->addr;

		if (from < end)
			ret = add(mem, from, end - from);
		end = next;
	}
	pthread_mutex_unlock(&dir->lock);
	return ret;
}

int
gantry_mem_add(struct gantry_mem *mem, uint64_t addr, uint64_t len)
{
	return gantry_mem_add_by(mem, addr, len, piece_add);
}

int
gantry_mem_register(struct gantry *g, void *addr, size_t len, unsigned int flags,
	struct gantry_mem **mem)
{
	struct gantry_mem *m;
	int ret;

	if (addr == NULL || len == 0 || (uintptr_t)addr + len < (uintptr_t)addr) {
		LOG(ERR,
			"%zu bytes at %p cannot be registered: give 1 byte or more of mapped memory",
			len, addr);
		return -EINVAL;
	}
	ret = gantry_mem_open(g, flags, &m);
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&g->regions.lock);
	ret = piece_add(m, (uintptr_t)addr, len);
	pthread_mutex_unlock(&g->regions.lock);
	gantry_trace_mem_register(g->id, addr, len, flags, ret);
	if (ret == 0)
		*mem = m;
	else
		gantry_mem_give_up(m);
	return ret;
}

int
gantry_mem_unregister(struct gantry_mem *mem, uint32_t timeout_ms)
{
	struct gantry *g = mem->g;
	int ret = gantry_process_check(g->pid);

	if (ret != 0)
		return ret;
	if (g->eal == mem) {
		/*
		 * When this call returns, no event is being handled any more. The call fails if
		 * EAL's memory never changes, which does no harm.
		 */
		(void)rte_mem_event_callback_unregister(GANTRY_MEM_EVENTS, mem);
		g->eal = NULL;
	}
	pthread_mutex_lock(&g->regions.lock);
	mem->ending = true;
	/* The right of other functions ends before the memory under it. */
	ret = gantry_given_end(&mem->given);
	if (ret == 0)
		ret = pieces_forget(mem);
	pthread_mutex_unlock(&g->regions.lock);
	if (ret != 0)
		return ret;
	ret = gantry_mem_settle(mem, timeout_ms);
	if (ret == 0)
		ret = hwq_dm_free(&mem->dm);
	gantry_trace_mem_unregister(g->id, ret);
	if (ret != 0)
		return ret;
	pthread_mutex_lock(&g->regions.lock);
	mem_free(mem);
	pthread_mutex_unlock(&g->regions.lock);
	return 0;
}

void
gantry_mem_give_up(struct gantry_mem *mem)
{
	if (gantry_mem_unregister(mem, 0) != 0)
		gantry_mem_list(mem, &mem->g->given_up);
}

uint32_t
gantry_mem_remote_key(const struct gantry_mem *mem)
{
	const struct gantry_piece *p = gantry_mem_piece(mem);

	return p == NULL ? 0 : p->region.rkey;
}

uint64_t
gantry_mem_remote_addr(const struct gantry_mem *mem, const void *addr)
{
	const struct gantry_piece *p = gantry_mem_piece(mem);

	return (uintptr_t)addr - (p == NULL ? 0 : p->region.bias);
}
