/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether memory is mapped. The kernel pins memory that a program gives to a device, and fails with EFAULT where
 * it cannot.
 */
#include "mapped.h"

#include "maps.h"

bool
memory_is_mapped(uint64_t addr, uint64_t len, bool writable)
{
	struct mapping_line line;
	uint64_t at = addr;
	struct maps maps;

	if (!maps_open(&maps))
		return false;
	while (at - addr < len && maps_find(&maps, at, &line)) {
		if (line.from > at || !line.can_read || (writable && !line.can_write) ||
			line.of_adapter)
			break;
		at = line.to;
	}
	maps_close(&maps);
	return at - addr >= len;
}
