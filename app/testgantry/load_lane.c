/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sets up a lane: its queue, its memory, its connections and its descriptors.
 */
#include "load_lane.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "report.h"

#define CACHE_LINE 64
#define CLOSE_S    15 /* waits so long for what is in flight: longer than the engine's deadline */
#define HUGE_PAGE  (2 << 20)   /* shorter memory cannot use huge pages */
#define LEAST_LEN  (512 << 10) /* of a lane's memory: more than the nearest cache has */
#define MANY       4096        /* places that are enough, however short they are */

/* ------------------------------------------------------------------ queue */

static int
create_queue(struct load_lane *l)
{
	const struct options *o = l->shared->opt;
	const uint64_t *value = l->shared->point.value;
	const struct gantry_worker_conf conf = {
		.queue = {.depth = RTE_MAX(2u, rte_align32pow2(value[AXIS_DEPTH])),
			.max_peers = 2 * value[AXIS_PEERS]},
		.ring_size = o->ring_size,
		.burst = value[AXIS_BURST],
		.idle = o->idle,
	};
	int rc;

	if (o->load.via == LOAD_VIA_INLINE) {
		rc = gantry_queue_create(l->shared->engine, &conf.queue, &l->queue);
	} else {
		rc = gantry_worker_create(l->shared->engine, l->lcore_id, &conf, &l->worker);
		if (rc == 0)
			l->queue = gantry_worker_queue(l->worker);
	}
	if (rc == 0)
		return 0;
	if (rc == -ENOTSUP)
		error_print("this CPU cannot wait for a write to memory (on x86: WAITPKG): use "
			    "--idle sleep or --idle spin");
	else
		error_print("cannot give lcore %u a queue: %s; the log lines above say more",
			l->lcore_id, strerror(-rc));
	return -1;
}

/* Empties the worker's rings, or the queue: only then can it be freed. A worker has waited already. */
static void
take_back(struct load_lane *l)
{
	const uint64_t end_ns = now_ns() + CLOSE_S * NSEC_PER_S;
	struct gantry_comp comp[32];
	struct gantry_desc desc[32];
	uint32_t n;

	do {
		n = lane_poll(l, comp, RTE_DIM(comp));
		l->got += n;
	} while (n > 0 ||
		 (l->worker == NULL && gantry_in_flight(l->queue) != 0 && now_ns() < end_ns));
	while (l->worker != NULL && (n = gantry_reclaim_burst(l->worker, desc, RTE_DIM(desc))) > 0)
		l->put -= n;
}

static int
destroy_queue(struct load_lane *l)
{
	int rc;

	if (l->queue == NULL)
		return 0;
	take_back(l);
	if (l->got != l->put) {
		error_print("lcore %u: %" PRIu64 " descriptors went out, %" PRIu64 " came back",
			l->lcore_id, l->put, l->got);
		return -1;
	}
	rc = l->worker != NULL ? gantry_worker_destroy(l->worker) : gantry_queue_destroy(l->queue);
	if (rc == 0)
		return 0;
	error_print("cannot close the queue of lcore %u: %s", l->lcore_id, strerror(-rc));
	return -1;
}

/* ------------------------------------------------------------------ memory */

/* What a place has. */
enum slot {
	SLOT_SOURCE,
	SLOT_DESTINATION,
	SLOT_OF_PEER,
	SLOTS,
};

/* Places and regions, and how long they are. */
static void
measure_memory(struct load_lane *l)
{
	const uint64_t *value = l->shared->point.value;
	uint64_t n;

	l->slot_len = RTE_ALIGN_CEIL(value[AXIS_SIZE] + 1, (uint64_t)CACHE_LINE);
	l->place_len = SLOTS * l->slot_len;
	n = RTE_MIN(LEAST_LEN / l->place_len, (size_t)MANY);
	n = RTE_MAX(n, RTE_MAX(value[AXIS_DEPTH], l->shared->opt->load.mix.sum));
	l->n_regions = value[AXIS_REGIONS];
	l->region_places = (n + l->n_regions - 1) / l->n_regions;
	l->n_places = l->n_regions * l->region_places;
	l->len = l->n_places * l->place_len;
}

