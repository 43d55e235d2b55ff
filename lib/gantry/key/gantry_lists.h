/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between lists of buffers: the rules that need no region, and runs of plain COPY_SGs. */
#ifndef GANTRY_LISTS_H
#define GANTRY_LISTS_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_desc.h"

struct gantry_conn;
struct gantry_region_view;
struct gantry_stream;

/*
 * Checks the lists of a COPY_SG whose fields are checked already. Returns GANTRY_OK, or the status
 * that refuses the descriptor.
 */
enum gantry_status gantry_lists_check(const struct gantry_desc *d);

/*
 * Issues plain COPY_SGs from the beginning of desc. A plain COPY_SG has no flags and no empty
 * entries, is not longer than the bytes that one WQE copies, and is between regions for plain
 * copies. Returns how many were issued; the caller counts their WQEs. Returns 0 if the first
 * descriptor is not plain, or the send queue is full.
 *
 * The caller knows that the own connection works. It carries copies by DMA MMO if mmo is true,
 * otherwise by RDMA. s: the stream of the own connection.
 */
uint32_t gantry_lists_run(struct gantry_region_view *view, struct gantry_stream *s,
	struct gantry_conn *own, const struct gantry_desc *desc, uint32_t n, bool mmo);

#endif
