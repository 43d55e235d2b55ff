/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of streams. */
#include "gantry_stream.h"

#include <errno.h>

#include "gantry_alloc.h"

int
gantry_stream_init(struct gantry_stream *s, uint32_t depth, int socket, bool numbered)
{
	s->where = gantry_alloc("gantry_where", depth * sizeof(*s->where), socket);
	s->comp = gantry_alloc("gantry_comp", depth * sizeof(*s->comp), socket);
	s->pend = gantry_alloc("gantry_pend", depth * sizeof(*s->pend), socket);
	if (numbered)
		s->order = gantry_alloc("gantry_order", depth * sizeof(*s->order), socket);
	if (s->where == NULL || s->comp == NULL || s->pend == NULL ||
		(numbered && s->order == NULL))
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
