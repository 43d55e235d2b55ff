/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes and offsets of the structures that DPDK and a driver share. dma_layout.c is compiled once
 * for each set of declarations: Gantry's own, and DPDK's if it is installed.
 */
#ifndef DMA_LAYOUT_H
#define DMA_LAYOUT_H

#include <stddef.h>

struct dma_layout {
	const char *name; /* name of a structure or a field; NULL ends the array */
	size_t offset;    /* offset of a field */
	size_t size;
};

/* An array that the build could not compile is not in the program: its address is NULL. */
extern const struct dma_layout dma_layout_own[] __attribute__((weak));
extern const struct dma_layout dma_layout_dpdk[] __attribute__((weak));

#endif
