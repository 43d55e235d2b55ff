/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Maps memory, and lets the kernel allocate its pages.
 */
#include "pages_map.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

#define HUGE_PAGE (2 << 20) /* shorter memory does not use huge pages */

uint8_t *
pages_map(size_t len)
{
	void *base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		return NULL;
	if (len >= HUGE_PAGE)
		madvise(base, len, MADV_HUGEPAGE);
	/* An older kernel refuses this: then the first access to a page allocates it. */
	madvise(base, len, MADV_POPULATE_WRITE);
	return base;
}
