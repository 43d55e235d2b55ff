/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Memory whose pages are allocated in advance, so that measurements contain no page faults.
 */
#ifndef TESTGANTRY_PAGES_MAP_H
#define TESTGANTRY_PAGES_MAP_H

#include <stddef.h>
#include <stdint.h>

/**
 * Maps zeroed memory, in huge pages if possible. The caller frees it by munmap(2). Returns NULL if
 * there is no memory.
 */
uint8_t *pages_map(size_t len);

#endif
