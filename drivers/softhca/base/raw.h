/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls made directly. The library defines open(), openat(), stat(), fstat(), mmap() and the calls
 * on sockets for the program (process/shim.c, process/shim_socket.c). Its own files use these: the program's calls take locks, which the callers
 * of these may hold, and nothing below the shim may depend on it.
 */
#ifndef SOFTHCA_RAW_H
#define SOFTHCA_RAW_H

#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/types.h>

/* As the calls of their names, without cancellation points. They set errno. */
int raw_open(const char *path, int flags, mode_t mode);
int raw_openat(int dir, const char *path, int flags, mode_t mode);
int raw_stat(const char *path, struct stat *st);
int raw_fstat(int fd, struct stat *st);
void *raw_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int raw_setsockopt(int fd, int level, int option, const void *value, socklen_t len);
ssize_t raw_send(int fd, const void *buf, size_t len, int flags);
ssize_t raw_recv(int fd, void *buf, size_t len, int flags);

#endif
