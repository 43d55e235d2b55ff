/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Counts the points of a sweep, and says which values each has.
 */
#include "load_conf.h"

#include <rte_common.h>

#include "options.h"

uint64_t
load_points(const struct options *o)
{
	uint64_t n = 1;

	for (int i = 0; i < LOAD_AXES; i++)
		n *= RTE_MAX(o->load.list[i].n, 1u);
	return n;
}

void
load_point_get(const struct options *o, uint64_t number, struct load_point *p)
{
	const struct load_list *list;

	*p = (struct load_point){{
		[AXIS_CORES] = o->nb_cores,
		[AXIS_PEERS] = o->load.peers,
		[AXIS_REGIONS] = o->load.regions,
		[AXIS_DEPTH] = o->depth,
		[AXIS_BURST] = o->burst,
		[AXIS_SIZE] = o->load.size,
	}};
	for (int i = LOAD_AXES; i-- > 0;) {
		list = &o->load.list[i];
		if (list->n == 0)
			continue;
		p->value[i] = list->value[number % list->n];
		number /= list->n;
	}
}

uint32_t
load_cores(const struct options *o)
{
	const struct load_list *list = &o->load.list[AXIS_CORES];
	uint64_t most = RTE_MAX(o->nb_cores, 1u);

	for (uint32_t i = 0; i < list->n; i++)
		most = RTE_MAX(most, list->value[i]);
	return most;
}
