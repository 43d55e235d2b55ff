/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of gathers and scatters, as far as each is plain. */
#ifndef GANTRY_LAYOUT_RUN_H
#define GANTRY_LAYOUT_RUN_H

#include <stdint.h>

struct gantry_desc;
struct gantry_keys;
struct gantry_stream;

/*
 * Issues the gathers or scatters, whichever comes first, that desc begins with, as far as each is
 * plain: without flags, of one WQE, with a layout that lies in regions and far from the other side,
 * which is in a region for plain copies. A key is laid out for the first of them alone. The own
 * connection works. s: its stream. borrows: gantry_comp::zero of one whose key a UMR of another
 * descriptor lays out that may not have run. Returns how many; the caller accounts for the WQEs.
 */
uint32_t gantry_layouts_run(struct gantry_keys *keys, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n, uint32_t borrows);

#endif
