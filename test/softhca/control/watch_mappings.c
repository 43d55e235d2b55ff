/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded after softhca: counts the mappings that a program makes, as libraries with a
 * registration cache do.
 */
#undef _FILE_OFFSET_BITS /* renames mmap to mmap64 */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WATCH_API __attribute__((visibility("default")))

WATCH_API unsigned int watch_n_mmap, watch_n_mremap;

WATCH_API void *
mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	watch_n_mmap++;
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

WATCH_API void *
mremap(void *from, size_t len, size_t new_len, int flags, ...)
{
	va_list ap;
	void *want;

	va_start(ap, flags);
	want = va_arg(ap, void *);
	va_end(ap);
	watch_n_mremap++;
	return (void *)syscall(SYS_mremap, from, len, new_len, flags, want);
}
