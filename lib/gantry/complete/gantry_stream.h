/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams are made and freed: one for a queue, or one for each connection of an unordered queue. */
#ifndef GANTRY_STREAM_H
#define GANTRY_STREAM_H

#include "gantry_queue.h"

/*
 * Memory for `depth` slots, a power of two, in the caller's *s, which is zeroed. 0 or -ENOMEM; in both cases
 * gantry_stream_fini() frees what there is.
 */
int gantry_stream_init(struct gantry_stream *s, uint32_t depth, int socket, bool unordered);
void gantry_stream_fini(struct gantry_stream *s);

/*
 * The stream of a new connection to a peer: the queue's, or if it is unordered a new one with `depth`
 * slots, which is rounded up to a power of two; 0: as many as the queue's own. 0 or -ENOMEM.
 */
int gantry_stream_of_peer(struct gantry_queue *q, uint32_t depth, struct gantry_stream **s);
/* Ends the use of it. Nothing of it is in flight. NULL: nothing happens. */
void gantry_stream_put(struct gantry_queue *q, struct gantry_stream *s);

#endif
