/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of plain gathers or scatters. */
#ifndef GANTRY_LAYOUT_RUN_H
#define GANTRY_LAYOUT_RUN_H

#include <stdint.h>

struct gantry_desc;
struct gantry_keys;
struct gantry_stream;

/*
 * Issues plain gathers, or plain scatters, from the beginning of desc; the first descriptor decides
 * which. Plain are those without flags, of one WQE, with a layout in regions that does not come
 * near the other side, which is in a region for plain copies. Only for the first descriptor may a
 * UMR be posted. Returns how many were issued; the caller counts their WQEs.
 *
 * The own connection works. s: its stream. borrows: the gantry_comp::zero of a descriptor whose key
 * comes from another descriptor's UMR that may not have run.
 */
uint32_t gantry_layouts_run(struct gantry_keys *keys, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n, uint32_t borrows);

#endif
