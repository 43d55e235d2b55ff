/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The memory of a lane: its places, its regions, and the addresses of each operation's bytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>

#include "load_lane.h"
#include "pages_map.h"
#include "report.h"
#include "sig_guard.h"

#define CACHE_LINE 64
#define PIECE_GAP  64          /* bytes between two pieces */
#define LEAST_LEN  (512 << 10) /* minimum of a lane's memory: more than the CPU's L2 cache */
#define MANY       4096        /* number of places that is enough, even if places are short */
#define MIXED      8           /* the longest region is MIXED times the shortest */
#define ALL_RIGHTS (GANTRY_MEM_REMOTE_READ | GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_ATOMIC)

static_assert(LOAD_POISON == UINT8_MAX, "fill_sources() draws what is less");

uint32_t
lane_draw(uint64_t *random, uint32_t n)
{
	/* A linear congruential generator of 64 bits. Its upper half is the result. */
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*random >> 32) % n;
}

/* ------------------------------------------------------------------ places */

static uint64_t
value_of(const struct load_lane *l, enum load_axis axis)
{
	return l->shared->point.value[axis];
}

/* Returns the bytes of a block with its signature. */
static uint32_t
block_len(const struct load_lane *l)
{
	const struct options *o = l->shared->opt;

	return o->block_size + sig_len(o->guard);
}

/* Updates len[]: the bytes that the operation uses of each slot. */
static void
measure_op(const struct load_lane *l, const struct load_op *op, size_t *len)
{
	const uint64_t size = value_of(l, AXIS_SIZE);
	const uint64_t span =
		size + (load_op_has_pieces(op) ? (value_of(l, AXIS_SGE) - 1) * PIECE_GAP : 0);

	if (op->from == FROM_BLOCKS)
		len[SLOT_BLOCKS] = size / l->shared->opt->block_size * block_len(l);
	else if (op->from != FROM_NOTHING && op->from != FROM_PATTERN)
		len[SLOT_SOURCE] = RTE_MAX(len[SLOT_SOURCE], span);
	if (op->to == TO_PEER)
		len[SLOT_OF_PEER] = size;
	else if (op->to == TO_COUNTER)
		len[SLOT_COUNTER] = LOAD_OPS * sizeof(uint64_t);
	else if (op->to != TO_RECEIVE)
		len[SLOT_DESTINATION] = RTE_MAX(len[SLOT_DESTINATION], span);
}

/* Computes the slots of a place. Returns the smallest allowed number of places. */
static uint32_t
measure_places(struct load_lane *l)
{
	const struct load_mix *mix = &l->shared->opt->load.mix;
	size_t len[LOAD_SLOTS] = {0};
	uint64_t n;

	for (int i = 0; i < LOAD_OPS; i++)
		if (mix->weight[i] != 0)
			measure_op(l, &load_ops[i], len);
	for (int i = 0; i < LOAD_SLOTS; i++) {
		if (len[i] == 0)
			continue;
		l->slot[i].at = l->place_len;
		l->slot[i].len = RTE_ALIGN_CEIL(len[i] + 1, (size_t)CACHE_LINE);
		l->place_len += l->slot[i].len;
	}
	n = RTE_MIN(LEAST_LEN / l->place_len, (size_t)MANY);
	n = RTE_MAX(n, RTE_MAX(value_of(l, AXIS_DEPTH), value_of(l, AXIS_LAYOUTS)));
	return RTE_MAX(n, mix->sum);
}

/*
 * Divides at least n places among the regions: evenly, or from 1 to MIXED equal parts for each
 * region. Rounds n up so that the parts are equal.
 */
static void
divide_places(struct load_lane *l, uint32_t n, uint64_t *random)
{
	uint32_t parts = 0, each;

	for (uint32_t i = 0; i < l->n_regions; i++) {
		l->region_begin[i] = parts;
		parts += l->shared->opt->load.mixed_regions ? 1 + lane_draw(random, MIXED) : 1;
	}
	l->region_begin[l->n_regions] = parts;
	each = (n + parts - 1) / parts;
	for (uint32_t i = 0; i <= l->n_regions; i++)
		l->region_begin[i] *= each;
	l->n_places = l->region_begin[l->n_regions];
	l->len = l->n_places * l->place_len;
}

