/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates and frees the memory of streams. */
#include "gantry_stream.h"

#include <errno.h>

#include "gantry_alloc.h"

int
gantry_stream_init(struct gantry_stream *s, uint32_t depth, uint32_t n_pend, int socket)
{
	s->where = gantry_alloc("gantry_where", depth * sizeof(*s->where), socket);
	s->comp = gantry_alloc("gantry_comp", depth * sizeof(*s->comp), socket);
	s->pend = gantry_alloc("gantry_pend", n_pend * sizeof(*s->pend), socket);
	if (s->where == NULL || s->comp == NULL || s->pend == NULL)
		return -ENOMEM;
	s->mask = depth - 1;
	s->pend_mask = n_pend - 1;
	return 0;
}

int
gantry_stream_let_all_wait(struct gantry_stream *s, int socket)
{
	uint64_t head = gantry_counter_get(&s->head), seq;
	struct gantry_desc *pend;

	if (s->pend_mask == s->mask)
		return 0;
	pend = gantry_alloc_if_free("gantry_pend", ((size_t)s->mask + 1) * sizeof(*pend), socket);
	if (pend == NULL)
		return -ENOMEM;
	for (seq = s->issue; seq != head; seq++)
		pend[seq & s->mask] = *gantry_stream_pend(s, seq);
	gantry_free(s->pend);
	s->pend = pend;
	s->pend_mask = s->mask;
	return 0;
}

void
gantry_stream_fini(struct gantry_stream *s)
{
	gantry_free(s->pend);
	gantry_free(s->comp);
	gantry_free(s->where);
}
