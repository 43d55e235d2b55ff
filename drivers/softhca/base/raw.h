/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls without libc's wrappers. The library's own files use these functions, because the
 * library overrides open(), stat(), readlink(), opendir(), mmap(), socket calls and more for the
 * program (process/shim*.c). The overrides take locks that a caller inside the library may already
 * hold. Also, a folder must not depend on the overrides of a folder in a higher layer.
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

/*
 * Each function does the same as the call of this name, but is no cancellation point. On failure
 * errno is set.
 */
int raw_open(const char *path, int flags, mode_t mode);
int raw_openat(int dir, const char *path, int flags, mode_t mode);
int raw_stat(const char *path, struct stat *st);
int raw_fstat(int fd, struct stat *st);
void *raw_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
int raw_ioctl(int fd, unsigned long request, void *arg);
int raw_socket(int domain, int type, int protocol);
int raw_bind(int fd, const struct sockaddr *addr, socklen_t len);
/* accept4(2) of a socket whose other end's name does not matter. */
int raw_accept(int fd, int flags);
int raw_connect(int fd, const struct sockaddr *addr, socklen_t len);
int raw_close(int fd);
int raw_setsockopt(int fd, int level, int option, const void *value, socklen_t len);
ssize_t raw_write(int fd, const void *buf, size_t len);
ssize_t raw_send(int fd, const void *buf, size_t len, int flags);
ssize_t raw_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t raw_recv(int fd, void *buf, size_t len, int flags);
/*
 * Reads a record of a SOCK_SEQPACKET connection, and does not wait. Returns the record's bytes,
 * which may be more than len; 0 if the connection has ended; or -1 (EAGAIN: no record has come). If
 * the other process has ended and not read all its records, Linux reports ECONNRESET once, before
 * the records that it had sent. So ECONNRESET is not returned.
 */
ssize_t raw_recv_record(int fd, void *buf, size_t len);
/* fstatat(2), statx(2), readlink(2), readlinkat(2), access(2), statfs(2). */
int raw_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *stx);
int raw_fstatat(int dir, const char *path, struct stat *st, int flags);
ssize_t raw_readlink(const char *path, char *buf, size_t len);
ssize_t raw_readlinkat(int dir, const char *path, char *buf, size_t len);
int raw_access(const char *path, int mode);
int raw_statfs(const char *path, struct statfs *fs);
/* As getcwd(3), into a buffer. Returns false with errno set on failure. */
bool raw_getcwd(char *buf, size_t len);
/*
 * As opendir(3), and as fopen(3) for reading. The caller closes the result by closedir(3) or
 * fclose(3).
 */
DIR *raw_opendir(const char *path);
/*
 * The open descriptors of this process. raw_open_fds() returns NULL with errno set on failure; the
 * caller closes the result by closedir(3). raw_next_fd() returns the next descriptor, or -1 at the
 * end. It leaves out the descriptor of `fds` itself.
 */
DIR *raw_open_fds(void);
int raw_next_fd(DIR *fds);
FILE *raw_fopen(const char *path);

#endif
