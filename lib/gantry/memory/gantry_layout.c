/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys layouts, and copies one of them. */
#include "gantry_layout.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_common.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_log.h"

/* A pattern has 16 bits for the length and the stride of a block (mlx5dv_wr_mr_interleaved(3)). */
#define PATTERN_MAX UINT16_MAX
/* Bytes of one entry of a list: well below what 32 bits count. */
#define PIECE_MAX (UINT64_C(1) << 30)

/* ------------------------------------------------------------------ rules */

/* 0; or -EINVAL, and the log says why. Also adds up the bytes of one round. */
static int
check_blocks(const struct gantry_layout_conf *conf, uint64_t *len)
{
	uint32_t i;

	if (conf->n == 0 || conf->block == NULL) {
		LOG(ERR, "a layout without blocks: give at least one");
		return -EINVAL;
	}
	*len = 0;
	for (i = 0; i < conf->n && i < GANTRY_LAYOUT_PIECES; i++) {
		const struct gantry_block *b = &conf->block[i];
		uint64_t stride = b->len + b->skip;

		if (b->len == 0 || b->len > PIECE_MAX) {
			LOG(ERR,
				"block %u of a layout has %" PRIu64 " bytes: 1 to %" PRIu64
				" are possible",
				i, b->len, PIECE_MAX);
			return -EINVAL;
		}
		if (stride < b->len || (conf->rounds > 1 && stride > UINT64_MAX / conf->rounds) ||
			b->offset + b->len < b->offset ||
			b->offset + (conf->rounds > 1 ? stride * conf->rounds : 0) < b->offset) {
			LOG(ERR, "block %u of a layout goes beyond the address space", i);
			return -EINVAL;
		}
		*len += b->len;
	}
	return 0;
}

/* True: a pattern of the device can say it. */
static bool
is_pattern(const struct gantry_layout_conf *conf)
{
	uint32_t i;

	if (conf->n + 1 > GANTRY_LAYOUT_PIECES)
		return false;
	for (i = 0; i < conf->n; i++)
		if (conf->block[i].len + conf->block[i].skip > PATTERN_MAX)
			return false;
	return true;
}

static void
take_pattern(const struct gantry_layout_conf *conf, struct gantry_layout *l)
{
	uint32_t i;

	l->n = conf->n;
	l->rounds = conf->rounds;
	for (i = 0; i < conf->n; i++)
		l->piece[i] = (struct gantry_layout_piece){
			.offset = conf->block[i].offset,
			.len = conf->block[i].len,
			.stride = conf->block[i].len + conf->block[i].skip,
		};
}

static void
take_list(const struct gantry_layout_conf *conf, uint32_t rounds, struct gantry_layout *l)
{
	uint32_t r, i, k = 0;

	l->n = conf->n * rounds;
	l->rounds = 1;
	for (r = 0; r < rounds; r++)
		for (i = 0; i < conf->n; i++) {
			const struct gantry_block *b = &conf->block[i];

			l->piece[k++] = (struct gantry_layout_piece){
				.offset = b->offset + r * (b->len + b->skip),
				.len = b->len,
			};
		}
}

/* 0, -EINVAL or -E2BIG, and the log says why. */
static int
layout_take(const struct gantry_layout_conf *conf, struct gantry_layout *l)
{
	uint32_t rounds = RTE_MAX(conf->rounds, 1u);
	uint64_t len;
	int ret;

	ret = check_blocks(conf, &len);
	if (ret != 0)
		return ret;
	memset(l, 0, sizeof(*l));
	if ((uint64_t)conf->n * rounds <= GANTRY_LAYOUT_PIECES) {
		take_list(conf, rounds, l);
	} else if (rounds > 1 && is_pattern(conf)) {
		take_pattern(conf, l);
	} else {
		LOG(ERR,
			"a layout of %u blocks and %u rounds is too long: the device takes %u blocks in "
			"all, or rounds of up to %u blocks whose len + skip is at most %u",
			conf->n, rounds, (unsigned int)GANTRY_LAYOUT_PIECES,
			(unsigned int)GANTRY_LAYOUT_PIECES - 1, PATTERN_MAX);
		return -E2BIG;
	}
	l->len = len * rounds;
	return 0;
}

