/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells properties of a queue, and creates the streams of its connections. */
#include "gantry_queue.h"

#include <errno.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"

/*
 * The least number of descriptors that may wait in a peer's stream before it allocates more memory.
 */
#define MIN_PEND 16u

void
gantry_queue_info_get(const struct gantry_queue *q, struct gantry_queue_info *info)
{
	*info = (struct gantry_queue_info){
		.depth = q->stream.mask + 1,
		.max_wqes = q->sq_wr,
		.max_peers = q->max_peers,
		.port = q->path.port,
		.numa_node = q->socket,
		.lcore = q->lcore,
		.number = q->id,
		.device = q->g->info.device,
	};
}

uint32_t
gantry_in_flight(const struct gantry_queue *q)
{
	if (q->unordered)
		return gantry_counter_get(&q->any_order.submitted) -
		       gantry_counter_get(&q->any_order.completed);
	return gantry_stream_in_flight(&q->stream);
}

int
gantry_queue_stream_for(struct gantry_queue *q, uint32_t depth, struct gantry_stream **out)
{
	struct gantry_stream *s;
	int ret;

	if (!q->unordered) {
		*out = &q->stream;
		return 0;
	}
	depth = depth == 0 ? q->stream.mask + 1 : RTE_MAX(rte_align32pow2(depth), 2u);
	s = gantry_alloc("gantry_stream", sizeof(*s), q->socket);
	if (s == NULL)
		return -ENOMEM;
	ret = gantry_stream_init(s, depth, RTE_MIN(depth, RTE_MAX(depth / 8, MIN_PEND)), q->socket);
	if (ret != 0) {
		gantry_queue_stream_put(q, s);
		return ret;
	}
	*out = s;
	return 0;
}

void
gantry_queue_stream_put(struct gantry_queue *q, struct gantry_stream *s)
{
	if (s == NULL || s == &q->stream)
		return;
	gantry_stream_fini(s);
	gantry_free(s);
}
