/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds and writes pattern buffers, and issues plain fills. */
#include "gantry_fill.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gantry_alloc.h"
#include "gantry_conn.h"
#include "gantry_burst.h"
#include "gantry_log_rate.h"
#include "gantry_region.h"
#include "gantry_slot.h"
#include "gantry_stream.h"

#define ALL_LEN     (GANTRY_FILL_BUFFERS * GANTRY_FILL_SHORT)
#define PLACE_SHIFT 58

static_assert(GANTRY_FILL_PLACES == 1 << (64 - PLACE_SHIFT), "each hash has a place");
static_assert(GANTRY_FILL_BUFFERS <= UINT8_MAX, "the number of a buffer fits into a place");

int
gantry_fill_init(struct gantry_fill *fill, struct hwq_dev *dev, int socket)
{
	uint64_t *words;
	uint32_t i;
	int ret;

	if (likely(fill->words != NULL))
		return 0;
	words = gantry_alloc("gantry_fill", ALL_LEN + sizeof(*fill->index), socket);
	ret = words == NULL
		      ? -ENOMEM
		      : hwq_mr_register(dev, words, ALL_LEN, HWQ_ACCESS_LOCAL_WRITE, &fill->mr);
	if (ret != 0) {
		LOG_RATED(gantry_log_rate_others(), ERR,
			"cannot prepare pattern buffers of %" PRIu64 " bytes: %s",
			(uint64_t)ALL_LEN, strerror(-ret));
		gantry_free(words);
		return ret;
	}
	fill->words = words;
	fill->index = (struct gantry_fill_index *)(words + ALL_LEN / sizeof(*words));
	for (i = 0; i < GANTRY_FILL_BUFFERS; i++)
		fill->index->buffer[i].max_len = GANTRY_FILL_SHORT;
	return 0;
}

int
gantry_fill_fini(struct gantry_fill *fill)
{
	int ret;

	if (fill->words == NULL)
		return 0;
	ret = hwq_mr_deregister(&fill->mr);
	if (ret != 0)
		return ret;
	gantry_free(fill->words);
	memset(fill, 0, sizeof(*fill));
	return 0;
}

/* ------------------------------------------------------------------ choice of a buffer */

/*
 * Returns true if no outstanding WQE reads the buffer, and no WQE that reads it may be posted
 * again.
 */
static bool
is_idle(const struct gantry_fill_buffer *b, const struct gantry_conn *own)
{
	return b->used_to <= own->done;
}

/* Returns the element of the index for a pattern. */
static uint8_t *
place_of(struct gantry_fill *fill, uint64_t pattern)
{
	return &fill->index->place[pattern * UINT64_C(0x9e3779b97f4a7c15) >> PLACE_SHIFT];
}

static bool
has(const struct gantry_fill_buffer *b, uint64_t pattern)
{
	return b->pattern == pattern && b->len != 0;
}

/* Returns the buffer that has the pattern, or NULL. */
static struct gantry_fill_buffer *
find(struct gantry_fill *fill, uint64_t pattern)
{
	struct gantry_fill_buffer *b = fill->index->buffer;
	uint8_t *place = place_of(fill, pattern);
	uint32_t i;

	if (likely(has(&b[*place], pattern)))
		return &b[*place];
	for (i = 0; i < GANTRY_FILL_BUFFERS; i++) {
		if (has(&b[i], pattern)) {
			*place = i;
			return &b[i];
		}
	}
	return NULL;
}

/*
 * Removes the patterns of the group of buffers that begins at b, and sets the lengths of these
 * buffers.
 */
static void
set_group(struct gantry_fill_buffer *b, uint32_t first_len, uint32_t other_len)
{
	uint32_t i;

	for (i = 0; i < GANTRY_FILL_GROUP; i++) {
		b[i].len = 0;
		b[i].max_len = i == 0 ? first_len : other_len;
	}
}

/*
 * Takes the buffer that has been idle longest, as a short buffer. Returns NULL if all buffers are
 * in use.
 */
static struct gantry_fill_buffer *
take_short(struct gantry_fill *fill, const struct gantry_conn *own)
{
	struct gantry_fill_buffer *b = fill->index->buffer, *best = NULL;
	uint32_t i;

	for (i = 0; i < GANTRY_FILL_BUFFERS; i++)
		if (b[i].max_len != 0 && is_idle(&b[i], own) &&
			(best == NULL || b[i].used_to < best->used_to))
			best = &b[i];
	if (best != NULL && best->max_len == GANTRY_FILL_LONG)
		set_group(best, GANTRY_FILL_SHORT, GANTRY_FILL_SHORT);
	return best;
}

/* Returns the greatest `used_to` of a group. */
static uint64_t
group_used_to(const struct gantry_fill_buffer *b)
{
	uint64_t used_to = 0;
	uint32_t i;

	for (i = 0; i < GANTRY_FILL_GROUP; i++)
		used_to = RTE_MAX(used_to, b[i].used_to);
	return used_to;
}

/*
 * Takes the group that has been idle longest, as one long buffer. Returns NULL if each group has a
 * buffer in use.
 */
static struct gantry_fill_buffer *
take_long(struct gantry_fill *fill, const struct gantry_conn *own)
{
	struct gantry_fill_buffer *b = fill->index->buffer, *best = NULL;
	uint64_t least = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < GANTRY_FILL_BUFFERS; i += GANTRY_FILL_GROUP) {
		uint64_t used_to = group_used_to(&b[i]);

		if (used_to <= own->done && used_to < least) {
			least = used_to;
			best = &b[i];
		}
	}
	if (best != NULL)
		set_group(best, GANTRY_FILL_LONG, 0);
	return best;
}