static int
register_regions(struct load_lane *l)
{
	const size_t len = l->region_places * l->place_len;
	const unsigned int flags =
		l->conn != NULL ? GANTRY_MEM_REMOTE_READ | GANTRY_MEM_REMOTE_WRITE : 0;
	int rc;

	for (uint32_t i = 0; i < l->n_regions; i++) {
		rc = gantry_mem_register(l->shared->engine, l->base + i * len, len, flags,
			&l->mem[i]);
		if (rc == 0)
			continue;
		error_print("cannot register region %" PRIu32 ", which has %zu bytes: %s; lower "
			    "--size, --depth or --regions, or raise ulimit -l",
			i, len, strerror(-rc));
		return -1;
	}
	return 0;
}

static int
create_memory(struct load_lane *l)
{
	void *base;

	measure_memory(l);
	l->mem = calloc(l->n_regions, sizeof(l->mem[0]));
	base = mmap(NULL, l->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base != MAP_FAILED)
		l->base = base;
	if (l->mem == NULL || l->base == NULL) {
		error_print("no memory for %zu bytes: lower --size, --depth or --regions", l->len);
		return -1;
	}
	if (l->len >= HUGE_PAGE)
		madvise(l->base, l->len, MADV_HUGEPAGE);
	return register_regions(l);
}

/* What the device may still write stays until the program ends. */
static void
destroy_memory(struct load_lane *l)
{
	bool unused = true;

	for (uint32_t i = 0; l->mem != NULL && i < l->n_regions; i++)
		if (l->mem[i] != NULL)
			unused &= gantry_mem_unregister(l->mem[i], 1000) == 0;
	if (l->base != NULL && unused)
		munmap(l->base, l->len);
	free(l->mem);
}

/* ------------------------------------------------------------------ open and close */

static bool
has_peers(const struct load_mix *mix)
{
	for (int i = 0; i < LOAD_OPS; i++)
		if (mix->weight[i] != 0 && load_op_has_peer(&load_ops[i]))
			return true;
	return false;
}

int
lane_open(struct load_lane *l, struct load_shared *shared, unsigned int lcore_id)
{
	const struct load_mix *mix = &shared->opt->load.mix;

	*l = (struct load_lane){.shared = shared, .lcore_id = lcore_id};
	l->depth = shared->point.value[AXIS_DEPTH];
	l->burst = RTE_MIN(shared->point.value[AXIS_BURST], (uint64_t)l->depth);
	l->hist = calloc(LOAD_OPS, sizeof(l->hist[0]));
	if (has_peers(mix)) {
		l->n_conns = shared->point.value[AXIS_PEERS];
		l->conn = calloc(l->n_conns, sizeof(l->conn[0]));
	}
	if (l->hist == NULL || (l->n_conns != 0 && l->conn == NULL)) {
		error_print("out of memory");
		return -1;
	}
	if (create_queue(l) != 0)
		return -1;
	return create_memory(l);
}

int
lane_connect(struct load_lane *l, struct load_lane *target)
{
	struct gantry_addr near_addr, far_addr;
	int rc = 0;

	l->target = target;
	for (uint32_t i = 0; rc == 0 && i < l->n_conns; i++) {
		struct load_conn *c = &l->conn[i];

		rc = gantry_peer_open(l->queue, NULL, &c->near, &near_addr);
		if (rc == 0)
			rc = gantry_peer_open(target->queue, NULL, &c->far, &far_addr);
		if (rc == 0)
			rc = gantry_peer_connect(l->queue, c->near, &far_addr);
		if (rc == 0)
			rc = gantry_peer_connect(target->queue, c->far, &near_addr);
	}
	if (rc == 0)
		return 0;
	error_print("cannot connect lcore %u to lcore %u: %s; the log lines above say more",
		l->lcore_id, target->lcore_id, strerror(-rc));
	return -1;
}

int
lane_close(struct load_lane *l)
{
	int rc = destroy_queue(l);

	destroy_memory(l);
	free(l->begin);
	free(l->place);
	free(l->op);
	free(l->desc);
	free(l->conn);
	free(l->hist);
	*l = (struct load_lane){0};
	return rc;
}

/* ------------------------------------------------------------------ where bytes lie */

static uint8_t *
slot_of(const struct load_lane *l, uint32_t place, enum slot slot)
{
	return l->base + place * l->place_len + slot * l->slot_len;
}

