/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sets up a feed (a worker, its buffers and its peer), and counts its chunks.
 */
#include "feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "lcore_queue.h"
#include "quote.h"
#include "report.h"

#define CACHE_LINE 64
/* value of the byte after each destination; no copy may change this byte */
#define GUARD     0x5a
#define HUGE_PAGE (2 << 20) /* buffers shorter than a huge page use normal pages */
#define PAGE      4096

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
		gantry_mem_unregister(b->mem, 1000);
	if (b->base != NULL)
		munmap(b->base, b->len);
	*b = (struct buffers){0};
}

/* ------------------------------------------------------------------ set up */

static int
create_worker(struct feed *feed, struct gantry *g, const struct options *o)
{
	const struct gantry_worker_conf conf = {
		.queue.depth = RTE_MAX(2u, rte_align32pow2(o->depth)),
		.ring_size = o->ring_size,
		.burst = o->burst,
		.idle = o->idle,
	};
	int rc = gantry_worker_create(g, feed->lcore_id, &conf, &feed->worker);

	if (rc == 0)
		return 0;
	if (!lcore_cannot_wait(rc))
		error_print("cannot give lcore %u a worker: %s", feed->lcore_id, strerror(-rc));
	return -1;
}

int
feed_create(struct feed *feed, struct gantry *g, unsigned int lcore_id, const struct options *o)
{
	*feed = (struct feed){
		.lcore_id = lcore_id,
		.mode = o->mode,
		.depth = o->depth,
		.burst = o->burst,
		.slot_len = RTE_ALIGN_CEIL((size_t)o->chunk_len + 1, (size_t)CACHE_LINE),
		.chunk = calloc(o->depth, sizeof(*feed->chunk)),
		.desc = aligned_alloc(CACHE_LINE, o->depth * sizeof(*feed->desc)),
		.ready = calloc(o->depth, sizeof(*feed->ready)),
	};
	if (feed->chunk == NULL || feed->desc == NULL || feed->ready == NULL) {
		error_print("no memory for %u chunks: lower --depth", o->depth);
		return -1;
	}
	if (buffers_create(&feed->src, g, feed->depth * feed->slot_len,
		    o->mode == MODE_READ ? GANTRY_MEM_REMOTE_READ : 0) != 0)
		return -1;
	if (buffers_create(&feed->dst, g, feed->depth * feed->slot_len,
		    o->mode == MODE_WRITE ? GANTRY_MEM_REMOTE_WRITE : 0) != 0)
		return -1;
	return create_worker(feed, g, o);
}

int
feed_connect(struct feed *feed, const struct feed *target)
{
	struct gantry_queue *near = gantry_worker_queue(feed->worker);
	struct gantry_queue *far = gantry_worker_queue(target->worker);
	struct gantry_addr near_addr, far_addr;
	uint16_t far_peer;
	int rc;

	feed->target = target;
	rc = gantry_peer_open(near, NULL, &feed->peer, &near_addr);
	if (rc == 0)
		rc = gantry_peer_open(far, NULL, &far_peer, &far_addr);
	if (rc == 0)
		rc = gantry_peer_connect(near, feed->peer, &far_addr);
	if (rc == 0)
		rc = gantry_peer_connect(far, far_peer, &near_addr);
	if (rc == 0)
		return 0;
	error_print("cannot connect lcore %u to lcore %u: %s", feed->lcore_id, target->lcore_id,
		strerror(-rc));
	return -1;
}

/* Empties the worker's rings. This is required before the worker is destroyed. */
static void
take_back(struct feed *feed)
{
	struct gantry_comp comp[32];
	struct gantry_desc desc[32];
	unsigned int n;

	while ((n = gantry_dequeue_burst(feed->worker, comp, RTE_DIM(comp))) > 0)
		feed->done += n;
	while ((n = gantry_reclaim_burst(feed->worker, desc, RTE_DIM(desc))) > 0)
		feed->sent -= n;
}

int
feed_destroy(struct feed *feed)
{
	int rc = 0;

	if (feed->worker != NULL) {
		take_back(feed);
		if (feed->done != feed->sent) {
			error_print("lcore %u: %" PRIu64 " descriptors went out, %" PRIu64
				    " came back",
				feed->lcore_id, feed->sent, feed->done);
			rc = -1;
		}
		gantry_worker_destroy(feed->worker);
	}
	buffers_destroy(&feed->dst);
	buffers_destroy(&feed->src);
	free(feed->ready);
	free(feed->desc);
	free(feed->chunk);
	*feed = (struct feed){0};
	return rc;
}

/* ------------------------------------------------------------------ chunks */

static uint32_t
slot_of(const struct feed *feed, uint64_t number)
{
	return number % feed->depth;
}

static uint8_t *
source_of(const struct feed *feed, uint64_t number)
{
	const struct feed *owner = feed->mode == MODE_READ ? feed->target : feed;

	return owner->src.base + slot_of(feed, number) * feed->slot_len;
}

static uint8_t *
destination_of(const struct feed *feed, uint64_t number)
{
	const struct feed *owner = feed->mode == MODE_WRITE ? feed->target : feed;

	return owner->dst.base + slot_of(feed, number) * feed->slot_len;
}

uint32_t
feed_room(const struct feed *feed)
{
	return feed->depth - (uint32_t)(feed->filled - feed->freed);
}

void
feed_reserve(struct feed *feed, const struct chunk *c)
{
	feed->chunk[slot_of(feed, feed->filled)] = *c;
	feed->filled++;
}

