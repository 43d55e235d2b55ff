/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of streams. */
#include "gantry_stream.h"

#include <errno.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "gantry_alloc.h"

int
gantry_stream_init(struct gantry_stream *s, uint32_t depth, int socket, bool unordered)
{
	s->where = gantry_alloc("gantry_where", depth * sizeof(*s->where), socket);
	s->comp = gantry_alloc("gantry_comp", depth * sizeof(*s->comp), socket);
	s->pend = gantry_alloc("gantry_pend", depth * sizeof(*s->pend), socket);
	if (unordered)
		s->order = gantry_alloc("gantry_order", depth * sizeof(*s->order), socket);
	if (s->where == NULL || s->comp == NULL || s->pend == NULL ||
		(unordered && s->order == NULL))
		return -ENOMEM;
	s->mask = depth - 1;
	return 0;
}

void
gantry_stream_fini(struct gantry_stream *s)
{
	gantry_free(s->order);
	gantry_free(s->pend);
	gantry_free(s->comp);
	gantry_free(s->where);
}

int
gantry_stream_of_peer(struct gantry_queue *q, uint32_t depth, struct gantry_stream **out)
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
	ret = gantry_stream_init(s, depth, q->socket, true);
	if (ret != 0) {
		gantry_stream_put(q, s);
		return ret;
	}
	*out = s;
	return 0;
}

void
gantry_stream_put(struct gantry_queue *q, struct gantry_stream *s)
{
	if (s == NULL || s == &q->stream)
		return;
	gantry_stream_fini(s);
	gantry_free(s);
}