static uint8_t *
memory_of(const struct gantry_fill *fill, const struct gantry_fill_buffer *b)
{
	return (uint8_t *)fill->words + (b - fill->index->buffer) * GANTRY_FILL_SHORT;
}

/*
 * Takes a buffer for a pattern of which len bytes will be needed. old: the buffer that has the
 * pattern now but is too short, or NULL. Returns NULL if all buffers that could take the pattern
 * are in use.
 */
static struct gantry_fill_buffer *
take(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t pattern, uint64_t len,
	struct gantry_fill_buffer *old)
{
	struct gantry_fill_buffer *b =
		len <= GANTRY_FILL_SHORT ? take_short(fill, own) : take_long(fill, own);

	if (b == NULL)
		return NULL;
	/* The short buffer no longer has a pattern. */
	if (old != NULL)
		old->len = 0;
	b->pattern = pattern;
	b->len = 0;
	*place_of(fill, pattern) = b - fill->index->buffer;
	return b;
}

/*
 * Returns a buffer whose first len bytes are the pattern, or NULL if all buffers that could take
 * the pattern are in use.
 */
static struct gantry_fill_buffer *
get(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t pattern, uint64_t len)
{
	struct gantry_fill_buffer *b = find(fill, pattern);
	uint8_t *memory;

	if (likely(b != NULL && len <= b->len))
		return b;
	if (b == NULL || len > b->max_len)
		b = take(fill, own, pattern, len, b);
	if (b == NULL)
		return NULL;
	memory = memory_of(fill, b);
	/* WQEs may be reading the bytes up to b->len, but no WQE reads bytes behind b->len. */
	for (; b->len < len; b->len += sizeof(pattern))
		memcpy(memory + b->len, &pattern, sizeof(pattern));
	return b;
}

uint64_t
gantry_fill_get(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t pattern,
	uint64_t len)
{
	const struct gantry_fill_buffer *b = get(fill, own, pattern, len);

	return b == NULL ? 0 : (uintptr_t)memory_of(fill, b);
}

void
gantry_fill_used(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t addr)
{
	uint64_t i = (addr - (uintptr_t)fill->words) / GANTRY_FILL_SHORT;

	fill->index->buffer[i].used_to = own->posted + 1;
}

__rte_cold void
gantry_fill_replayed(struct gantry_fill *fill, const struct gantry_conn *own)
{
	uint32_t i;

	for (i = 0; fill->words != NULL && i < GANTRY_FILL_BUFFERS; i++)
		fill->index->buffer[i].used_to = own->posted;
}

/* ------------------------------------------------------------------ runs */

/* Issues a run of plain fills. mmo: a constant. */
static __rte_always_inline uint32_t
run(struct gantry_fill *fill, struct gantry_region_view *view, struct gantry_stream *s,
	struct gantry_conn *own, const struct gantry_desc *desc, uint32_t n, const bool mmo)
{
	const uint64_t head = gantry_desc_head_of(GANTRY_OP_FILL, 0);
	const uint64_t max_len = RTE_MIN(own->max_len, GANTRY_FILL_LONG);
	const uint64_t src_key = hwq_key_word(fill->mr.lkey);
	const struct gantry_region *dst = view->dst;
	/*
	 * Properties of the last fill. Before the first fill, `have` is 0, so every fill is longer.
	 */
	uint64_t pattern = 0, have = 0, src = 0;
	struct gantry_fill_buffer *b = NULL;
	const struct gantry_desc *d, *end;
	struct hwq_burst_like like;
	struct gantry_comp *comp = &s->comp[s->issue & s->mask];
	struct hwq_burst burst;

	end = desc + gantry_burst_begin(&burst, s, own, n);
	like = mmo ? hwq_burst_like_memcpy(&burst)
		   : hwq_burst_like_rdma(&burst, MLX5_OPCODE_RDMA_WRITE);
	for (d = desc; d != end; d++, comp++) {
		const uint64_t to = d->dst, len = d->len;

		if (unlikely(gantry_desc_head(d) != head || len - 1 >= max_len) ||
			unlikely((d->src | d->arg[1] | d->remote_key | d->imm) != 0) ||
			unlikely(!gantry_region_find_plain(view, &dst, to, len)))
			break;
		if (d->arg[0] != pattern || len > have) {
			struct gantry_fill_buffer *other;

			/*
			 * The fills before this fill use buffer b, so get() must find that b is in
			 * use.
			 */
			if (b != NULL)
				b->used_to = own->posted + (d - desc);
			other = get(fill, own, d->arg[0], len);
			if (unlikely(other == NULL))
				break;
			b = other;
			pattern = b->pattern;
			have = b->len;
			src = (uintptr_t)memory_of(fill, b);
		}
		if (mmo)
			hwq_burst_memcpy_like(&burst, &like, dst->key_word, to, src_key, src, len);
		else
			hwq_burst_rdma_like(&burst, &like, dst->rkey, to, src_key, src, len);
		gantry_slot_prepare(comp, d, GANTRY_OP_FILL, len);
	}
	view->dst = dst;
	n = d - desc;
	if (n == 0)
		return 0;
	b->used_to = own->posted + n;
	gantry_burst_end(&burst, s, own, GANTRY_CONN_OWN, n, true);
	return n;
}

uint32_t
gantry_fill_run(struct gantry_fill *fill, struct gantry_region_view *view, struct gantry_stream *s,
	struct gantry_conn *own, const struct gantry_desc *desc, uint32_t n, bool mmo)
{
	if (unlikely(fill->words == NULL))
		return 0;
	return mmo ? run(fill, view, s, own, desc, n, true)
		   : run(fill, view, s, own, desc, n, false);
}
