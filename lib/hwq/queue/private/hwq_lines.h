/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of objects that a data path writes: they begin on a cache line and fill their last one, so
 * that no other thread's data is written there.
 */
#ifndef HWQ_LINES_H
#define HWQ_LINES_H

#include <stdlib.h>
#include <string.h>

#include "hwq_wire.h"

/* len zeroed bytes, a multiple of HWQ_LINE_LEN, or NULL. free() frees them. */
static inline void *
hwq_alloc_lines(size_t len)
{
	void *lines;

	if (posix_memalign(&lines, HWQ_LINE_LEN, len) != 0)
		return NULL;
	return memset(lines, 0, len);
}

#endif
