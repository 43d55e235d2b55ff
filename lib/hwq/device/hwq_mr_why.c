/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the reason why a registration failed, because the errno of ibv_reg_mr(3) is ambiguous.
 * ENOMEM may mean that RLIMIT_MEMLOCK is exceeded, or that there is not enough memory. If a library
 * has called ibv_fork_init(3), ENOMEM may also come from madvise(2) and mean that the range is not
 * mapped.
 */
#include "hwq_mr_why.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/capability.h>

#include "hwq_dev.h"
#include "hwq_log.h"
#include "hwq_mr.h"

#define WRITES (HWQ_ACCESS_LOCAL_WRITE | HWQ_ACCESS_REMOTE_WRITE | HWQ_ACCESS_REMOTE_ATOMIC)

/* ------------------------------------------------------------------ the mappings */

/* Causes of a failed registration. The log line of each cause says what the caller can do. */
enum cause {
	CAUSE_NONE,
	CAUSE_NOT_MAPPED,
	CAUSE_BEYOND_FILE,
	CAUSE_NO_RIGHT,
	CAUSE_NOT_PINNED,
};

static const struct {
	int err;
	const char *text;
} causes[] = {
	[CAUSE_NOT_MAPPED] = {EFAULT,
		"is not mapped; map the memory first, and keep it mapped until "
		"the registration has ended"},
	[CAUSE_BEYOND_FILE] = {EFAULT, "is mapped, but lies beyond the end of its file; extend the "
				       "file (ftruncate), or register less"},
	[CAUSE_NO_RIGHT] = {EACCES,
		"is in a mapping that does not allow it; register memory that is "
		"mapped without PROT_WRITE as read-only, and give other memory "
		"the rights (mprotect)"},
	[CAUSE_NOT_PINNED] = {EOPNOTSUPP,
		"is in a mapping that the kernel does not pin; of a file on a disk, register a shared "
		"mapping as read-only, or take a file of tmpfs, hugetlbfs or memfd_create(2); memory "
		"of a device cannot be registered"},
};

/* The first address of a range that cannot be registered, and the cause of the failure. */
struct verdict {
	uint64_t addr;
	enum cause cause;
};

/*
 * Returns true if the address is mapped. Also returns true if a sandbox forbids the system call, so
 * that the kernel does not answer.
 */
static bool
is_there(uint64_t addr)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)addr, 1};

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 || errno != EFAULT;
}

/*
 * Checks the process's mappings of the range, which proc(5) lists by ascending address. A mapping
 * may be longer than its file; an access to its last byte shows that.
 */
static struct verdict
judge_mappings(uint64_t addr, uint64_t end, bool writes, bool unpinned)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct verdict v = {.addr = addr};
	uint64_t from, to, inode;
	char right[5], line[512];

	if (maps == NULL)
		return v;
	while (v.addr < end && v.cause == CAUSE_NONE && fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64, &from, &to, right,
			    &inode) != 4 ||
			to <= v.addr)
			continue;
		if (from > v.addr)
			v.cause = CAUSE_NOT_MAPPED;
		else if (right[0] != 'r' || (writes && right[1] != 'w'))
			v.cause = CAUSE_NO_RIGHT;
		else if (inode != 0 && !is_there((to < end ? to : end) - 1))
			v.cause = CAUSE_BEYOND_FILE;
		else if (inode != 0 && unpinned)
			v.cause = CAUSE_NOT_PINNED;
		else
			v.addr = to;
	}
	if (v.addr < end && v.cause == CAUSE_NONE)
		v.cause = CAUSE_NOT_MAPPED;
	fclose(maps);
	return v;
}

/* ------------------------------------------------------------------ the limit of locked memory */

/* Returns a number from /proc/self/status, or 0 if the line is missing. */
static uint64_t
status_value(const char *name, const char *format)
{
	FILE *status = fopen("/proc/self/status", "re");
	uint64_t value = 0;
	char line[256];

	if (status == NULL)
		return 0;
	while (fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, name, strlen(name)) == 0)
			(void)sscanf(line + strlen(name), format, &value);
	fclose(status);
	return value;
}

/*
 * Returns true if the process would exceed RLIMIT_MEMLOCK with len more bytes. *limit: bytes that
 * the process may lock.
 */
static bool
exceeds_memlock(size_t len, uint64_t *limit, uint64_t *locked)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_MEMLOCK, &lim) != 0 || lim.rlim_cur == RLIM_INFINITY)
		return false;
	if ((status_value("CapEff:", " %" SCNx64) & UINT64_C(1) << CAP_IPC_LOCK) != 0)
		return false;
	*limit = lim.rlim_cur;
	*locked = (status_value("VmLck:", " %" SCNu64) + status_value("VmPin:", " %" SCNu64)) << 10;
	return *locked + len > *limit;
}

/* ------------------------------------------------------------------ the answer */

int
hwq_mr_why(const struct hwq_dev *dev, const void *addr, size_t len, unsigned int access, int ret)
{
	/* On-demand pages need not be mapped, and are not locked. */
	const bool pins = (access & HWQ_ACCESS_ON_DEMAND) == 0;
	uint64_t first = (uintptr_t)addr, limit, locked;
	struct verdict v = {.cause = CAUSE_NONE};
	const char *name = hwq_dev_name(dev);

	/* If the kernel cannot pin a page, ibv_reg_mr(3) returns EFAULT for every reason. */
	if (pins)
		v = judge_mappings(first, first + len, (access & WRITES) != 0, ret == -EFAULT);
	if (v.cause != CAUSE_NONE) {
		hwq_log("%s: registering %zu bytes at %p: address 0x%" PRIx64 " %s", name, len,
			addr, v.addr, causes[v.cause].text);
		return -causes[v.cause].err;
	}
	if (pins && (ret == -ENOMEM || ret == -EPERM || ret == -EAGAIN) &&
		exceeds_memlock(len, &limit, &locked)) {
		hwq_log("%s: registering %zu bytes at %p: RLIMIT_MEMLOCK allows %" PRIu64
			" bytes, of which %" PRIu64 " are locked; raise it (ulimit -l, "
			"LimitMEMLOCK= of systemd), or grant CAP_IPC_LOCK",
			name, len, addr, limit, locked);
		return -EPERM;
	}
	if (ret == -EIO)
		hwq_log("%s: registering %zu bytes at %p: the IOMMU cannot map it for the device, or "
			"the device has failed; the kernel's log (dmesg) says which",
			name, len, addr);
	else if (ret == -ENOMEM)
		hwq_log("%s: registering %zu bytes at %p: no memory, or the device has no key left; "
			"register fewer and larger regions",
			name, len, addr);
	else
		hwq_log("%s: registering %zu bytes at %p: %s", name, len, addr, strerror(-ret));
	return ret;
}
