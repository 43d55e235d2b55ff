/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of userfaultfd(2) and ioctl_userfaultfd(2) that traps need. */
#include "uffd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "raw.h"
#include "valgrind.h"

/*
 * These names are from linux/userfaultfd.h of Linux 5.11 and 5.19, which some build machines lack.
 */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

int
uffd_open(void)
{
	struct uffdio_api api = {.api = UFFD_API,
		.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_MISSING_SHMEM |
			    UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
	int fd;

	/*
	 * valgrind runs only one thread at a time. While a thread waits at a trap, the thread that
	 * opens the page would not run.
	 */
	if (in_valgrind())
		return -1;
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (fd >= 0 && raw_ioctl(fd, UFFDIO_API, &api) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static struct uffdio_range
range_of(void *page)
{
	return (struct uffdio_range){.start = (uintptr_t)page, .len = TRAP_PAGE};
}

/* Repeats the call while the kernel is busy, so that opening a page does not fail. */
static int
call(int fd, unsigned long request, void *arg)
{
	while (raw_ioctl(fd, request, arg) != 0)
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	return 0;
}

int
uffd_trap(int fd, void *page, enum trap_kind kind)
{
	struct uffdio_register reg = {.range = range_of(page),
		.mode = kind == TRAP_STORES
				? UFFDIO_REGISTER_MODE_WP
				: UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR};
	const uint64_t need = UINT64_C(1)
			      << (kind == TRAP_STORES ? _UFFDIO_WRITEPROTECT : _UFFDIO_CONTINUE);
	int rc = call(fd, UFFDIO_REGISTER, &reg);

	if (rc == 0 && (reg.ioctls & need) == 0) {
		uffd_untrap(fd, page);
		return -EOPNOTSUPP;
	}
	return rc;
}

void
uffd_untrap(int fd, void *page)
{
	struct uffdio_range range = range_of(page);

	(void)call(fd, UFFDIO_UNREGISTER, &range);
}

int
uffd_protect(int fd, void *page)
{
	struct uffdio_writeprotect wp = {.range = range_of(page),
		.mode = UFFDIO_WRITEPROTECT_MODE_WP};

	return call(fd, UFFDIO_WRITEPROTECT, &wp);
}

int
uffd_unprotect(int fd, void *page)
{
	struct uffdio_writeprotect wp = {.range = range_of(page)};

	return call(fd, UFFDIO_WRITEPROTECT, &wp);
}

int
uffd_map(int fd, void *page)
{
	struct uffdio_continue map = {.range = range_of(page)};
	struct uffdio_range range = range_of(page);
	int rc = call(fd, UFFDIO_CONTINUE, &map);

	/*
	 * The page exists already, because another thread used it first: only the waiting threads
	 * must be woken.
	 */
	return rc == -EEXIST ? call(fd, UFFDIO_WAKE, &range) : rc;
}

void *
uffd_next(int fd, bool *failed)
{
	struct uffd_msg msg;

	*failed = false;
	for (;;) {
		ssize_t n = read(fd, &msg, sizeof(msg));

		if (n == sizeof(msg) && msg.event == UFFD_EVENT_PAGEFAULT)
			return (void *)(uintptr_t)(msg.arg.pagefault.address &
						   ~(uint64_t)(TRAP_PAGE - 1));
		if (n >= 0 || errno == EINTR)
			continue;
		*failed = errno != EAGAIN;
		return NULL;
	}
}
