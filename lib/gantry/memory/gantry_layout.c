/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys layouts. */
#include "gantry_layout.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_common.h>

#include "gantry_conf_check.h"
#include "gantry_engine.h"
#include "gantry_log.h"

/* In a pattern, the length and the stride of a block have 16 bits (mlx5dv_wr_mr_interleaved(3)). */
#define PATTERN_MAX UINT16_MAX
/* The most bytes of one entry of a list. The length of an entry has 32 bits. */
#define PIECE_MAX (UINT64_C(1) << 30)

/* ------------------------------------------------------------------ rules */

/*
 * Checks the blocks of a layout. Returns 0, or logs why and returns -EINVAL. On success *len is the
 * bytes of one round.
 */
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

/* Returns true if a pattern of the device can describe the layout. */
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

/* Makes a layout from its configuration. Returns 0, or logs why and returns -EINVAL or -E2BIG. */
static int
layout_take(const struct gantry_layout_conf *conf, struct gantry_layout *l)
{
	uint32_t rounds = RTE_MAX(conf->rounds, 1u);
	uint64_t len;
	int ret;

	if (!GANTRY_IS_CLEAN("gantry_layout_conf", conf))
		return -EINVAL;
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

/* ------------------------------------------------------------------ the calls */

int
gantry_layout_create(struct gantry *g, const struct gantry_layout_conf *conf, uint16_t *id)
{
	struct gantry_layout l;
	int ret = layout_take(conf, &l);

	if (ret == 0 && !g->info.layouts) {
		LOG(ERR, "%s has no layouts, because it does not open with DEVX", g->info.device);
		ret = -EOPNOTSUPP;
	}
	return ret != 0 ? ret : gantry_shelf_put(&g->layouts, &l, id);
}

int
gantry_layout_destroy(struct gantry *g, uint16_t id)
{
	int ret = gantry_shelf_remove(&g->layouts, id);

	if (ret != 0)
		LOG(ERR, "no layout has the number %u", id);
	return ret;
}
