/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether memory is mapped. The kernel pins memory that a program gives to a device, and
 * returns EFAULT if it cannot pin the memory.
 */
#include "mapped.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "maps.h"

/*
 * True if the mapping's last byte can be read: the file may be shorter than its mapping. Also true
 * in a sandbox that forbids the system call for this test.
 */
static bool
is_in_file(const struct mapping_line *line, uint64_t end)
{
	uint64_t last = (line->to < end ? line->to : end) - 1;
	char byte;
	struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)last, 1};

	return line->ino == 0 || process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 ||
	       errno != EFAULT;
}

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
			line.of_adapter || !is_in_file(&line, addr + len))
			break;
		at = line.to;
	}
	maps_close(&maps);
	return at - addr >= len;
}
