/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The libc calls on an open character device, for emulated devices: mmap, mremap, ioctl and write.
 * Calls with a path are in shim_paths.c, calls on sockets in shim_socket.c. ioctl and write on all
 * other files are passed to the kernel by a raw system call. This needs no dlsym(), so it works
 * from the first instruction of a process, and below the interceptors of sanitizers.
 */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS /* renames mmap to mmap64; this file defines both */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rdma/mlx5-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "cm.h"
#include "contexts.h"
#include "dmabuf.h"
#include "hca.h"
#include "ioctl.h"
#include "raw.h"
#include "softhca.h"
#include "uverbs_uar.h"

/* Another name of libc's write(2), which this file does not override. A cancellation point. */
ssize_t __write(int fd, const void *buf, size_t len);

/* ---------------------------------------------------------------- mmap */

/*
 * libc's functions. Libraries that watch the mappings of a program, as UCX does for its
 * registration cache, replace the code of libc's functions. They would not see a raw system call.
 * NULL until constructors run: until then, raw system calls are made.
 */
static __typeof__(&mmap) next_mmap;
static __typeof__(&mremap) next_mremap;

static void __attribute__((constructor)) find_next(void)
{
	next_mmap = (__typeof__(&mmap))dlsym(RTLD_NEXT, "mmap");
	next_mremap = (__typeof__(&mremap))dlsym(RTLD_NEXT, "mremap");
}

static void *
map(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (next_mmap == NULL)
		return raw_mmap(addr, len, prot, flags, fd, offset);
	return next_mmap(addr, len, prot, flags, fd, offset);
}

static void *
move(void *from, size_t len, size_t new_len, int flags, void *want)
{
	if (next_mremap == NULL)
		return (void *)syscall(SYS_mremap, from, len, new_len, flags, want);
	return next_mremap(from, len, new_len, flags, want);
}

/*
 * True for pages whose use the device must notice: the page with the running clock and the UAR
 * pages.
 */
static bool
is_noticed(size_t len, off_t offset)
{
	return offset >= 0 && offset < CTX_UAR_OFFSET + CTX_BAR_LEN &&
	       offset + (off_t)len > CTX_CORE_CLOCK_OFFSET;
}

/*
 * Maps memory. A DMABUF of the adapter's memory cannot be mapped, as in the kernel. Physically
 * contiguous pages, for which libmlx5 asks (mlx5-abi.h, MLX5_IB_MMAP_GET_CONTIGUOUS_PAGES), are
 * refused with EINVAL, as by mlx5_ib, which no longer has such pages. If they were mapped from the
 * memfd, all queues would get the same pages. The kernel makes all other mappings. If a mapping has
 * pages of the device, the device is told of it.
 */
static void *
mmap_any(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	const off_t command = (off_t)MLX5_IB_MMAP_GET_CONTIGUOUS_PAGES << 20;
	struct softhca_ctx *ctx;
	struct stat st;
	void *at;

	if ((flags & MAP_SHARED) != 0 && fd >= 0 && offset >> 20 == command >> 20 &&
		softhca_active() && raw_fstat(fd, &st) == 0 &&
		ctx_find_dev(st.st_dev, st.st_ino) != NULL) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	if ((flags & MAP_ANONYMOUS) == 0 && fd >= 0 && dmabuf_is(fd)) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	at = map(addr, len, prot, flags, fd, offset);
	if (at != MAP_FAILED && (flags & MAP_SHARED) != 0 && fd >= 0 && is_noticed(len, offset) &&
		softhca_active() && (ctx = ctx_get(fd)) != NULL) {
		uverbs_mapped(ctx, at, len, (uint64_t)offset);
		ctx_put(ctx);
	}
	return at;
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

SOFTHCA_API void *
mremap(void *from, size_t len, size_t new_len, int flags, ...)
{
	void *want = NULL, *to;
	va_list ap;

	va_start(ap, flags);
	if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0)
		want = va_arg(ap, void *);
	va_end(ap);
	to = move(from, len, new_len, flags, want);
	if (to != MAP_FAILED && to != from && softhca_active())
		softhca_watch_moved(from, to, len < new_len ? len : new_len);
	return to;
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

/* ---------------------------------------------------------------- write */

/* Commands to /dev/infiniband/rdma_cm. Without such a file, a call costs one comparison more. */
SOFTHCA_API ssize_t
write(int fd, const void *buf, size_t len)
{
	ssize_t rc;

	if (!cm_is_used() || !cm_write(fd, buf, len, &rc))
		return __write(fd, buf, len);
	if (rc >= 0)
		return rc;
	errno = (int)-rc;
	return -1;
}
