/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between lists of buffers: the rules that need no region, and those that are plain. */
#ifndef GANTRY_LISTS_H
#define GANTRY_LISTS_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_desc.h"

struct gantry_conn;
struct gantry_region_view;
struct gantry_stream;

/* GANTRY_OK, or the status that refuses the lists of a COPY_SG, whose fields are checked. */
enum gantry_status gantry_lists_check(const struct gantry_desc *d);

/*
 * Issues the COPY_SGs that desc begins with, as far as each is plain: without flags and empty
 * entries, no longer than one WQE copies, between regions for plain copies. The own connection
 * works, and carries them: by DMA MMO, or by RDMA. s: its stream. Returns how many; the caller
 * accounts for their WQEs. 0: the first one is not plain, or there is no room.
 */
uint32_t gantry_lists_run(struct gantry_region_view *view, struct gantry_stream *s,
	struct gantry_conn *own, const struct gantry_desc *desc, uint32_t n, bool mmo);

#endif
