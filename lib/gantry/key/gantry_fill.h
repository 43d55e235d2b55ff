/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pattern buffers: registered memory of a queue, full of patterns of eight bytes, from which fills
 * are copied.
 *
 *     | 4 KiB | 4 KiB | ... | 4 KiB |            32 KiB             | ...    128 KiB in all
 *       short buffers, 8 in a group    a long one: a group, joined
 *
 * A pattern has a short buffer, or a long one from its first fill on that needs more. The CPU
 * writes a buffer as far as fills need it, once for each pattern. A buffer takes another pattern
 * when no WQE that reads it is outstanding: the one that has been idle longest. If all are in use,
 * the fill waits. The first fill of a queue allocates and registers the buffers.
 */
#ifndef GANTRY_FILL_H
#define GANTRY_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include <hwq_mr.h>

/* Bytes of a short and of a long buffer. */
#define GANTRY_FILL_SHORT UINT64_C(4096)
#define GANTRY_FILL_LONG  UINT64_C(32768)

#define GANTRY_FILL_GROUP   ((uint32_t)(GANTRY_FILL_LONG / GANTRY_FILL_SHORT))
#define GANTRY_FILL_BUFFERS (4 * GANTRY_FILL_GROUP)
#define GANTRY_FILL_PLACES  64

struct gantry_conn;
struct gantry_desc;
struct gantry_region_view;
struct gantry_stream;
struct hwq_dev;

struct gantry_fill_buffer {
	uint64_t pattern;
	uint64_t used_to; /* gantry_conn::posted of the own connection behind its last WQE */
	uint32_t len;     /* bytes that are written; 0: the buffer has no pattern */
	uint32_t max_len; /* 0: it is a part of a long one */
};

/* Which pattern each buffer has. */
struct gantry_fill_index {
	struct gantry_fill_buffer buffer[GANTRY_FILL_BUFFERS];
	/* By a hash of the pattern: the buffer to look at first. */
	uint8_t place[GANTRY_FILL_PLACES];
};

struct gantry_fill {
	uint64_t *words;                 /* of all buffers; NULL: none yet */
	struct gantry_fill_index *index; /* behind them */
	struct hwq_mr mr;
};

/* Allocates and registers the buffers, unless they are there. Owner. 0 or a negative errno. */
int gantry_fill_init(struct gantry_fill *fill, struct hwq_dev *dev, int socket);

/* Ends the registration. 0; or the negative errno of ibv_dereg_mr(3): call again. */
int gantry_fill_fini(struct gantry_fill *fill);

/* Below, own is the own connection of the queue. */

/*
 * A buffer whose first len bytes, GANTRY_FILL_LONG at most, are the pattern, for the WQE that is
 * written next. Returns its address; 0: all buffers that might have it are in use.
 */
uint64_t gantry_fill_get(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t pattern,
	uint64_t len);

/* The WQE that was meant is written. addr: of the buffer. */
void gantry_fill_used(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t addr);

/*
 * Issues the fills that desc begins with, as far as each is plain: without flags, of one WQE, to
 * memory that plain copies may use. The own connection works, and carries them: by DMA MMO, or by
 * RDMA. s: its stream. Returns how many; the caller accounts for their WQEs, one each. 0: the first
 * one is not plain, or there is no room, or no buffer.
 */
uint32_t gantry_fill_run(struct gantry_fill *fill, struct gantry_region_view *view,
	struct gantry_stream *s, struct gantry_conn *own, const struct gantry_desc *desc,
	uint32_t n, bool mmo);

/* WQEs were posted again: the buffers are in use until all are done. */
void gantry_fill_replayed(struct gantry_fill *fill, const struct gantry_conn *own);

#endif
