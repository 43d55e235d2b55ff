/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pattern buffers: registered memory of a queue, full of a pattern of eight bytes, from which fills
 * are copied.
 *
 * The CPU writes a buffer as far as fills need it, once for each pattern. A buffer takes another
 * pattern when no WQE that reads it is outstanding; if all are in use, the fill waits. The first fill
 * of a queue allocates and registers the buffers.
 */
#ifndef GANTRY_FILL_H
#define GANTRY_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include <hwq_mr.h>

#define GANTRY_FILL_BUFFERS 4
#define GANTRY_FILL_LEN     UINT64_C(32768) /* bytes of each */

struct gantry_conn;
struct hwq_dev;

struct gantry_fill_buffer {
	uint64_t pattern;
	uint64_t n_words;  /* words that are written; 0: the buffer has no pattern */
	uint64_t last_use; /* gantry_conn::posted of the own connection before the last WQE */
};

struct gantry_fill {
	uint64_t *words; /* of all buffers; NULL: none yet */
	struct hwq_mr mr;
	struct gantry_fill_buffer buffer[GANTRY_FILL_BUFFERS];
};

/* Allocates and registers the buffers, unless they are there. Owner. 0 or a negative errno. */
int gantry_fill_init(struct gantry_fill *fill, struct hwq_dev *dev, int socket);

/* Ends the registration. 0; or the negative errno of ibv_dereg_mr(3): call again. */
int gantry_fill_fini(struct gantry_fill *fill);

/* Below, own is the own connection of the queue. */

/*
 * A buffer whose first len bytes are the pattern, for the WQE that is written next. Returns its address; 0: all buffers have other patterns and are in use.
 */
uint64_t gantry_fill_get(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t pattern,
	uint64_t len);

/* The WQE that was meant is written. addr: of the buffer. */
void gantry_fill_used(struct gantry_fill *fill, const struct gantry_conn *own, uint64_t addr);

/* WQEs were posted again: the buffers are in use until all are done. */
void gantry_fill_replayed(struct gantry_fill *fill, const struct gantry_conn *own);

#endif
