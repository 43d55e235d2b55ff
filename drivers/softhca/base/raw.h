/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls made directly. The library defines open(), stat(), readlink(), opendir(), mmap(),
 * the calls on sockets and others for the program (process/shim*.c). Its own files use these: the
 * program's calls take locks, which the callers of these may hold, and nothing below the shim may
 * depend on it.
 */
#ifndef SOFTHCA_RAW_H
#define SOFTHCA_RAW_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/vfs.h>

/* As the calls of their names, without cancellation points. They set errno. */
int raw_open(const char *path, int flags, mode_t mode);
int raw_openat(int dir, const char *path, int flags, mode_t mode);
int raw_stat(const char *path, struct stat *st);
int raw_fstat(int fd, struct stat *st);
void *raw_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int raw_ioctl(int fd, unsigned long request, void *arg);
int raw_setsockopt(int fd, int level, int option, const void *value, socklen_t len);
ssize_t raw_send(int fd, const void *buf, size_t len, int flags);
ssize_t raw_recv(int fd, void *buf, size_t len, int flags);
/* fstatat(2), statx(2), readlink(2), readlinkat(2), access(2), statfs(2). */
int raw_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *stx);
int raw_fstatat(int dir, const char *path, struct stat *st, int flags);
ssize_t raw_readlink(const char *path, char *buf, size_t len);
ssize_t raw_readlinkat(int dir, const char *path, char *buf, size_t len);
int raw_access(const char *path, int mode);
int raw_statfs(const char *path, struct statfs *fs);
/* getcwd(3) into a buffer. False: errno. */
bool raw_getcwd(char *buf, size_t len);
/* opendir(3), and fopen(3) for reading: the caller closes them by closedir(3) and fclose(3). */
DIR *raw_opendir(const char *path);
/*
 * The descriptors of this process. raw_next_fd() returns one after the other, without the one by
 * which it reads, and -1 at the end. The caller uses closedir(3). raw_open_fds(): NULL: errno.
 */
DIR *raw_open_fds(void);
int raw_next_fd(DIR *fds);
FILE *raw_fopen(const char *path);

#endif
