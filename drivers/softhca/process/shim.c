/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The libc calls by which a program uses a character device, for the emulated devices.
 *
 * open, stat, fstat, mmap and ioctl, in the forms that libibverbs and libmlx5 44 use. Calls on other
 * files go to the kernel by a raw system call. That needs no dlsym(), so it works from the first instruction of a process,
 * in static binaries, and below the sanitizers' own interceptors.
 */
#undef _FORTIFY_SOURCE   /* it defines open() inline, and so does this file */
#undef _FILE_OFFSET_BITS /* it renames open to open64, and this file defines both */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <rdma/mlx5-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "init.h"
#include "contexts.h"
#include "ioctl.h"
#include "raw.h"
#include "softhca.h"
#include "sysfs.h"

#ifndef __LP64__
#error "The kernel's struct stat is libc's on 64-bit machines only"
#endif

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __fxstat(int version, int fd, struct stat *st);
int __fxstat64(int version, int fd, struct stat64 *st);

/* ---------------------------------------------------------------- open */

static struct softhca_dev *
device_at(const char *path)
{
	static const char prefix[] = "/dev/infiniband/uverbs";
	char *end;
	unsigned long n;

	if (!softhca_active() || path == NULL || strncmp(path, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	path += sizeof(prefix) - 1;
	if (*path < '0' || *path > '9')
		return NULL;
	n = strtoul(path, &end, 10);
	return *end == '\0' && n <= UINT32_MAX ? softhca_device_by_uverbs(n) : NULL;
}

static int
open_any(int dir, const char *path, int flags, mode_t mode)
{
	struct softhca_dev *dev = device_at(path);
	int fd;

	if (dev == NULL)
		return raw_openat(dir, path, flags, mode);
	fd = ctx_open(dev, flags);
	if (fd < 0) {
		errno = -fd;
		return -1;
	}
	return fd;
}

static mode_t
mode_argument(int flags, va_list ap)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
}

SOFTHCA_API int
open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_argument(flags, ap);
	va_end(ap);
	return open_any(AT_FDCWD, path, flags, mode);
}

SOFTHCA_API int
open64(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_argument(flags, ap);
	va_end(ap);
	return open_any(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

SOFTHCA_API int
openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_argument(flags, ap);
	va_end(ap);
	return open_any(dir, path, flags, mode);
}

SOFTHCA_API int
openat64(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_argument(flags, ap);
	va_end(ap);
	return open_any(dir, path, flags | O_LARGEFILE, mode);
}

SOFTHCA_API int
__open_2(const char *path, int flags)
{
	return open_any(AT_FDCWD, path, flags, 0);
}

SOFTHCA_API int
__open64_2(const char *path, int flags)
{
	return open_any(AT_FDCWD, path, flags | O_LARGEFILE, 0);
}

SOFTHCA_API int
__openat_2(int dir, const char *path, int flags)
{
	return open_any(dir, path, flags, 0);
}

SOFTHCA_API int
__openat64_2(int dir, const char *path, int flags)
{
	return open_any(dir, path, flags | O_LARGEFILE, 0);
}

/* ---------------------------------------------------------------- stat */

static void
be_device(struct stat *st, const struct softhca_dev *dev)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(SYSFS_MAJOR, SYSFS_MINOR_BASE + softhca_uverbs_of(dev));
	st->st_size = 0;
	st->st_blocks = 0;
}

static int
stat_any(const char *path, struct stat *st)
{
	struct softhca_dev *dev = device_at(path);

	if (dev == NULL)
		return raw_stat(path, st);
	memset(st, 0, sizeof(*st));
	st->st_nlink = 1;
	be_device(st, dev);
	return 0;
}

static int
fstat_any(int fd, struct stat *st)
{
	int rc = raw_fstat(fd, st);
	struct softhca_dev *dev;

	if (rc != 0 || !softhca_active() || !S_ISREG(st->st_mode))
		return rc;
	dev = ctx_find_dev(st->st_dev, st->st_ino);
	if (dev != NULL)
		be_device(st, dev);
	return 0;
}

SOFTHCA_API int
stat(const char *path, struct stat *st)
{
	return stat_any(path, st);
}

SOFTHCA_API int
stat64(const char *path, struct stat64 *st)
{
	return stat_any(path, (struct stat *)st);
}

SOFTHCA_API int
fstat(int fd, struct stat *st)
{
	return fstat_any(fd, st);
}

SOFTHCA_API int
fstat64(int fd, struct stat64 *st)
{
	return fstat_any(fd, (struct stat *)st);
}

/*
 * The names of stat and fstat before glibc 2.33; gcc's thread sanitizer still calls __fxstat. The
 * version is that of struct stat's layout: 64-bit machines have one layout.
 */
SOFTHCA_API int
__xstat(int version, const char *path, struct stat *st)
{
	return stat_any(path, st);
}

SOFTHCA_API int
__xstat64(int version, const char *path, struct stat64 *st)
{
	return stat_any(path, (struct stat *)st);
}

SOFTHCA_API int
__fxstat(int version, int fd, struct stat *st)
{
	return fstat_any(fd, st);
}

SOFTHCA_API int
__fxstat64(int version, int fd, struct stat64 *st)
{
	return fstat_any(fd, (struct stat *)st);
}

/* ---------------------------------------------------------------- mmap */

/*
 * libmlx5 asks for physically contiguous pages (mlx5-abi.h, MLX5_IB_MMAP_GET_CONTIGUOUS_PAGES). The
 * answer is EINVAL, as from mlx5_ib, which has dropped them: the memfd would give all queues one set
 * of pages. The kernel handles all other mappings.
 */
static void *
mmap_any(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	const off_t command = (off_t)MLX5_IB_MMAP_GET_CONTIGUOUS_PAGES << 20;
	struct stat st;

	if ((flags & MAP_SHARED) != 0 && fd >= 0 && offset >> 20 == command >> 20 &&
		softhca_active() && raw_fstat(fd, &st) == 0 &&
		ctx_find_dev(st.st_dev, st.st_ino) != NULL) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	return raw_mmap(addr, len, prot, flags, fd, offset);
}

SOFTHCA_API void *
mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return mmap_any(addr, len, prot, flags, fd, offset);
}

SOFTHCA_API void *
mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
{
	return mmap_any(addr, len, prot, flags, fd, offset);
}

/* ---------------------------------------------------------------- ioctl */

SOFTHCA_API int
ioctl(int fd, unsigned long request, ...)
{
	struct softhca_ctx *ctx;
	va_list ap;
	void *arg;
	int rc;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (request != RDMA_VERBS_IOCTL || !softhca_active() || (ctx = ctx_get(fd)) == NULL)
		return syscall(SYS_ioctl, fd, request, arg);
	rc = uverbs_ioctl(ctx, arg);
	ctx_put(ctx);
	if (rc == 0)
		return 0;
	errno = -rc;
	return -1;
}
