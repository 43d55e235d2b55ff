/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sets up one worker with its buffers and its peer, and keeps count of its chunks.
 */
#include "lane.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>

#include "report.h"

#define CACHE_LINE 64
#define GUARD      0x5a      /* follows a destination; nobody may write it */
#define HUGE_PAGE  (2 << 20) /* align to it, so that the kernel can use such pages */
#define PAGE       4096

/* ------------------------------------------------------------------ buffers */

static int
buffers_create(struct buffers *b, struct gantry *g, size_t len, unsigned int flags)
{
	void *base;
	int rc;

	len = RTE_ALIGN_CEIL(len, (size_t)PAGE);
	base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED) {
		error_print("no memory for %zu bytes of buffers: lower --depth or --chunk", len);
		return -1;
	}
	if (len >= HUGE_PAGE)
		madvise(base, len, MADV_HUGEPAGE);
	b->base = base;
	b->len = len;
	rc = gantry_mem_register(g, base, len, flags, &b->mem);
	if (rc == 0)
		return 0;
	error_print("cannot register %zu bytes of buffers: %s; lower --depth or --chunk, or raise "
		    "ulimit -l",
		len, strerror(-rc));
	return -1;
}

static void
buffers_destroy(struct buffers *b)
{
	if (b->mem != NULL)
		gantry_mem_unregister(b->mem);
	if (b->base != NULL)
		munmap(b->base, b->len);
	*b = (struct buffers){0};
}

/* ------------------------------------------------------------------ set up */

static int
create_worker(struct lane *l, struct gantry *g, const struct options *o)
{
	const struct gantry_worker_conf conf = {
		.queue.depth = RTE_MAX(2u, rte_align32pow2(o->depth)),
		.ring_size = o->ring_size,
		.burst = o->burst,
	};
	int rc = gantry_worker_create(g, l->lcore_id, &conf, &l->worker);

	if (rc == 0)
		return 0;
	error_print("cannot give lcore %u a worker: %s", l->lcore_id, strerror(-rc));
	return -1;
}

int
lane_create(struct lane *l, struct gantry *g, unsigned int lcore_id, const struct options *o)
{
	*l = (struct lane){
		.lcore_id = lcore_id,
		.mode = o->mode,
		.depth = o->depth,
		.slot_len = RTE_ALIGN_CEIL((size_t)o->chunk_len + 1, (size_t)CACHE_LINE),
		.chunk = calloc(o->depth, sizeof(*l->chunk)),
		.desc = aligned_alloc(CACHE_LINE, o->depth * sizeof(*l->desc)),
	};
	if (l->chunk == NULL || l->desc == NULL) {
		error_print("no memory for %u chunks: lower --depth", o->depth);
		return -1;
	}
	if (buffers_create(&l->src, g, l->depth * l->slot_len,
		    o->mode == MODE_READ ? GANTRY_MEM_REMOTE_READ : 0) != 0)
		return -1;
	if (buffers_create(&l->dst, g, l->depth * l->slot_len,
		    o->mode == MODE_WRITE ? GANTRY_MEM_REMOTE_WRITE : 0) != 0)
		return -1;
	return create_worker(l, g, o);
}

int
lane_connect(struct lane *l, const struct lane *target)
{
	struct gantry_queue *near = gantry_worker_queue(l->worker);
	struct gantry_queue *far = gantry_worker_queue(target->worker);
	struct gantry_addr near_addr, far_addr;
	uint16_t far_peer;
	int rc;

	l->target = target;
	rc = gantry_peer_open(near, &l->peer, &near_addr);
	if (rc == 0)
		rc = gantry_peer_open(far, &far_peer, &far_addr);
	if (rc == 0)
		rc = gantry_peer_connect(near, l->peer, &far_addr);
	if (rc == 0)
		rc = gantry_peer_connect(far, far_peer, &near_addr);
	if (rc == 0)
		return 0;
	error_print("cannot connect lcore %u to lcore %u: %s", l->lcore_id, target->lcore_id,
		strerror(-rc));
	return -1;
}

/* Takes out everything the worker still has, so that it can be freed. */
static void
take_back(struct lane *l)
{
	struct gantry_comp comp[32];
	struct gantry_desc desc[32];
	unsigned int n;

	while ((n = gantry_dequeue_burst(l->worker, comp, RTE_DIM(comp))) > 0)
		l->done += n;
	while ((n = gantry_reclaim_burst(l->worker, desc, RTE_DIM(desc))) > 0)
		l->sent -= n;
}

