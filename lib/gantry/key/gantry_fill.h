/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pattern buffers: registered memory of a queue, which the CPU fills with patterns of 8 bytes.
 * Fills are copied from these buffers.
 *
 *     | 4 KiB | 4 KiB | ... | 4 KiB |            32 KiB             | ...    128 KiB in all
 *       short buffers, 8 in a group    a long one: a group, joined
 *
 * A pattern first gets a short buffer. With the first fill that is longer than this buffer, the
 * pattern gets a long buffer. The CPU writes a buffer only as far as fills need it, once for each
 * pattern. A buffer may take another pattern when no outstanding WQE reads it; the buffer that has
 * been idle longest is taken first. If all buffers are in use, the fill waits. The first fill of a
 * queue allocates and registers the buffers.
 */
#ifndef GANTRY_FILL_H
#define GANTRY_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include <hwq_mr.h>

/* The bytes of a short buffer and of a long buffer. */
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
	/*
	 * Value of gantry_conn::posted of the own connection behind the last WQE that reads the
	 * buffer.
	 */
	uint64_t used_to;
	uint32_t len;     /* bytes of the pattern that are written; 0: the buffer has no pattern */
	uint32_t max_len; /* length of the buffer; 0: this buffer is a part of a long buffer */
};

/* The pattern of each buffer. */
struct gantry_fill_index {
	struct gantry_fill_buffer buffer[GANTRY_FILL_BUFFERS];
	/*
	 * The index is a hash of the pattern. The element is the number of the buffer to compare
	 * first.
	 */
	uint8_t place[GANTRY_FILL_PLACES];
};

struct gantry_fill {
	uint64_t *words;                 /* memory of all buffers; NULL: not allocated yet */
	struct gantry_fill_index *index; /* the pattern of each buffer; in the memory behind the
					  * buffers */
	struct hwq_mr mr;
};

/*
 * Allocates and registers the buffers, unless they exist. Owner thread. Returns 0 or a negative
 * errno.
 */
int gantry_fill_init(struct gantry_fill *fill, struct hwq_dev *dev, int socket);

/*
 * Ends the registration. Returns 0 or the negative errno of ibv_dereg_mr(3). After an error, call
 * this function again.
 */
int gantry_fill_fini(struct gantry_fill *fill);

/* Below, `own` is the queue's connection to itself. */

/*
 * Returns the address of a buffer for the next WQE. Its first len bytes are the pattern; len is at
 * most GANTRY_FILL_LONG. Returns 0 if all buffers that could take the pattern are in use.
 */
uint64_t gantry_fill_get(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t pattern,
	uint64_t len);

/* Called when the WQE for which gantry_fill_get() returned addr is written. */
void gantry_fill_used(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t addr);

/*
 * Issues plain fills from the beginning of desc. A plain fill has no flags, needs one WQE, and
 * writes to memory that plain copies may use. Returns how many were issued; each has one WQE, which
 * the caller counts. Returns 0 if the first descriptor is not a plain fill, the send queue is full,
 * or no buffer is free.
 *
 * The caller knows that the own connection works. It carries fills by DMA MMO if mmo is true,
 * otherwise by RDMA. s: the stream of the own connection.
 */
uint32_t gantry_fill_run(struct gantry_fill *fill, struct gantry_region_view *view,
	struct gantry_stream *s, struct gantry_conn *own, const struct gantry_desc *desc,
	uint32_t n, bool mmo);

/*
 * Called when WQEs were posted again. All buffers then count as in use until these WQEs are done.
 */
void gantry_fill_replayed(struct gantry_fill *fill, const struct gantry_conn *own);

#endif
