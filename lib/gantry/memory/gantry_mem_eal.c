/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers all memory of EAL, and follows it as it grows and shrinks.
 *
 * EAL reports a change on the thread that caused the change, with EAL's memory locked. So the code
 * that handles the event allocates no memory of EAL. It waits for no lock that a thread may hold
 * while the thread allocates memory of EAL. It waits for queues for a short time only, because this
 * thread may be their owner.
 *
 * The memory of one descriptor may be on old and on new pages, because EAL's heap joins free blocks
 * across pages. So memory without a gap is one piece: new pages are registered together with the
 * pieces in front of them and behind them. If a piece loses pages, its other pages are registered
 * again.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_memory.h>

#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_mem.h"
#include "gantry_process.h"

/*
 * The milliseconds to wait for queues that use memory which EAL frees. Afterwards, the device keeps
 * the pages that are still in use.
 */
#define LEAVE_MS 1

/* ------------------------------------------------------------------ growth */

/* Returns the piece of mem that has the byte at addr, or NULL. */
static struct gantry_piece *
find_piece(struct gantry_mem *mem, uint64_t addr)
{
	const struct gantry_region *r = gantry_region_overlap(&mem->g->regions, addr, 1);

	return r != NULL && r->mem == mem ? gantry_piece_of(r) : NULL;
}

static uint64_t
end_of(const struct gantry_piece *p)
{
	return p->region.addr + p->region.len;
}

/*
 * Registers [addr, addr + len), which no registration has, together with the pieces that end or
 * begin there.
 */
static int
join(struct gantry_mem *mem, uint64_t addr, uint64_t len)
{
	uint64_t end = addr + len;
	struct gantry_piece *left = find_piece(mem, addr - 1), *right = find_piece(mem, end), *p;
	int ret;

	if (left != NULL)
		addr = left->region.addr;
	if (right != NULL)
		end = end_of(right);
	ret = gantry_piece_make(mem, addr, end - addr, &p);
	if (ret != 0)
		return ret;
	ret = gantry_piece_replace(mem,
		&(struct gantry_piece_change){.gone = {left, right}, .come = {p}});
	if (ret != 0)
		gantry_piece_drop(p);
	return ret;
}

/*
 * Registers the parts of [addr, addr + len) that no registration has. Returns 0 or a negative
 * errno.
 */
static int
grow(struct gantry_mem *mem, uint64_t addr, uint64_t len)
{
	return gantry_mem_add_by(mem, addr, len, join);
}

/* ------------------------------------------------------------------ shrinking */

/*
 * Makes a piece of [addr, end). Returns NULL if the range is empty, or the device refuses the
 * registration.
 */
static struct gantry_piece *
make_rest(struct gantry_mem *mem, uint64_t addr, uint64_t end)
{
	struct gantry_piece *p = NULL;

	if (addr < end && gantry_piece_make(mem, addr, end - addr, &p) != 0)
		LOG(ERR,
			"%s: EAL's memory 0x%" PRIx64 " to 0x%" PRIx64
			" is not registered any more: call gantry_mem_register_eal() again",
			mem->g->info.device, addr, end);
	return p;
}

static void
cut(struct gantry_mem *mem, struct gantry_piece *p, uint64_t addr, uint64_t end)
{
	struct gantry_piece_change c = {
		.gone = {p},
		.come = {make_rest(mem, p->region.addr, addr), make_rest(mem, end, end_of(p))},
	};

	if (gantry_piece_replace(mem, &c) == 0)
		return;
	LOG(ERR, "%s: no memory is free to unregister EAL's memory 0x%" PRIx64 " to 0x%" PRIx64,
		mem->g->info.device, addr, end);
	gantry_piece_drop(c.come[0]);
	gantry_piece_drop(c.come[1]);
}

/* Removes [addr, addr + len) from the pieces of mem. */
static void
shrink(struct gantry_mem *mem, uint64_t addr, uint64_t len)
{
	struct gantry_region_dir *dir = &mem->g->regions;
	const struct gantry_region *r;
	uint64_t end = addr + len;

	pthread_mutex_lock(&dir->lock);
	while (end > addr && (r = gantry_region_overlap(dir, addr, end - addr)) != NULL) {
		end = r->addr;
		if (r->mem == mem)
			cut(mem, gantry_piece_of(r), addr, addr + len);
	}
	pthread_mutex_unlock(&dir->lock);
}

/* ------------------------------------------------------------------ events, and the call */

static void
on_event(enum rte_mem_event type, const void *addr, size_t len, void *arg)
{
	struct gantry_mem *mem = arg;
	int ret;

	/* In a child of fork(2), the memory does not belong to the engine. */
	if (mem->g->pid != getpid())
		return;
	if (type == RTE_MEM_EVENT_FREE) {
		shrink(mem, (uintptr_t)addr, len);
		(void)gantry_mem_settle(mem, LEAVE_MS);
		return;
	}
	ret = grow(mem, (uintptr_t)addr, len);
	if (ret != 0)
		LOG(ERR,
			"%s: EAL's memory has grown by %zu bytes at %p, which are not registered: %s; "
			"mend what the line above says, and call gantry_mem_register_eal() again",
			mem->g->info.device, len, addr, strerror(-ret));
	(void)gantry_mem_settle(mem, 0);
}

static int
add_area(const struct rte_memseg_list *list, const struct rte_memseg *first, size_t len, void *arg)
{
	/*
	 * Areas of rte_extmem_register() have no heap: EAL allocates nothing from these areas, and
	 * reports no changes.
	 */
	return list->heap ? grow(arg, first->addr_64, len) : 0;
}

/*
 * Asks EAL for events. Returns 0 or a negative errno. With --legacy-mem or --no-huge, EAL's memory
 * never changes, so no events are needed.
 */
static int
follow(struct gantry_mem *mem)
{
	if (rte_mem_event_callback_register(GANTRY_MEM_EVENTS, on_event, mem) == 0 ||
		rte_errno == ENOTSUP)
		return 0;
	return -rte_errno;
}

int
gantry_mem_register_eal(struct gantry *g, unsigned int flags, struct gantry_mem **out)
{
	struct gantry_mem *mem = g->eal;
	bool is_new = mem == NULL;
	int ret = gantry_process_check(g->pid);

	if (ret != 0)
		return ret;
	if ((flags & ~GANTRY_MEM_RELAXED) != 0 || (!is_new && mem->flags != flags)) {
		LOG(ERR,
			"EAL's memory cannot be registered with flags 0x%x: use 0 or GANTRY_MEM_RELAXED, "
			"and the same as before if it is registered",
			flags);
		return -EINVAL;
	}
	if (is_new)
		ret = gantry_mem_open(g, flags, &mem);
	if (ret != 0)
		return ret;
	if (is_new) {
		g->eal = mem;
		ret = follow(mem);
	}
	/*
	 * EAL's memory does not change during the walk. Changes before the walk were reported by
	 * events.
	 */
	if (ret == 0)
		ret = rte_memseg_contig_walk(add_area, mem);
	(void)gantry_mem_settle(mem, 0);
	if (ret == 0)
		*out = mem;
	else if (is_new)
		gantry_mem_give_up(mem);
	return ret;
}