uint32_t
lane_region(const struct load_lane *l, uint32_t place)
{
	uint32_t first = 0, end = l->n_regions, middle;

	while (end - first > 1) {
		middle = first + (end - first) / 2;
		if (l->region_begin[middle] <= place)
			first = middle;
		else
			end = middle;
	}
	return first;
}

/* ------------------------------------------------------------------ where bytes lie */

uint8_t *
lane_slot(const struct load_lane *l, uint32_t place, enum load_slot slot)
{
	return l->base + place * l->place_len + l->slot[slot].at;
}

/* The first `longer` pieces have one byte more than the other pieces. */
uint64_t
lane_piece(const struct load_lane *l, uint64_t offset, uint64_t *len)
{
	const uint64_t size = value_of(l, AXIS_SIZE), n = value_of(l, AXIS_SGE);
	const uint64_t least = size / n, longer = size % n;
	const uint64_t piece =
		offset < longer * (least + 1) ? offset / (least + 1) : (offset - longer) / least;
	const uint64_t end = (piece + 1) * least + RTE_MIN(piece + 1, longer);

	*len = end - offset;
	return offset + piece * PIECE_GAP;
}

uint8_t *
lane_from(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len)
{
	const uint32_t block_size = l->shared->opt->block_size;

	*len = value_of(l, AXIS_SIZE) - offset;
	switch (load_ops[l->op[i]].from) {
	case FROM_PEER:
		return lane_slot(l->target, l->place[i], SLOT_SOURCE) + offset;
	case FROM_LIST:
		return lane_slot(l, l->place[i], SLOT_SOURCE) + lane_piece(l, offset, len);
	case FROM_LAYOUT:
		return lane_slot(l, l->base_place[i], SLOT_SOURCE) + lane_piece(l, offset, len);
	case FROM_PATTERN:
		*len = RTE_MIN(*len, sizeof(uint64_t) - offset % sizeof(uint64_t));
		return (uint8_t *)&l->desc[i].arg[0] + offset % sizeof(uint64_t);
	case FROM_BLOCKS:
		*len = block_size - offset % block_size;
		return lane_slot(l, l->place[i], SLOT_BLOCKS) + offset / block_size * block_len(l) +
		       offset % block_size;
	default:
		return lane_slot(l, l->place[i], SLOT_SOURCE) + offset;
	}
}

uint8_t *
lane_to(const struct load_lane *l, uint32_t i, uint64_t offset, uint64_t *len)
{
	*len = value_of(l, AXIS_SIZE) - offset;
	switch (load_ops[l->op[i]].to) {
	case TO_PEER:
		return lane_slot(l->target, l->place[i], SLOT_OF_PEER) + offset;
	case TO_LIST:
		return lane_slot(l, l->place[i], SLOT_DESTINATION) + lane_piece(l, offset, len);
	case TO_LAYOUT:
		return lane_slot(l, l->base_place[i], SLOT_DESTINATION) +
		       lane_piece(l, offset, len);
	default:
		return lane_slot(l, l->place[i], SLOT_DESTINATION) + offset;
	}
}

uint64_t *
lane_counter(const struct load_lane *l, uint32_t i)
{
	return (uint64_t *)lane_slot(l->target, l->place[i], SLOT_COUNTER) + l->op[i];
}

/* ------------------------------------------------------------------ sources */

/* Fills memory with random bytes other than LOAD_POISON. */
static void
fill(uint8_t *p, size_t len, uint64_t *random)
{
	for (size_t i = 0; i < len; i++)
		p[i] = lane_draw(random, LOAD_POISON);
}

/* Fills memory with blocks that have correct signatures. */
static void
fill_blocks(const struct load_lane *l, uint8_t *p, uint64_t *random)
{
	const struct options *o = l->shared->opt;
	const uint32_t n = value_of(l, AXIS_SIZE) / o->block_size;

	for (uint32_t i = 0; i < n; i++) {
		fill(p, o->block_size, random);
		sig_write(o->guard, p, o->block_size, i, p + o->block_size);
		p += block_len(l);
	}
}

