/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Maps memory, and makes the kernel allocate all its pages.
 */
#include "pages_map.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14 */
#endif

#define HUGE_PAGE (2 << 20) /* memory shorter than a huge page uses normal pages */

uint8_t *
pages_map(size_t len)
{
	void *base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		return NULL;
	if (len >= HUGE_PAGE)
		madvise(base, len, MADV_HUGEPAGE);
	/*
	 * A kernel before 5.14 refuses this advice. Then the first access to each page allocates
	 * the page.
	 */
	madvise(base, len, MADV_POPULATE_WRITE);
	return base;
}
