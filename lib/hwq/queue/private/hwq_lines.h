/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for objects that a data path writes: they start on a cache line and take whole lines, so
 * no other thread's data shares a line with them.
 */
#ifndef HWQ_LINES_H
#define HWQ_LINES_H

#include <stdlib.h>
#include <string.h>

#include "hwq_wire.h"

/* Allocates len zeroed bytes, a multiple of HWQ_LINE_LEN; NULL: no memory. Freed by free(). */
static inline void *
hwq_alloc_lines(size_t len)
{
	void *lines;

	if (posix_memalign(&lines, HWQ_LINE_LEN, len) != 0)
		return NULL;
	return memset(lines, 0, len);
}

#endif
