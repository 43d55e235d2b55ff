/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls made directly. */
#include "raw.h"

#include <sys/syscall.h>
#include <unistd.h>

#ifndef __LP64__
#error "The kernel's struct stat is libc's on 64-bit machines only"
#endif

int
raw_fstat(int fd, struct stat *st)
{
	return syscall(SYS_fstat, fd, st);
}