const struct chunk *
feed_chunk(const struct feed *feed, uint64_t number)
{
	return &feed->chunk[slot_of(feed, number)];
}

void *
feed_source(const struct feed *feed, uint64_t number)
{
	return source_of(feed, number);
}

const void *
feed_destination(const struct feed *feed, uint64_t number)
{
	return destination_of(feed, number);
}

/*
 * Makes the destination differ from the source in every page and at both ends. Otherwise the bytes
 * that an earlier, equal chunk left in the slot could hide that this chunk was not copied.
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
feed_prepare(struct feed *feed, uint64_t number)
{
	uint64_t len = feed_chunk(feed, number)->len;
	uint8_t *src = source_of(feed, number);
	uint8_t *dst = destination_of(feed, number);
	struct gantry_desc *d = &feed->desc[slot_of(feed, number)];

	poison(dst, src, len);
	*d = (struct gantry_desc){
		.op = GANTRY_OP_COPY,
		.cookie = number,
		.src = (uintptr_t)src,
		.dst = (uintptr_t)dst,
		.len = len,
	};
	if (feed->mode == MODE_WRITE) {
		d->op = GANTRY_OP_WRITE;
		d->remote_key = gantry_mem_remote_key(feed->target->dst.mem);
		d->peer = feed->peer;
	} else if (feed->mode == MODE_READ) {
		d->op = GANTRY_OP_READ;
		d->remote_key = gantry_mem_remote_key(feed->target->src.mem);
		d->peer = feed->peer;
	}
}

static void
mark_ready(struct feed *feed, uint64_t first, uint32_t n)
{
	for (uint64_t i = first; i < first + n; i++)
		feed->ready[slot_of(feed, i)] = true;
}

/*
 * Returns the number of consecutive ready chunks, starting with `first`. Counts up to `end`, and up
 * to the end of the array of slots.
 */
static uint32_t
count_ready(const struct feed *feed, uint64_t first, uint64_t end)
{
	uint32_t slot = slot_of(feed, first);
	uint32_t n = 0;

	while (first + n < end && slot + n < feed->depth && feed->ready[slot + n])
		n++;
	return n;
}

static void
clear_ready(struct feed *feed, uint64_t first, uint32_t n)
{
	for (uint64_t i = first; i < first + n; i++)
		feed->ready[slot_of(feed, i)] = false;
}

void
feed_send(struct feed *feed)
{
	unsigned int taken;
	uint32_t n;

	while ((n = count_ready(feed, feed->sent, feed->filled)) > 0) {
		n = RTE_MIN(n, feed->burst);
		taken = gantry_enqueue_burst(feed->worker, &feed->desc[slot_of(feed, feed->sent)],
			n);
		clear_ready(feed, feed->sent, taken);
		feed->sent += taken;
		if (taken < n)
			/* the ring is full: feed_send() enqueues the remaining descriptors later */
			return;
	}
}

void
feed_read(struct feed *feed, uint64_t first, uint32_t n)
{
	mark_ready(feed, first, n);
	feed_send(feed);
}

void
feed_written(struct feed *feed, uint64_t first, uint32_t n)
{
	mark_ready(feed, first, n);
	while ((n = count_ready(feed, feed->freed, feed->taken)) > 0) {
		clear_ready(feed, feed->freed, n);
		feed->freed += n;
	}
}

uint32_t
feed_take_moved(struct feed *feed, uint32_t max, uint64_t *first)
{
	uint32_t n = RTE_MIN((uint64_t)max, feed->done - feed->taken);

	*first = feed->taken;
	feed->taken += n;
	return n;
}

static int
check_completion(const struct feed *feed, const struct gantry_comp *comp, uint64_t number,
	const struct chunk *c)
{
	if (comp->cookie != number) {
		error_print("lcore %u: the completion of chunk %" PRIu64 " came where %" PRIu64
			    "'s was due",
			feed->lcore_id, comp->cookie, number);
		return -1;
	}
	if (comp->status != GANTRY_OK) {
		error_print("%s, %" PRIu64 " bytes from %" PRIu64
			    " on: lcore %u reports: %s (syndrome 0x%02x, vendor syndrome 0x%02x)",
			quote_name(c->file->input), c->len, c->offset, feed->lcore_id,
			gantry_status_name(comp->status), comp->syndrome, comp->vendor_syndrome);
		return -1;
	}
	return 0;
}

/* Checks the next completion. */
static int
accept_one(struct feed *feed, const struct gantry_comp *comp)
{
	uint64_t number =
		feed->done++; /* also counts a failed chunk, which is no longer in flight */
	const struct chunk *c = feed_chunk(feed, number);

	if (check_completion(feed, comp, number, c) != 0)
		return -1;
	if (destination_of(feed, number)[c->len] == GUARD)
		return 0;
	error_print("%s, %" PRIu64 " bytes from %" PRIu64
		    " on: lcore %u's queue wrote past the end of its destination",
		quote_name(c->file->input), c->len, c->offset, feed->lcore_id);
	return -1;
}

int
feed_collect(struct feed *feed, uint64_t *bytes)
{
	struct gantry_comp comp[32];
	unsigned int n = gantry_dequeue_burst(feed->worker, comp, RTE_DIM(comp));

	for (unsigned int i = 0; i < n; i++) {
		if (accept_one(feed, &comp[i]) != 0) {
			/*
			 * the remaining completions of this array are counted, but not checked
			 */
			feed->done += n - i - 1;
			return -1;
		}
		*bytes += feed_chunk(feed, feed->done - 1)->len;
	}
	return n;
}