/* ------------------------------------------------------------------ cells */

/* A free id with a cell. 0, -ENOSPC or -ENOMEM. */
static int
cell_find(struct gantry_layout_dir *dir, uint16_t *id)
{
	struct gantry_layout_cell *cell;
	uint32_t i;

	for (i = 1; i <= GANTRY_MAX_LAYOUTS; i++)
		if (gantry_layout_serial(dir, i) == 0)
			break;
	if (i > GANTRY_MAX_LAYOUTS)
		return -ENOSPC;
	if (atomic_load_explicit(&dir->cell[i], memory_order_relaxed) == NULL) {
		cell = gantry_alloc("gantry_layout", sizeof(*cell), GANTRY_ALLOC_ANY_SOCKET);
		if (cell == NULL)
			return -ENOMEM;
		/* Pairs with the acquire in gantry_layout_serial(). */
		atomic_store_explicit(&dir->cell[i], cell, memory_order_release);
	}
	*id = i;
	return 0;
}

static void
cell_write(struct gantry_layout_dir *dir, uint16_t id, const struct gantry_layout *l)
{
	struct gantry_layout_cell *cell =
		atomic_load_explicit(&dir->cell[id], memory_order_relaxed);
	uint64_t word[GANTRY_LAYOUT_WORDS];
	uint32_t i;

	memcpy(word, l, sizeof(word));
	/* Pair with the acquires in gantry_layout_read(): who reads one of these words does not read
	 * the serial number from before gantry_layout_destroy() afterwards. */
	for (i = 0; i < GANTRY_LAYOUT_WORDS; i++)
		atomic_store_explicit(&cell->word[i], word[i], memory_order_release);
	/* Pairs with the acquire in gantry_layout_serial(). */
	atomic_store_explicit(&cell->serial, ++dir->last_serial, memory_order_release);
}

bool
gantry_layout_read(const struct gantry_layout_dir *dir, uint16_t id, uint64_t serial,
	struct gantry_layout *out)
{
	const struct gantry_layout_cell *cell =
		atomic_load_explicit(&dir->cell[id], memory_order_acquire);
	uint64_t word[GANTRY_LAYOUT_WORDS];
	uint32_t i;

	for (i = 0; i < GANTRY_LAYOUT_WORDS; i++)
		word[i] = atomic_load_explicit(&cell->word[i], memory_order_acquire);
	memcpy(out, word, sizeof(word));
	return atomic_load_explicit(&cell->serial, memory_order_relaxed) == serial;
}

void
gantry_layout_dir_fini(struct gantry_layout_dir *dir)
{
	uint32_t i;

	for (i = 1; i <= GANTRY_MAX_LAYOUTS; i++)
		gantry_free(atomic_load_explicit(&dir->cell[i], memory_order_relaxed));
}

/* ------------------------------------------------------------------ the calls */

int
gantry_layout_create(struct gantry *g, const struct gantry_layout_conf *conf, uint16_t *id)
{
	struct gantry_layout l;
	uint16_t i;
	int ret;

	ret = layout_take(conf, &l);
	if (ret == 0)
		ret = cell_find(&g->layouts, &i);
	if (ret != 0)
		return ret;
	cell_write(&g->layouts, i, &l);
	*id = i;
	return 0;
}

int
gantry_layout_destroy(struct gantry *g, uint16_t id)
{
	struct gantry_layout_cell *cell;

	if (gantry_layout_serial(&g->layouts, id) == 0)
		return -EINVAL;
	cell = atomic_load_explicit(&g->layouts.cell[id], memory_order_relaxed);
	atomic_store_explicit(&cell->serial, 0, memory_order_relaxed);
	return 0;
}
