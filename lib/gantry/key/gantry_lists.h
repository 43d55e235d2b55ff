/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between lists of buffers: the rules that need no region, and runs of plain ones. */
#ifndef GANTRY_LISTS_H
#define GANTRY_LISTS_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_desc.h"

struct gantry_conn;
struct gantry_region_view;
struct gantry_stream;

/*
 * Checks the lists of a COPY_SG, whose fields are checked already. Returns GANTRY_OK, or the status
 * of a refusal.
 */
enum gantry_status gantry_lists_check(const struct gantry_desc *d);

/*
 * Issues plain COPY_SGs from the beginning of desc: without flags and empty entries, no longer than
 * one WQE copies, between regions for plain copies. Returns how many; the caller counts their WQEs.
 * Returns 0 if the first descriptor is not plain, or there is no room.
 *
 * The own connection works, and carries copies by DMA MMO (mmo) or by RDMA. s: its stream.
 */
uint32_t gantry_lists_run(struct gantry_region_view *view, struct gantry_stream *s,
	struct gantry_conn *own, const struct gantry_desc *desc, uint32_t n, bool mmo);

#endif
