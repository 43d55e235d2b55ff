/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out which memory is mapped, with which access rights. There are two methods: PROCMAP_QUERY
 * of newer kernels, and the lines of /proc/self/maps. The test asks both about the same memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "mapped.h"
#include "raw.h"

#define PAGE 4096

static bool kernel_is_old;

/* Replacements for functions of raw.c, which this program does not link. */
int
raw_open(const char *path, int flags, mode_t mode)
{
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int
raw_ioctl(int fd, unsigned long request, void *arg)
{
	if (kernel_is_old) {
		errno = ENOTTY;
		return -1;
	}
	return syscall(SYS_ioctl, fd, request, arg);
}

static uint8_t *
map(uint8_t *at, unsigned int pages, int prot, int fd)
{
	int flags = MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
	uint8_t *p = mmap(at, pages * PAGE, prot, at == NULL ? flags & ~MAP_FIXED : flags, fd, 0);

	CHECK(p != MAP_FAILED, "%u pages at %p: errno %d", pages, (void *)at, errno);
	return p;
}

static void
check(const uint8_t *p, size_t from, size_t len, bool read, bool write)
{
	uint64_t addr = (uintptr_t)p + from;

	CHECK(memory_is_mapped(addr, len, false) == read, "%#zx, %#zx", from, len);
	CHECK(memory_is_mapped(addr, len, true) == write, "%#zx, %#zx", from, len);
}

/*
 * The pages of the test's memory. Page 0: not mapped. Pages 1 and 2: all rights. Page 3: read-only.
 * Page 4: no rights. Pages 5 and 6: a file. Page 7: all rights. Page 8: not mapped.
 */
static void
case_rights(void)
{
	int fd = memfd_create("softhca_of_another_kind", MFD_CLOEXEC);
	uint8_t *p = map(NULL, 9, PROT_READ | PROT_WRITE, -1);

	CHECK(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0, "no file");
	munmap(p, PAGE);
	munmap(p + 8 * PAGE, PAGE);
	CHECK_EQ(mprotect(p + 3 * PAGE, PAGE, PROT_READ), 0, "rights");
	CHECK_EQ(mprotect(p + 4 * PAGE, PAGE, PROT_NONE), 0, "rights");
	map(p + 5 * PAGE, 2, PROT_READ | PROT_WRITE, fd);
	check(p, 0, 1, false, false);
	check(p, PAGE - 1, 2, false, false);
	check(p, PAGE, 2 * PAGE, true, true);
	check(p, 2 * PAGE, PAGE + 1, true, false);
	check(p, PAGE + 1, 3 * PAGE - 1, true, false);
	check(p, 3 * PAGE, PAGE + 1, false, false);
	check(p, 4 * PAGE, 1, false, false);
	check(p, 5 * PAGE, 3 * PAGE, true, true);
	check(p, 7 * PAGE + 10, PAGE - 10, true, true);
	check(p, 7 * PAGE, PAGE + 1, false, false);
	check(p, 8 * PAGE, 1, false, false);
	check(NULL, 0, 1, false, false);
	check(p, PAGE, UINT64_MAX - (uintptr_t)p - PAGE, false, false);
	munmap(p + PAGE, 7 * PAGE);
	close(fd);
}

/*
 * The adapter's own pages cannot be registered. The name of a mapped file has no effect, even if it
 * is very long.
 */
static void
case_adapter(void)
{
	char name[200] = "/tmp/softhca_mapped_";
	int fd = memfd_create(CTX_MEMFD_NAME, MFD_CLOEXEC), file;
	uint8_t *p;

	memset(name + strlen(name), 'x', sizeof(name) - 8 - strlen(name));
	strcat(name, "XXXXXX");
	file = mkstemp(name);
	CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0, "no memfd");
	CHECK(file >= 0 && unlink(name) == 0 && ftruncate(file, PAGE) == 0, "no file");
	p = map(NULL, 2, PROT_READ | PROT_WRITE, -1);
	check(p, 0, 2 * PAGE, true, true);
	map(p, 1, PROT_READ | PROT_WRITE, file);
	check(p, 0, 2 * PAGE, true, true);
	map(p, 1, PROT_READ | PROT_WRITE, fd);
	check(p, 0, 1, false, false);
	check(p, PAGE, PAGE, true, true);
	munmap(p, 2 * PAGE);
	close(file);
	close(fd);
}

int
main(void)
{
	RUN("memory with holes, with rights and without", case_rights());
	RUN("the adapter's pages and a long name", case_adapter());
	kernel_is_old = true;
	RUN("the same by the lines of /proc/self/maps: rights", case_rights());
	RUN("the same by the lines of /proc/self/maps: names", case_adapter());
	return check_failures != 0;
}
