/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for objects that a data path writes. It starts on a cache line and consists of whole
 * lines, so another thread's data are never in the same line.
 */
#ifndef HWQ_LINES_H
#define HWQ_LINES_H

#include <stdlib.h>
#include <string.h>

#include "hwq_wire.h"

/*
 * Allocates len zeroed bytes; len is a multiple of HWQ_LINE_LEN. The caller frees them by free().
 * @return NULL if there is no memory.
 */
static inline void *
hwq_alloc_lines(size_t len)
{
	void *lines;

	if (posix_memalign(&lines, HWQ_LINE_LEN, len) != 0)
		return NULL;
	return memset(lines, 0, len);
}

#endif
