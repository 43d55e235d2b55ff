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
 * which. A plain descriptor has no flags and needs one WQE. The memory of its layout is registered,
 * and the range that the layout spans does not overlap the other side. The other side is in a
 * region for plain copies. A UMR may be posted only for the first descriptor. Returns how many were
 * issued; the caller counts their WQEs.
 *
 * The caller knows that the own connection works. s: the stream of the own connection. borrows:
 * value of gantry_comp::zero for a descriptor whose key has the UMR of another descriptor that may
 * not have run.
 */
uint32_t gantry_layouts_run(struct gantry_keys *keys, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n, uint32_t borrows);

#endif
