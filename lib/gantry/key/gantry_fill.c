/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds and writes pattern buffers. */
#include "gantry_fill.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "gantry_alloc.h"
#include "gantry_conn.h"
#include "gantry_log.h"

#define FILL_WORDS (GANTRY_FILL_LEN / sizeof(uint64_t))
#define ALL_LEN    (GANTRY_FILL_BUFFERS * GANTRY_FILL_LEN)

int
gantry_fill_init(struct gantry_fill *fill, struct hwq_dev *dev, int socket)
{
	uint64_t *words;
	int ret;

	if (likely(fill->words != NULL))
		return 0;
	words = gantry_alloc("gantry_fill", ALL_LEN, socket);
	ret = words == NULL
		      ? -ENOMEM
		      : hwq_mr_register(dev, words, ALL_LEN, HWQ_ACCESS_LOCAL_WRITE, &fill->mr);
	if (ret != 0) {
		LOG(ERR, "no pattern buffers of %" PRIu64 " bytes: %s", (uint64_t)ALL_LEN,
			strerror(-ret));
		gantry_free(words);
		return ret;
	}
	fill->words = words;
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

/* True: a WQE that is not done, or that will be posted again, reads the buffer. */
static bool
is_in_use(const struct gantry_fill_buffer *b, const struct gantry_conn *own)
{
	return b->n_words != 0 && own->done <= b->last_use;
}

/* The buffer with the pattern; else the one that has been idle longest; NULL: all are in use. */
static struct gantry_fill_buffer *
find(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t pattern)
{
	struct gantry_fill_buffer *idle = NULL;
	uint32_t i;

	for (i = 0; i < GANTRY_FILL_BUFFERS; i++) {
		struct gantry_fill_buffer *b = &fill->buffer[i];

		if (b->n_words != 0 && b->pattern == pattern)
			return b;
		if (!is_in_use(b, own) && (idle == NULL || b->last_use < idle->last_use))
			idle = b;
	}
	if (idle != NULL) {
		idle->pattern = pattern;
		idle->n_words = 0;
	}
	return idle;
}

uint64_t
gantry_fill_get(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t pattern,
	uint64_t len)
{
	struct gantry_fill_buffer *b = find(fill, own, pattern);
	uint64_t *word;

	if (b == NULL)
		return 0;
	word = fill->words + (b - fill->buffer) * FILL_WORDS;
	/* The device may read words that are written already; not these. */
	for (; b->n_words * sizeof(*word) < len; b->n_words++)
		word[b->n_words] = pattern;
	return (uintptr_t)word;
}

void
gantry_fill_used(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t addr)
{
	uint64_t i = (addr - (uintptr_t)fill->words) / GANTRY_FILL_LEN;

	fill->buffer[i].last_use = own->posted;
}

__rte_cold void
gantry_fill_replayed(struct gantry_fill *fill, const struct gantry_conn *own)
{
	uint32_t i;

	for (i = 0; i < GANTRY_FILL_BUFFERS; i++)
		if (fill->buffer[i].n_words != 0)
			fill->buffer[i].last_use = own->posted - 1;
}
