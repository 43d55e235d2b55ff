/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Memory whose pages are there before it is used, so that what is measured meets no page faults.
 */
#ifndef TESTGANTRY_PAGES_MAP_H
#define TESTGANTRY_PAGES_MAP_H

#include <stddef.h>
#include <stdint.h>

/**
 * Maps memory of zeros, in huge pages where that is possible. munmap(2) frees it. NULL: there is
 * none.
 */
uint8_t *pages_map(size_t len);

#endif
