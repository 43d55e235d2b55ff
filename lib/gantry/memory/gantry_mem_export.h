/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device shares with other functions of its card. */
#ifndef GANTRY_MEM_EXPORT_H
#define GANTRY_MEM_EXPORT_H

struct gantry;

/*
 * Finds out which memory the device shares with other functions of its card, and writes it to
 * g->info. Returns 0 or -ENOMEM.
 */
int gantry_mem_shares(struct gantry *g);

#endif
