/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls made directly. The library defines open(), openat(), stat(), fstat() and mmap() for the
 * program (process/shim.c). Its own files use these: the program's calls take locks, which the callers
 * of these may hold, and nothing below the shim may depend on it.
 */
#ifndef SOFTHCA_RAW_H
#define SOFTHCA_RAW_H

#include <sys/stat.h>
#include <sys/types.h>

/* As the calls of their names: open(2), openat(2), stat(2), fstat(2), mmap(2). They set errno. */
int raw_open(const char *path, int flags, mode_t mode);
int raw_openat(int dir, const char *path, int flags, mode_t mode);
int raw_stat(const char *path, struct stat *st);
int raw_fstat(int fd, struct stat *st);
void *raw_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);

#endif