uint64_t
lane_len(const struct load_lane *l, uint32_t i)
{
	(void)i;
	return l->shared->point.value[AXIS_SIZE];
}

uint8_t *
lane_from(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len)
{
	const struct load_op *op = &load_ops[l->op[i]];

	*len = lane_len(l, i) - offset;
	return slot_of(op->from == FROM_PEER ? l->target : l, l->place[i], SLOT_SOURCE) + offset;
}

uint8_t *
lane_to(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len)
{
	const struct load_op *op = &load_ops[l->op[i]];

	*len = lane_len(l, i) - offset;
	if (op->to == TO_PEER)
		return slot_of(l->target, l->place[i], SLOT_OF_PEER) + offset;
	return slot_of(l, l->place[i], SLOT_DESTINATION) + offset;
}

/* ------------------------------------------------------------------ descriptors */

/* Lehmer's generator with a modulus of 2^64; the upper half is used. */
static uint32_t
draw(uint64_t *state, uint32_t n)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 32) % n;
}

/* All places in random order, and again until each descriptor has one: there are not less of these. */
static void
deal_places(struct load_lane *l, uint64_t *state)
{
	for (uint32_t i = 0; i < l->n_places; i++) {
		uint32_t k = draw(state, i + 1);

		l->place[i] = l->place[k];
		l->place[k] = i;
	}
	for (uint32_t i = l->n_places; i < l->n_desc; i++)
		l->place[i] = l->place[i - l->n_places];
}

/* As many of each operation as the mix says, in random order, and again. */
static void
deal_ops(struct load_lane *l, const struct load_mix *mix, uint64_t *state)
{
	uint32_t n = 0;

	for (int op = 0; op < LOAD_OPS; op++) {
		for (uint32_t i = 0; i < mix->weight[op]; i++, n++) {
			uint32_t k = draw(state, n + 1);

			l->op[n] = l->op[k];
			l->op[k] = op;
		}
	}
	for (uint32_t i = mix->sum; i < l->n_desc; i++)
		l->op[i] = l->op[i - mix->sum];
}

static void
fill_desc(struct load_lane *l, uint32_t i)
{
	const struct load_op *op = &load_ops[l->op[i]];
	struct gantry_desc *d = &l->desc[i];
	uint64_t len;

	*d = (struct gantry_desc){.op = op->op, .cookie = i, .len = lane_len(l, i)};
	if (load_op_has_peer(op)) {
		d->peer = l->conn[i % l->n_conns].near;
		d->remote_key =
			gantry_mem_remote_key(l->target->mem[l->place[i] / l->region_places]);
	}
	d->src = (uintptr_t)lane_from(l, i, 0, &len);
	d->dst = (uintptr_t)lane_to(l, i, 0, &len);
}

/* Bytes that are never VERIFY_POISON, others in each place of each lane. */
static void
fill_sources(struct load_lane *l, uint64_t *state)
{
	for (uint32_t p = 0; p < l->n_places; p++) {
		uint8_t *slot = slot_of(l, p, SLOT_SOURCE);

		for (size_t i = 0; i < l->slot_len; i++)
			slot[i] = draw(state, LOAD_POISON);
	}
}

int
lane_fill(struct load_lane *l, uint64_t seed)
{
	const struct load_mix *mix = &l->shared->opt->load.mix;

	l->n_desc = (l->n_places + mix->sum - 1) / mix->sum * mix->sum;
	l->desc = aligned_alloc(CACHE_LINE, l->n_desc * sizeof(l->desc[0]));
	l->op = calloc(l->n_desc, sizeof(l->op[0]));
	l->place = calloc(l->n_desc, sizeof(l->place[0]));
	l->begin = calloc(l->n_desc, sizeof(l->begin[0]));
	if (l->desc == NULL || l->op == NULL || l->place == NULL || l->begin == NULL) {
		error_print("out of memory for %" PRIu32 " descriptors: lower --depth or --regions",
			l->n_desc);
		return -1;
	}
	fill_sources(l, &seed);
	deal_places(l, &seed);
	deal_ops(l, mix, &seed);
	for (uint32_t i = 0; i < l->n_desc; i++)
		fill_desc(l, i);
	return 0;
}