int
lane_destroy(struct lane *l)
{
	int rc = 0;

	if (l->worker != NULL) {
		take_back(l);
		if (l->done != l->sent) {
			error_print("lcore %u: %" PRIu64 " descriptors went out, %" PRIu64
				    " came back",
				l->lcore_id, l->sent, l->done);
			rc = -1;
		}
		gantry_worker_destroy(l->worker);
	}
	buffers_destroy(&l->dst);
	buffers_destroy(&l->src);
	free(l->desc);
	free(l->chunk);
	*l = (struct lane){0};
	return rc;
}

/* ------------------------------------------------------------------ chunks */

static uint32_t
slot_of(const struct lane *l, uint64_t number)
{
	return number % l->depth;
}

static uint8_t *
source_of(const struct lane *l, uint64_t number)
{
	const struct lane *owner = l->mode == MODE_READ ? l->target : l;

	return owner->src.base + slot_of(l, number) * l->slot_len;
}

static uint8_t *
destination_of(const struct lane *l, uint64_t number)
{
	const struct lane *owner = l->mode == MODE_WRITE ? l->target : l;

	return owner->dst.base + slot_of(l, number) * l->slot_len;
}

uint32_t
lane_room(const struct lane *l)
{
	return l->depth - (uint32_t)(l->filled - l->done);
}

uint32_t
lane_in_flight(const struct lane *l)
{
	return l->filled - l->done;
}

void *
lane_next_source(const struct lane *l)
{
	return source_of(l, l->filled);
}

/*
 * Makes the destination differ from the source in every page and at both ends, so that bytes left
 * over from before never pass for a copy that was not done.
 */
static void
poison(uint8_t *dst, const uint8_t *src, uint64_t len)
{
	for (uint64_t i = 0; i < len; i += PAGE)
		dst[i] = ~src[i];
	dst[len - 1] = ~src[len - 1];
	dst[len] = GUARD;
}

void
lane_fill(struct lane *l, const struct chunk *c)
{
	uint8_t *src = source_of(l, l->filled);
	uint8_t *dst = destination_of(l, l->filled);
	struct gantry_desc *d = &l->desc[slot_of(l, l->filled)];

	poison(dst, src, c->len);
	*d = (struct gantry_desc){
		.op = GANTRY_OP_COPY,
		.cookie = l->filled,
		.src = (uintptr_t)src,
		.dst = (uintptr_t)dst,
		.len = c->len,
	};
	if (l->mode == MODE_WRITE) {
		d->op = GANTRY_OP_WRITE;
		d->remote_key = gantry_mem_remote_key(l->target->dst.mem);
		d->peer = l->peer;
	} else if (l->mode == MODE_READ) {
		d->op = GANTRY_OP_READ;
		d->remote_key = gantry_mem_remote_key(l->target->src.mem);
		d->peer = l->peer;
	}
	l->chunk[slot_of(l, l->filled)] = *c;
	l->filled++;
}

void
lane_send(struct lane *l)
{
	uint32_t first, n;
	unsigned int taken;

	while (l->sent < l->filled) {
		first = slot_of(l, l->sent);
		n = RTE_MIN((uint64_t)(l->depth - first), l->filled - l->sent);
		taken = gantry_enqueue_burst(l->worker, &l->desc[first], n);
		l->sent += taken;
		if (taken < n)
			return; /* the ring is full: the rest goes next time */
	}
}

static int
check_completion(const struct lane *l, const struct gantry_comp *comp, uint64_t number,
	const struct chunk *c)
{
	if (comp->cookie != number) {
		error_print("lcore %u: the completion of chunk %" PRIu64 " came where %" PRIu64
			    "'s was due",
			l->lcore_id, comp->cookie, number);
		return -1;
	}
	if (comp->status != GANTRY_OK) {
		error_print("%s, %" PRIu64 " bytes from %" PRIu64
			    " on: lcore %u reports: %s (syndrome 0x%02x, vendor syndrome 0x%02x)",
			c->file->input, c->len, c->offset, l->lcore_id,
			gantry_status_name(comp->status), comp->syndrome, comp->vendor_syndrome);
		return -1;
	}
	return 0;
}

int
lane_accept(struct lane *l, const struct gantry_comp *comp, struct chunk *c, const void **data)
{
	uint64_t number = l->done++; /* it came back, whatever became of it */
	const uint8_t *dst = destination_of(l, number);

	*c = l->chunk[slot_of(l, number)];
	if (check_completion(l, comp, number, c) != 0)
		return -1;
	if (dst[c->len] != GUARD) {
		error_print("%s, %" PRIu64 " bytes from %" PRIu64
			    " on: lcore %u's queue wrote past the end of its destination",
			c->file->input, c->len, c->offset, l->lcore_id);
		return -1;
	}
	*data = dst;
	return 0;
}
