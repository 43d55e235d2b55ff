/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks memory up in /proc/self/maps (proc(5)), which is sorted by address. The kernel pins memory
 * that a program gives to a device, and fails with EFAULT where it cannot.
 */
#include "mapped.h"

#include <stdio.h>
#include <string.h>

#include "raw.h"

#define DEVICE_MAPPING "/memfd:" CTX_MEMFD_NAME " "

bool
memory_is_mapped(uint64_t addr, uint64_t len, bool writable)
{
	FILE *f = raw_fopen("/proc/self/maps");
	uint64_t at = addr;
	char line[512];
	bool line_start = true;

	if (f == NULL)
		return false;
	while (at - addr < len && fgets(line, sizeof(line), f) != NULL) {
		unsigned long from, to;
		char read_flag, write_flag;
		bool whole = line_start;

		line_start = strchr(line, '\n') != NULL; /* fgets() cuts lines with long paths */
		if (!whole ||
			sscanf(line, "%lx-%lx %c%c", &from, &to, &read_flag, &write_flag) != 4 ||
			to <= at)
			continue;
		if (from > at || read_flag != 'r' || (writable && write_flag != 'w') ||
			strstr(line, DEVICE_MAPPING) != NULL)
			break;
		at = to;
	}
	fclose(f);
	return at - addr >= len;
}