static void
fill_sources(struct load_lane *l, uint64_t *random)
{
	fill((uint8_t *)l->pattern, l->shared->opt->load.patterns * sizeof(l->pattern[0]), random);
	for (uint32_t i = 0; i < l->n_places; i++) {
		fill(lane_slot(l, i, SLOT_SOURCE), l->slot[SLOT_SOURCE].len, random);
		if (l->slot[SLOT_BLOCKS].len != 0)
			fill_blocks(l, lane_slot(l, i, SLOT_BLOCKS), random);
	}
}

/* ------------------------------------------------------------------ set up */

/* Maps memory. Returns NULL, with the error printed, on failure. */
static uint8_t *
map(size_t len)
{
	uint8_t *base = pages_map(len);

	if (base == NULL)
		error_print("no memory for %zu bytes: lower --size, --depth, --peers or --regions",
			len);
	return base;
}

static int
register_memory(struct load_lane *l, void *base, size_t len, unsigned int rights,
	struct gantry_mem **mem)
{
	int rc = gantry_mem_register(l->shared->engine, base, len, rights, mem);

	if (rc == 0)
		return 0;
	error_print("cannot register %zu bytes: %s; lower --size, --depth, --peers or --regions, "
		    "or raise ulimit -l",
		len, strerror(-rc));
	return -1;
}

int
memory_create(struct load_lane *l, uint64_t *random)
{
	const unsigned int rights =
		load_mix_has(&l->shared->opt->load.mix, load_op_has_peer) ? ALL_RIGHTS : 0;
	const uint32_t *begin;

	l->n_regions = value_of(l, AXIS_REGIONS);
	l->mem = calloc(l->n_regions, sizeof(l->mem[0]));
	l->region_begin = calloc(l->n_regions + 1, sizeof(l->region_begin[0]));
	l->pattern = calloc(l->shared->opt->load.patterns, sizeof(l->pattern[0]));
	if (l->mem == NULL || l->region_begin == NULL || l->pattern == NULL) {
		error_print("out of memory for %" PRIu32 " regions", l->n_regions);
		return -1;
	}
	divide_places(l, measure_places(l), random);
	l->base = map(l->len);
	if (l->base == NULL)
		return -1;
	fill_sources(l, random);
	begin = l->region_begin;
	for (uint32_t i = 0; i < l->n_regions; i++)
		if (register_memory(l, l->base + begin[i] * l->place_len,
			    (begin[i + 1] - begin[i]) * l->place_len, rights, &l->mem[i]) != 0)
			return -1;
	return 0;
}

int
memory_create_inbox(struct load_lane *l, uint32_t n, size_t len)
{
	struct load_inbox *in = &l->inbox;

	in->slot_len = RTE_ALIGN_CEIL(len + 1, (size_t)CACHE_LINE);
	in->recv = calloc(n, sizeof(in->recv[0]));
	in->peer = calloc(n, sizeof(in->peer[0]));
	if (in->recv == NULL || in->peer == NULL) {
		error_print("out of memory for %" PRIu32 " receives", n);
		return -1;
	}
	in->base = map(n * in->slot_len);
	if (in->base == NULL)
		return -1;
	in->n = n;
	return register_memory(l, in->base, n * in->slot_len, 0, &in->mem);
}

/*
 * If a region cannot be unregistered, the device may still write to it. So its memory stays mapped.
 */
static void
unmap(uint8_t *base, size_t len, struct gantry_mem **mem, uint32_t n)
{
	bool unused = true;

	for (uint32_t i = 0; mem != NULL && i < n; i++)
		if (mem[i] != NULL)
			unused &= gantry_mem_unregister(mem[i], 1000) == 0;
	if (base != NULL && unused)
		munmap(base, len);
}

void
memory_destroy(struct load_lane *l)
{
	struct load_inbox *in = &l->inbox;

	unmap(l->base, l->len, l->mem, l->n_regions);
	unmap(in->base, in->n * in->slot_len, &in->mem, 1);
	free(l->mem);
	free(l->region_begin);
	free(l->pattern);
	free(in->recv);
	free(in->peer);
}
