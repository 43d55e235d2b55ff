/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls without libc's wrappers. */
#include "raw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __LP64__
#error "The kernel's struct stat is libc's on 64-bit machines only"
#endif

int
raw_open(const char *path, int flags, mode_t mode)
{
	return raw_openat(AT_FDCWD, path, flags, mode);
}

int
raw_openat(int dir, const char *path, int flags, mode_t mode)
{
	return syscall(SYS_openat, dir, path, flags, mode);
}

int
raw_stat(const char *path, struct stat *st)
{
	return syscall(SYS_newfstatat, AT_FDCWD, path, st, 0);
}

int
raw_fstat(int fd, struct stat *st)
{
	return syscall(SYS_fstat, fd, st);
}

void *
raw_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

int
raw_socket(int domain, int type, int protocol)
{
	return syscall(SYS_socket, domain, type, protocol);
}

int
raw_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	return syscall(SYS_bind, fd, addr, len);
}

int
raw_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	return syscall(SYS_connect, fd, addr, len);
}

int
raw_accept(int fd, int flags)
{
	return syscall(SYS_accept4, fd, NULL, NULL, flags);
}

int
raw_close(int fd)
{
	return syscall(SYS_close, fd);
}

int
raw_setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	return syscall(SYS_setsockopt, fd, level, option, value, len);
}

ssize_t
raw_write(int fd, const void *buf, size_t len)
{
	return syscall(SYS_write, fd, buf, len);
}

ssize_t
raw_send(int fd, const void *buf, size_t len, int flags)
{
	return syscall(SYS_sendto, fd, buf, len, flags, NULL, 0);
}

ssize_t
raw_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return syscall(SYS_sendmsg, fd, msg, flags);
}

ssize_t
raw_recv(int fd, void *buf, size_t len, int flags)
{
	return syscall(SYS_recvfrom, fd, buf, len, flags, NULL, NULL);
}

ssize_t
raw_recv_record(int fd, void *buf, size_t len)
{
	ssize_t n;

	do
		n = raw_recv(fd, buf, len, MSG_DONTWAIT | MSG_TRUNC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	return n;
}

int
raw_fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return syscall(SYS_newfstatat, dir, path, st, flags);
}

ssize_t
raw_readlink(const char *path, char *buf, size_t len)
{
	return raw_readlinkat(AT_FDCWD, path, buf, len);
}

ssize_t
raw_readlinkat(int dir, const char *path, char *buf, size_t len)
{
	return syscall(SYS_readlinkat, dir, path, buf, len);
}

int
raw_access(const char *path, int mode)
{
	return syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

int
raw_statfs(const char *path, struct statfs *fs)
{
	return syscall(SYS_statfs, path, fs);
}

bool
raw_getcwd(char *buf, size_t len)
{
	return syscall(SYS_getcwd, buf, len) > 0;
}

DIR *
raw_opendir(const char *path)
{
	int fd = raw_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (fd >= 0 && dir == NULL)
		close(fd);
	return dir;
}

DIR *
raw_open_fds(void)
{
	return raw_opendir("/proc/self/fd");
}

int
raw_next_fd(DIR *fds)
{
	struct dirent *entry;

	while ((entry = readdir(fds)) != NULL)
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(fds))
			return atoi(entry->d_name);
	return -1;
}

FILE *
raw_fopen(const char *path)
{
	int fd = raw_open(path, O_RDONLY | O_CLOEXEC, 0);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (fd >= 0 && file == NULL)
		close(fd);
	return file;
}

int
raw_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *stx)
{
	return syscall(SYS_statx, dir, path, flags, mask, stx);
}

int
raw_ioctl(int fd, unsigned long request, void *arg)
{
	return syscall(SYS_ioctl, fd, request, arg);
}
